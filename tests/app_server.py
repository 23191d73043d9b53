"""The app as its users run it: `streamlit run app.py` in a process of its own, on a free port of loopback."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from pathlib import Path

import httpx

ROOT = Path(__file__).parents[1]


class AppServer:
    """Runs while the context lasts; `log` is what it printed. Settings come by PERSONA_…, the rest is left out."""

    def __init__(self, log: Path, **settings: str) -> None:
        self.port = _free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.log = log
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("PERSONA_", "OLLAMA_"))}
        self._env = kept | settings

    def __enter__(self) -> AppServer:
        command = [sys.executable, "-m", "streamlit", "run", "app.py"]
        command += ["--server.port", str(self.port), "--server.headless", "true"]
        with self.log.open("wb") as out:
            self._process = subprocess.Popen(command, cwd=ROOT, env=self._env, stdout=out, stderr=subprocess.STDOUT)
        deadline = time.monotonic() + 60
        while not self._answers():
            assert self._process.poll() is None, self.log.read_text()
            assert time.monotonic() < deadline, f"the app did not start: {self.log.read_text()}"
            time.sleep(0.1)
        return self

    @property
    def pid(self) -> int:
        """Its process."""
        return self._process.pid

    def __exit__(self, *_: object) -> None:
        self._process.terminate()
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def _answers(self) -> bool:
        try:
            return httpx.get(f"{self.url}/_stcore/health", timeout=2).status_code == 200
        except httpx.TransportError:
            return False


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
