"""The process that holds the built-in model: run with `python -m persona.adapters.builtin_child`.

llama.cpp's own server listens on loopback, under a secret path that stands for the data folder: whoever answers there
is ours, and no web page can guess it. While the process lives it holds the lock `builtin.alive.lock`, which the system
frees however it ends; `builtin.json` beside it says where it listens and with which settings. It ends itself when no
request has come for a while. Knows nothing of prompts.
"""

from __future__ import annotations

import argparse
import json
import os
import secrets
import signal
import sys
import time
import urllib.request
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from types import FrameType
from typing import NoReturn

from filelock import FileLock, Timeout

ANOTHER_RUNS = 75  # exit code: the folder has a child already
LOG_LIMIT = 5 << 20  # bytes
LOAD_LIMIT = 900  # seconds; a process that hangs while it loads must not stay for ever


@dataclass(frozen=True, slots=True)
class Places:
    """The files of one data folder."""

    home: Path

    @property
    def record(self) -> Path:
        """Who runs, where and how; to be believed only while `alive` is held."""
        return self.home / "builtin.json"

    @property
    def log(self) -> Path:
        """What llama.cpp and Python print."""
        return self.home / "builtin.log"

    def alive(self) -> FileLock:
        """Held by the child as long as it lives."""
        return FileLock(self.home / "builtin.alive.lock")

    def door(self) -> FileLock:
        """Held for moments: by who takes the address, and by the child while it decides to end."""
        return FileLock(self.home / "builtin.door.lock")


@dataclass(frozen=True, slots=True)
class Record:
    """A running child; `address` is empty while the model loads."""

    pid: int
    model: str
    context_window: int
    address: str = ""


def read_record(places: Places) -> Record | None:
    """The record as it stands, None where there is none that can be read."""
    try:
        return Record(**json.loads(places.record.read_text("utf-8")))
    except (OSError, ValueError, TypeError):
        return None


def write_record(places: Places, record: Record) -> None:
    """Replace the record in one step."""
    fresh = places.record.with_name(f"builtin.{record.pid}.tmp")
    fresh.touch(mode=0o600)  # the address holds the secret
    fresh.write_text(json.dumps(asdict(record)), "utf-8")
    fresh.replace(places.record)


def main() -> None:
    """Load the model, then serve until told to stop or left alone for long enough."""
    options = _options()
    places = Places(options.home)
    alive = places.alive()
    try:
        alive.acquire(timeout=2)  # others hold it for a moment to see whether anybody lives
    except Timeout:
        sys.exit(ANOTHER_RUNS)
    _truncate_log()
    record = Record(os.getpid(), str(options.model), options.context_window)
    write_record(places, record)
    _give_up_after(LOAD_LIMIT)
    server, address = _serve(options)
    _give_up_after(0)
    try:
        signal.signal(signal.SIGTERM, _end)  # only now: while loading, the system's own way is the quick one
        write_record(places, replace(record, address=address))
        _wait_until_idle(places, address, options.idle_minutes * 60)
    finally:
        _leave(places, server)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("--home", type=Path, required=True)
    parser.add_argument("--model", type=Path, required=True)
    parser.add_argument("--context-window", type=int, required=True)
    parser.add_argument("--idle-minutes", type=float, required=True)
    return parser.parse_args()


def _end(_number: int, _frame: FrameType | None) -> NoReturn:
    raise SystemExit


def _give_up_after(seconds: int) -> None:
    """Let the system end us then, 0 for never: while the model loads, no Python code of ours can run."""
    if hasattr(signal, "alarm"):
        signal.alarm(seconds)


def _leave(places: Places, _server: object) -> NoReturn:
    """End at once: destructors would wait for a running generation."""
    with suppress(OSError):
        places.record.unlink()
    sys.stderr.flush()
    os._exit(0)


def _truncate_log() -> None:
    """Standard error is the log, opened to append."""
    with suppress(OSError):
        os.ftruncate(2, 0)


def _serve(options: argparse.Namespace) -> tuple[object, str]:
    """The server, which lives as long as it is referred to, and its address with the secret path."""
    import xllamacpp

    secret = f"/{secrets.token_hex(16)}"
    params = xllamacpp.CommonParams()
    params.model.path = str(options.model)
    params.n_ctx = options.context_window
    params.n_parallel = 1  # one slot has the whole window; llama.cpp takes as many threads as there are physical cores
    params.n_batch = params.n_ubatch = 128  # a call that was given up ends with its batch: 2048 tokens took a minute
    params.api_prefix = secret
    params.ui = False
    params.n_threads_http = 8
    params.cache_ram_mib = 512  # earlier prompts, 28 KiB a token with the model that comes along; the default is 8 GiB
    server = xllamacpp.Server(params)
    return server, server.listening_address + secret


def _wait_until_idle(places: Places, address: str, seconds: float) -> None:
    last, seen = time.monotonic(), ""
    while True:
        time.sleep(min(5.0, seconds / 4))
        activity = _activity(address)
        if activity != seen:
            last, seen = time.monotonic(), activity
        elif time.monotonic() - last >= seconds and _closes(places, address, seen, seconds):
            return
        if os.fstat(2).st_size > LOG_LIMIT:
            _truncate_log()


def _activity(address: str) -> str:
    """A word that changes with every request, and all the time while one runs."""
    try:
        with urllib.request.urlopen(f"{address}/slots", timeout=30) as reply:  # noqa: S310  # our own address
            slots = json.load(reply)
    except (OSError, ValueError):
        return secrets.token_hex(4)  # too busy to say
    if any(slot["is_processing"] for slot in slots):
        return secrets.token_hex(4)
    return str([slot.get("id_task") for slot in slots])


def _closes(places: Places, address: str, seen: str, seconds: float) -> bool:
    """Take back the record, unless somebody has just been given the address or has just used it."""
    try:
        with places.door().acquire(timeout=0):
            if time.time() - places.record.stat().st_mtime < seconds or _activity(address) != seen:
                return False
            places.record.unlink()
            return True
    except Timeout:
        return False
    except OSError:
        return True  # the data folder is gone: nobody can find this process any more


if __name__ == "__main__":
    main()
