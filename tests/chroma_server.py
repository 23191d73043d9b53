"""Chroma's own server on a free port of loopback."""

from __future__ import annotations

import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.needs import need

CHROMA = Path(sys.executable).with_name("chroma")


@pytest.fixture(scope="session")
def chroma_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of `chroma run`."""
    need(CHROMA.is_file() or shutil.which("chroma"), "Chroma's command is not installed")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    folder = tmp_path_factory.mktemp("chroma-server")
    with (folder / "log").open("wb") as log:
        command = [str(CHROMA), "run", "--path", str(folder / "data"), "--host", "127.0.0.1", "--port", str(port)]
        server = subprocess.Popen(command, stdout=log, stderr=log)
    try:
        until = time.monotonic() + 60
        while time.monotonic() < until and server.poll() is None:
            try:
                if httpx.get(f"http://127.0.0.1:{port}/api/v2/heartbeat").is_success:
                    break
            except httpx.TransportError:
                time.sleep(0.05)
        else:
            pytest.fail(f"chroma run did not start: {(folder / 'log').read_text()}")
        yield f"http://127.0.0.1:{port}"
    finally:
        server.terminate()
        server.wait(10)
