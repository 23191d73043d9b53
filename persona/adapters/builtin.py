"""The built-in model: one child process per data folder, started when it is first needed.

Knows how to find, start, replace and stop the child, and how its model file is made. What the child is and why it can
be trusted stands in builtin_child.py; what is said to it goes through openai_server.py. A child that runs with another
model or context window is replaced once it has nothing to do; how long it idles was settled by who started it.
"""

from __future__ import annotations

import logging
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path

import httpx
from filelock import Timeout

from persona.adapters.builtin_child import ANOTHER_RUNS, Places, Record, read_record
from persona.adapters.builtin_model import QWEN_CODER, REMEDY, SplitFile
from persona.errors import ModelError, ModelMissing, ModelUnreachable
from persona.records import ModelStatus

START_SECONDS = 300.0  # a cold load from a slow disk takes minutes
_ROOT = Path(__file__).parents[2]
# Threads that wait for each other sleep instead of spinning: as fast on a quiet machine, three times as fast on a busy one.
_PATIENT = {"OMP_WAIT_POLICY": "passive"}
_log = logging.getLogger(__name__)


class BuiltinServer:
    """llama.cpp's server in a child process shared by all processes that use the same data folder."""

    def __init__(
        self, home: Path, gguf: str, context_window: int, idle_minutes: float, source: SplitFile = QWEN_CODER
    ) -> None:
        """`gguf` is the path of a model file, empty for the one that comes in packages."""
        self._places = Places(home.absolute())
        self._own = not gguf
        self.model = self._places.home / "models" / source.name if self._own else Path(gguf).expanduser().absolute()
        self._window = context_window
        self._idle = idle_minutes
        self._source = source
        self._one_at_a_time = threading.Lock()

    def prepare(self) -> Iterator[tuple[int, int]]:
        """Make the model file if it is not there, yielding bytes done and in all. Raises ModelError."""
        if self._own:
            yield from self._source.join(self.model)
        elif not self.model.is_file():
            raise ModelMissing(self._no_file())

    def address(self) -> str:
        """The base address, with /v1, of the child, started if need be. Raises ModelError."""
        try:
            with self._one_at_a_time:
                return f"{self._knock() or self._start()}/v1"
        except Timeout as error:
            raise ModelUnreachable(self._too_slow()) from error
        except OSError as error:
            raise ModelError(
                f"The built-in model cannot be started from {self._places.home} ({error.strerror or error}). "
                "See that the folder can be written to, or set PERSONA_HOME to another one."
            ) from error

    def _start(self) -> str:
        if not find_spec("xllamacpp"):
            raise ModelMissing(f"The built-in model is not installed. {REMEDY}")
        for _ in self.prepare():
            pass
        return self._wait_for_child()

    def stop(self) -> None:
        """End the child, if one runs, whatever it is doing."""
        if self._lives():
            with self._places.door().acquire(timeout=START_SECONDS):
                self._end_child()

    def status(self) -> ModelStatus:
        """What is installed and what runs, starting nothing."""
        running = read_record(self._places) if self._lives() else None
        problem, remedy = self._problem()
        return ModelStatus(
            kind="builtin",
            address=f"{running.address}/v1" if running and running.address else "",
            model=self.model.name,
            ready=not problem,
            problem=problem,
            remedy=remedy,
            details={
                "file": str(self.model),
                "joined": self._joined(),
                "running": running is not None,
                "pid": running.pid if running else None,
                "memory_bytes": _memory(running.pid) if running else None,
            },
        )

    def _problem(self) -> tuple[str, str]:
        if not find_spec("xllamacpp"):
            return "The package xllamacpp, which runs the built-in model, is not installed.", REMEDY
        if not self._own and not self.model.is_file():
            return self._no_file(), ""
        if not self._joined() and (missing := self._source.missing()):
            return f"{len(missing)} of the packages with the built-in model are not installed.", REMEDY
        return "", ""

    def _joined(self) -> bool:
        return self._source.joined(self.model) if self._own else self.model.is_file()

    def _no_file(self) -> str:
        return (
            f"There is no model file {self.model}. Correct PERSONA_MODEL, or unset it for the model that comes along."
        )

    # --- the child ---

    def _wait_for_child(self) -> str:
        mine: subprocess.Popen[bytes] | None = None
        deadline = time.monotonic() + START_SECONDS
        while time.monotonic() < deadline:
            if mine and mine.poll() not in (None, ANOTHER_RUNS):
                raise ModelUnreachable(self._last_words(mine.returncode))
            if address := self._knock():
                return address
            if not self._lives() and (mine is None or mine.returncode is not None):
                mine = self._spawn()
            time.sleep(0.05)
        raise ModelUnreachable(self._too_slow())

    def _knock(self) -> str:
        """The address of a child that is ready and has our settings, else nothing; one that is of no use is ended."""
        if not self._lives():
            return ""
        with self._places.door().acquire(timeout=START_SECONDS):
            record = read_record(self._places)
            if not record or not record.address:
                return ""  # it loads, or is about to end
            ours = record.model == str(self.model) and record.context_window == self._window
            if ours and _answers(record):
                os.utime(self._places.record)
                return record.address
            if not ours and _works(record):
                return ""
            self._end_child()
            return ""

    def _lives(self, sure: bool = False) -> bool:
        """Whether a child holds its lock; what a dead one left is removed, so that its record misleads nobody.

        Others who look hold the lock for a moment too: who must be `sure` that it is a child looks for longer.
        """
        if not self._places.home.is_dir():
            return False
        try:
            with self._places.alive().acquire(timeout=0.5 if sure else 0), suppress(OSError):
                self._places.record.unlink()
        except Timeout:
            return True
        except OSError:  # no lock of ours can be in a folder that cannot be written to
            return False
        return False

    def _spawn(self) -> subprocess.Popen[bytes]:
        self._places.home.mkdir(parents=True, exist_ok=True)
        path = os.pathsep.join(filter(None, [str(_ROOT), os.environ.get("PYTHONPATH", "")]))
        with self._places.log.open("ab") as log:
            child = subprocess.Popen(  # noqa: S603  # our own interpreter and module
                self._command(),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env=_PATIENT | os.environ | {"PYTHONPATH": path},
                start_new_session=True,  # it outlives us and Ctrl-C
            )
        threading.Thread(target=child.wait, name="builtin-child", daemon=True).start()  # so that no zombie stays
        _log.info("started the built-in model, process %d", child.pid)
        return child

    def _command(self) -> list[str]:
        options = {
            "--home": self._places.home,
            "--model": self.model,
            "--context-window": self._window,
            "--idle-minutes": self._idle,
        }
        module = [sys.executable, "-P", "-m", "persona.adapters.builtin_child"]
        return module + [str(word) for option in options.items() for word in option]

    def _end_child(self) -> None:
        if not self._lives(sure=True) or not (record := read_record(self._places)):
            return
        for number in (signal.SIGTERM, getattr(signal, "SIGKILL", signal.SIGTERM)):
            with suppress(ProcessLookupError):
                os.kill(record.pid, number)
            deadline = time.monotonic() + 5
            while time.monotonic() < deadline:
                if not self._lives():
                    return
                time.sleep(0.02)

    def _last_words(self, code: int) -> str:
        killed = "It may have had too little memory: set a smaller PERSONA_CONTEXT_WINDOW, or use Ollama. "
        return (
            f"The built-in model ended with code {code} while it started{_complaint(self._places.log)}. "
            f"{killed if code == -9 else ''}"
            f"The whole log is {self._places.log}; if {self.model.name} is damaged, delete it and try again."
        )

    def _too_slow(self) -> str:
        return (
            f"The built-in model was not ready within {START_SECONDS:.0f} seconds: it loads slowly, or another program "
            f"keeps it busy with other settings. Look at {self._places.log}, then try again."
        )


def _answers(record: Record) -> bool:
    """Only ours knows the secret path."""
    try:
        return httpx.get(f"{record.address}/health", timeout=10).status_code == httpx.codes.OK
    except httpx.HTTPError:
        return False


def _works(record: Record) -> bool:
    """Whether it is in the middle of a request."""
    try:
        slots = httpx.get(f"{record.address}/slots", timeout=10).json()
        return any(slot["is_processing"] for slot in slots)
    except httpx.TimeoutException:
        return True
    except (httpx.HTTPError, ValueError):
        return False


def _complaint(log: Path) -> str:
    """What went wrong by the log: llama.cpp's first line of level E, else the last line."""
    try:
        lines = [line.strip() for line in log.read_text("utf-8", "replace").splitlines() if line.strip()]
    except OSError:
        return ""
    errors = [line for line in lines if re.match(r"[\d.]+ E ", line)] or lines[-1:]
    return f': "{errors[0]}"' if errors else ""


def _memory(pid: int) -> int | None:
    """Bytes resident, where the system tells."""
    with suppress(OSError, ValueError):
        return int(Path(f"/proc/{pid}/statm").read_text("ascii").split()[1]) * os.sysconf("SC_PAGE_SIZE")
    with suppress(OSError, ValueError, subprocess.SubprocessError):
        told = subprocess.run(["ps", "-o", "rss=", "-p", str(pid)], capture_output=True, check=True, timeout=5)  # noqa: S603, S607
        return int(told.stdout) * 1024
    return None
