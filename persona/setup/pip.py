"""Runs the environment's pip, keeps all that it says in a log, and puts its failures in a sentence."""

from __future__ import annotations

import os
import queue
import re
import subprocess
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO

# they would put the packages elsewhere, or take the progress away
_NOT_OURS = ("PIP_USER", "PIP_TARGET", "PIP_PREFIX", "PIP_ROOT", "PIP_QUIET", "PIP_REQUIRE_HASHES", "PIP_CONSTRAINT")
_PIP = ("-I", "-u", "-X", "utf8", "-m", "pip", "--disable-pip-version-check", "--no-input")
_LATEST = 40  # lines of pip that are looked at where its error does not tell
_IDLE = 0.5  # seconds

# What pip says when it fails, the first that fits counts; {log} and {item} are filled in
_SENTENCES = (
    (
        r"No space left on device|not enough space on the disk",
        "The disk became full while installing. Make room, then run this again: it begins anew.",
    ),
    (
        r"DO NOT MATCH THE HASHES",
        "What was fetched{item} is not what the lock names: it was altered or broken on its way. "
        "Run this again; if it stays so, use another network.",
    ),
    (
        r"NewConnectionError|NameResolutionError|ConnectTimeout|Failed to establish|Connection refused|ProxyError|SSLError|"
        r"Network is unreachable|ReadTimeout|Read timed out",
        "The package index cannot be reached. Connect to the network (or set PIP_INDEX_URL or a proxy), then run this again.",
    ),
    (
        r"not enough bytes|IncompleteRead|Connection broken|RemoteDisconnected|ConnectionResetError|Connection aborted|"
        r"BadZipFile|is invalid|ProtocolError|incomplete",
        "A download{item} broke off. Run this again: it begins anew.",
    ),
    (
        r"Permission denied|Access is denied",
        "A file may not be written ({last}). Allow it, or close the program that uses it, then run this again.",
    ),
    (
        r"from versions: (?!none)|No matching distribution|is not a supported wheel",
        "There is no package{item} for this system and Python, or the package index does not have it. persona runs with "
        "Python 3.11 to 3.13 on Linux, Windows and Macs with Apple silicon; the details are in {log}.",
    ),
)
_ITEM = re.compile(
    r"^\s*(?:Collecting ([\w.\-]+)|Downloading ([\w.]+-[\w.]+)-\S+\.whl|ERROR: .*satisfies the requirement ([\w.\-]+))"
)


class InstallError(Exception):
    """Says in one sentence what went wrong and what to do."""


class Command:
    """Runs commands of the environment's interpreter one after another; all that they say is added to the log."""

    def __init__(self, python: Path, log: Path) -> None:
        self._python, self._log = python, log

    def pip(
        self, *words: str, line: Callable[[str], None] = lambda _: None, idle: Callable[[], None] = lambda: None
    ) -> None:
        """Run `pip WORDS`; `line` gets each line, `idle` is called while none comes. Raises InstallError."""
        code, said = self.run([str(self._python), *_PIP, *words], line, idle)
        if code:
            raise InstallError(_sentence(said, self._log))

    def complaint(self) -> list[str]:
        """What `pip check` has to say against the packages that are there."""
        code, said = self.run([str(self._python), *_PIP, "check"])
        return said if code else []

    def run(
        self,
        words: Sequence[str],
        line: Callable[[str], None] = lambda _: None,
        idle: Callable[[], None] = lambda: None,
    ) -> tuple[int, list[str]]:
        """The exit code of any command, and what it said. After Ctrl-C it is ended, too."""
        said: list[str] = []
        with self._log.open("a", encoding="utf-8") as log, _started(words) as process:
            try:
                for text in _lines(process, idle):
                    log.write(text + "\n")
                    said.append(text)
                    line(text)
            except BaseException:
                process.terminate()
                process.wait()
                raise
        return process.returncode, said


def _started(words: Sequence[str]) -> subprocess.Popen[str]:
    return subprocess.Popen(  # noqa: S603 - our own interpreter
        words,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env={name: value for name, value in os.environ.items() if name not in _NOT_OURS},
        encoding="utf-8",
        errors="replace",
    )


def _lines(process: subprocess.Popen[str], idle: Callable[[], None]) -> Iterator[str]:
    """The lines as they come. A thread reads them, since no system but Unix can wait for a pipe and the time."""
    came: queue.Queue[str | None] = queue.Queue()

    def read(pipe: IO[str]) -> None:
        with suppress(ValueError):  # after Ctrl-C it is closed while it is read
            for text in pipe:
                came.put(text.rstrip())
        came.put(None)

    assert process.stdout is not None  # noqa: S101 - it was asked for
    threading.Thread(target=read, args=(process.stdout,), daemon=True).start()
    while True:
        try:
            text = came.get(timeout=_IDLE)
        except queue.Empty:
            idle()
            continue
        if text is None:
            return
        yield text


def _sentence(said: Sequence[str], log: Path) -> str:
    """What pip's complaint comes to. Where it found nothing at all, the warnings before tell why."""
    errors = [text for text in said if text.startswith("ERROR:")]
    last = next((text.removeprefix("ERROR: ") for text in reversed([*said, *errors]) if text.strip()), "nothing")
    named = [next(filter(None, found.groups())).replace("-", " ") for found in map(_ITEM.match, said) if found]
    whole = "\n".join(errors)
    if not errors or "from versions: none" in whole:
        whole = "\n".join(said[-_LATEST:])
    for pattern, sentence in _SENTENCES:
        if re.search(pattern, whole):
            return sentence.format(item=f" ({named[-1]})" if named else "", last=last, log=log)
    return f"pip could not install the packages; it said: {last} Run this again; the details are in {log}."
