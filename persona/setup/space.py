"""How much room installing takes, and whether it is there. Looks before anything is fetched.

The figures are megabytes of 10**6 bytes, measured on Linux with Python 3.11 and 3.13 and rounded up; a test holds a real
environment to them. Knows nothing of pip but where it puts things.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
import tomllib
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

_MB = 1_000_000
_STORES = 100  # people and conversations of the first days


@dataclass(frozen=True)
class Room:
    """What one lock takes: `fetched` over the network, `unpacked` in the environment, `joined` in the data folder."""

    fetched: int
    unpacked: int
    joined: int = 0


ROOMS = {
    "requirements.lock": Room(310, 1_400),
    "requirements-builtin.lock": Room(1_130, 1_240, joined=1_120),
    "requirements-dev.lock": Room(90, 260),
}


def megabytes(locks: Iterable[str]) -> int:
    """What is fetched for these locks, about; 0 for one that was not measured."""
    return sum(ROOMS[lock].fetched for lock in locks if lock in ROOMS)


def lacking(venv: Path, locks: Iterable[str]) -> str:
    """A sentence on the disk that is too small for these locks; empty where none is."""
    rooms = {lock: ROOMS[lock] for lock in locks if lock in ROOMS}
    for disk, (need, folder) in _needs(venv, rooms.values()).items():
        free = shutil.disk_usage(disk).free // _MB
        if free < need:
            return f"Too little disk: installing needs {need:,} MB on the disk of {folder}, and {free:,} MB are free. {_remedy(rooms)}"
    return ""


def _remedy(rooms: Iterable[str]) -> str:
    if "requirements-builtin.lock" not in rooms:
        return "Make room, then run this again."
    return "Make room, or leave the built-in model's gigabyte out for Ollama's models (make run EXTRAS=), then run this again."


def _needs(venv: Path, rooms: Iterable[Room]) -> dict[Path, tuple[int, Path]]:
    """For each disk, by a folder of it, the most that is on it at a time, and the folder that asks for the most.

    pip's temporary files are gone when the built-in model is joined.
    """
    together = list(rooms)
    fetched = sum(room.fetched for room in together)
    lasting = [(venv, sum(room.unpacked for room in together)), *((cache, fetched) for cache in _cache())]
    passing = [(Path(tempfile.gettempdir()), fetched)]
    joined = sum(room.joined for room in together)
    later = [(_data_folder(), joined + _STORES)] if joined and not any(_data_folder().glob("*.gguf")) else []
    disks: dict[int, dict[int, list[tuple[int, Path]]]] = defaultdict(lambda: {0: [], 1: []})
    for moment, parts in enumerate((lasting + passing, lasting + later)):
        for folder, size in parts:
            disks[_nearest(folder).stat().st_dev][moment].append((size, folder))
    most = (max(moments.values(), key=lambda parts: sum(size for size, _ in parts)) for moments in disks.values())
    return {_nearest(max(parts)[1]): (sum(size for size, _ in parts), max(parts)[1]) for parts in most}


def _nearest(folder: Path) -> Path:
    """The folder itself, or what it will be made in."""
    return next(parent for parent in (folder.absolute(), *folder.absolute().parents) if parent.exists())


def _cache() -> Iterator[Path]:
    """The cache of pip, where it keeps one."""
    if os.environ.get("PIP_NO_CACHE_DIR", "").lower() in ("", "0", "false", "no", "off"):
        yield Path(os.environ.get("PIP_CACHE_DIR") or _platform("CACHE") / "pip")


def _data_folder() -> Path:
    """As persona's settings find it, which cannot be asked before they are installed."""
    if home := os.environ.get("PERSONA_HOME"):
        return Path(home)
    try:
        named = tomllib.loads(Path("persona.toml").read_text("utf-8")).get("home")
    except (OSError, ValueError):
        named = None
    return Path(str(named)).expanduser() if named else _platform("DATA") / "persona"


def _platform(kind: str) -> Path:
    """Where programs of this system keep their data or caches."""
    home = Path.home()
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or home / "AppData" / "Local")
    if sys.platform == "darwin":
        return home / "Library" / {"CACHE": "Caches", "DATA": "Application Support"}[kind]
    usual = {"CACHE": home / ".cache", "DATA": home / ".local" / "share"}[kind]
    return Path(os.environ.get(f"XDG_{kind}_HOME") or usual)
