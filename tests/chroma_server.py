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


class ChromaServer:
    """`chroma run` over that folder while the context lasts; it can be stopped and started at the same address."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self._port = int(probe.getsockname()[1])
        self.address = f"http://127.0.0.1:{self._port}"

    def __enter__(self) -> ChromaServer:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def start(self) -> None:
        """Returns when it answers."""
        need(CHROMA.is_file() or shutil.which("chroma"), "Chroma's command is not installed")
        log = self._folder / "log"
        command = [str(CHROMA), "run", "--path", str(self._folder / "data"), "--host", "127.0.0.1"]
        with log.open("ab") as out:
            self._server = subprocess.Popen([*command, "--port", str(self._port)], stdout=out, stderr=out)
        until = time.monotonic() + 60
        while not self._answers():
            assert self._server.poll() is None, log.read_text()
            assert time.monotonic() < until, log.read_text()
            time.sleep(0.05)

    def stop(self) -> None:
        """Returns when nothing answers any more."""
        self._server.terminate()
        try:
            self._server.wait(10)
        except subprocess.TimeoutExpired:
            self._server.kill()
            self._server.wait()

    def _answers(self) -> bool:
        try:
            return httpx.get(f"{self.address}/api/v2/heartbeat").is_success
        except httpx.TransportError:
            return False


@pytest.fixture(scope="session")
def chroma_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of one server for all tests."""
    with ChromaServer(tmp_path_factory.mktemp("chroma-server")) as server:
        yield server.address
