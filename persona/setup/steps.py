"""Installs exactly what the locks name into an environment, or says in one sentence why it cannot.

Nothing is resolved: every package is in a lock with its version and hashes, so an install does not depend on the day.
A stamp in the environment tells what is in it; one that has none was broken off, and is made anew. Knows the order of
the steps; pip.py runs them.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib.util
import json
import os
import re
import shutil
import sys
import tempfile
import time
import tomllib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from persona.setup.pip import Command, InstallError
from persona.setup.progress import Fetching, Screen
from persona.setup.space import lacking, megabytes

ROOT = Path(__file__).parents[2]
_STAMP = "installed.json"
_LOG = "install.log"
_SIGINT = 130
_EXACTLY = ("--no-deps", "--require-hashes", "--only-binary", ":all:", "--retries", "3")
_PINNED = re.compile(r"^[\w.-]+(?:\[[\w,.-]*\])?==[^\s;]+", re.MULTILINE)
_LOCKED_PIP = re.compile(r"^pip==(?:.*\\\n)*.*$", re.MULTILINE)


@dataclass(frozen=True)
class Wanted:
    """What is to be in an environment: each lock with its checksum, and the checksum of how the project is built."""

    locks: dict[str, str]
    project: str


def main(words: Sequence[str]) -> int:
    """Install what the words name. The exit code: 0, 1 for an error said in a sentence, 130 after Ctrl-C."""
    parser = argparse.ArgumentParser(prog="install.py", description="Install what the locks name.")
    parser.add_argument("extras", nargs="*", help="further locks: builtin, dev")
    parser.add_argument("--venv", type=Path, default=Path(".venv"), help="the environment's folder")
    asked = parser.parse_args(words)
    os.chdir(ROOT)
    screen = Screen()
    try:
        install(asked.venv, asked.extras, screen)
    except InstallError as error:
        screen.say(str(error))
        return 1
    except OSError as error:
        screen.say(
            f"{error.filename or asked.venv} cannot be used ({error.strerror or error}). Mend that, then run this again."
        )
        return 1
    except KeyboardInterrupt:
        screen.say("Broken off. Run this again: it begins anew and completes the installation.")
        return _SIGINT
    return 0


def install(venv: Path, extras: Iterable[str], screen: Screen) -> None:
    """Bring the environment to what the extras ask for; whatever it had besides is kept. Raises InstallError."""
    stamp = _stamp(venv)
    wanted = _wanted([*extras, *stamp.get("extras", [])])
    have: dict[str, str] = stamp.get("locks", {})
    stale = any(wanted.locks[lock] != digest for lock, digest in have.items())
    if not stale and have == wanted.locks and stamp.get("project") == wanted.project:
        return
    began = time.monotonic()
    anew = stale or not have
    missing = [lock for lock in wanted.locks if anew or lock not in have]
    _check(venv, missing)
    _make(venv, anew, screen)
    command = Command(_python(venv), venv / _LOG)
    if missing:
        _fetch(command, venv, missing, screen)
    command.pip("install", "--no-deps", "--no-build-isolation", "--editable", ".")
    if complaint := command.complaint():
        screen.say(
            "Note: pip finds that some packages do not fit each other, though these are the ones persona is tested with:"
        )
        screen.say("\n".join(f"  {line}" for line in complaint))
    _keep(venv, wanted)
    screen.say(f"Installed in {venv} in {time.monotonic() - began:.0f} s.")


# --- what is wanted, and what is there ---


def _wanted(extras: Iterable[str]) -> Wanted:
    locks = ["requirements.lock", *(f"requirements-{extra}.lock" for extra in dict.fromkeys(extras))]
    if absent := [lock for lock in locks if not Path(lock).is_file()]:
        raise InstallError(f"There is no {absent[0]} in {ROOT}. Name an extra that has a lock, such as builtin or dev.")
    return Wanted({lock: _digest(Path(lock).read_bytes()) for lock in locks}, _project())


def _project() -> str:
    """Of what the project's own installation hangs on; its other tools' settings change nothing."""
    pyproject = tomllib.loads(Path("pyproject.toml").read_text("utf-8"))
    parts = [pyproject.get("build-system"), pyproject.get("project"), pyproject.get("tool", {}).get("hatch")]
    return _digest(json.dumps(parts, sort_keys=True).encode())


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _stamp(venv: Path) -> dict[str, Any]:
    """What was installed; empty where nothing was, or its interpreter is gone."""
    try:
        stamp = json.loads((venv / _STAMP).read_text("utf-8"))
    except (OSError, ValueError):
        return {}
    return stamp if isinstance(stamp, dict) and _python(venv).exists() else {}


def _keep(venv: Path, wanted: Wanted) -> None:
    extras = [lock.removeprefix("requirements-").removesuffix(".lock") for lock in wanted.locks if "-" in lock]
    text = json.dumps({"extras": extras, "locks": wanted.locks, "project": wanted.project}, indent=1)
    (venv / _STAMP).write_text(text + "\n", "utf-8")


# --- the steps ---


def _check(venv: Path, locks: Sequence[str]) -> None:
    """All that can be known before anything is fetched. Raises InstallError."""
    if not all(map(importlib.util.find_spec, ("venv", "ensurepip"))):
        raise InstallError(
            "This Python makes no virtual environments (it has no venv or ensurepip). On Debian and Ubuntu install "
            "python3-venv, elsewhere Python from its own installer, then run this again."
        )
    if venv.exists() and not _ours(venv):
        raise InstallError(f"{venv} is there and is no virtual environment. Move it away, or name another folder.")
    for folder in {ROOT, venv if venv.exists() else venv.absolute().parent}:
        with _writing(folder), tempfile.TemporaryFile(dir=folder):
            pass
    if too_little := lacking(venv, locks):
        raise InstallError(too_little)


def _ours(venv: Path) -> bool:
    """Whether this folder may be made anew: an environment, one that was broken off, or an empty folder."""
    return venv.is_dir() and ((venv / "pyvenv.cfg").exists() or (venv / _LOG).exists() or not any(venv.iterdir()))


@contextmanager
def _writing(folder: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise InstallError(
            f"{folder} may not be written ({error.strerror or error}). Allow it, or copy the project to a folder of your own."
        ) from error


def _make(venv: Path, anew: bool, screen: Screen) -> None:
    """The environment, without packages and without a stamp."""
    if not anew:
        return
    if venv.exists() and any(venv.iterdir()):
        screen.say(f"The environment in {venv} is of other locks, or its installation was broken off: it is made anew.")
        _clear(venv)
    venv.mkdir(parents=True, exist_ok=True)
    log = venv / _LOG
    log.touch()
    code, said = Command(Path(sys.executable), log).run([sys.executable, "-I", "-m", "venv", str(venv)])
    if code:
        raise InstallError(f"The environment in {venv} cannot be made; Python said: {said[-1] if said else 'nothing'}")


def _clear(venv: Path) -> None:
    """Leaves the log to the end: what it lies in may be cleared again."""
    (venv / _LOG).touch()
    for path in sorted(venv.iterdir(), key=lambda path: path.name == _LOG):
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink()


def _fetch(command: Command, venv: Path, locks: Sequence[str], screen: Screen) -> None:
    """First pip itself, so that progress and what becomes of a broken download are the same with every Python."""
    text = "".join(Path(lock).read_text("utf-8") for lock in locks)
    if locked := _LOCKED_PIP.search(text):
        own = venv / "pip.lock"
        own.write_text(locked[0] + "\n", "utf-8")
        command.pip("install", *_EXACTLY, "--requirement", str(own))
    fetching = Fetching(screen, len({*_PINNED.findall(text)}) - bool(locked), megabytes(locks), venv)

    def line(text: str) -> None:
        if text.startswith("Installing collected packages"):  # from here on it would be left half done
            (venv / _STAMP).unlink(missing_ok=True)
        fetching.line(text)

    requirements = [word for lock in locks for word in ("--requirement", lock)]
    bar = "raw" if locked or "requirements.lock" not in locks else "off"
    command.pip("install", *_EXACTLY, "--progress-bar", bar, *requirements, line=line, idle=fetching.idle)


def _python(venv: Path) -> Path:
    return venv / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
