"""All that the command line writes: data to stdout, everything else to stderr.

Texts of pages, people and models are only ever written as plain text: rich's markup is off, and what a terminal would
take for a command is removed. Knows nothing of what the texts mean.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Any, Self

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.status import Status
from rich.text import Text

from persona.text import storable

_SPEED_OVER = 3600.0  # seconds; the time left is told from steps that may take half a minute each


class _Console(Console):
    def on_broken_pipe(self) -> None:
        """Rich would end the process at once."""
        raise BrokenPipeError


def out() -> Console:
    """Standard output, as it is now."""
    return _Console(markup=False, highlight=False, emoji=False)


def err() -> Console:
    """Standard error, as it is now."""
    return _Console(stderr=True, markup=False, highlight=False, emoji=False)


def interactive() -> bool:
    """Whether somebody sits there who can be asked."""
    return sys.stdin.isatty() and sys.stdout.isatty() and sys.stderr.isatty()


def safe(text: str) -> str:
    """The text without control characters, lone surrogates and what reorders a line; newlines and tabs stay."""
    return storable(text)


def line(text: str) -> str:
    """The text on one line."""
    return " ".join(safe(text).split())


def say(text: str = "", style: str = "") -> None:
    """A line or more on standard output; the terminal breaks it where it has to."""
    out().print(Text(safe(text), style=style), soft_wrap=True)


def note(text: str, style: str = "") -> None:
    """The same on standard error."""
    err().print(Text(safe(text), style=style), soft_wrap=True)


def write(piece: str) -> None:
    """A piece of an answer, seen at once."""
    sys.stdout.write(safe(piece))
    sys.stdout.flush()


def write_json(value: Mapping[str, Any] | Sequence[Any]) -> None:
    """The one document of a command; in ASCII where standard output cannot take every letter."""
    ascii_only = not (sys.stdout.encoding or "").lower().startswith("utf")
    text = json.dumps(value, ensure_ascii=ascii_only, indent=2)
    sys.stdout.write(text.encode(errors="backslashreplace").decode() + "\n")  # a lone surrogate as JSON writes it
    sys.stdout.flush()


def silence() -> None:
    """Nobody reads any more: what is still to be written goes nowhere, so that the end of the process is quiet."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for stream in (sys.stdout, sys.stderr):
        try:
            os.dup2(nowhere, stream.fileno())
        except (OSError, ValueError):  # it is no file, as in tests
            continue


def progress_bar() -> Progress:
    """A bar with the time left on standard error, where that is a terminal."""
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    return Progress(*columns, console=err(), disable=not err().is_terminal, speed_estimate_period=_SPEED_OVER)


class Waiting:
    """Says on a terminal what is being done, until there is something to show."""

    def __init__(self, *, quiet: bool) -> None:
        self._quiet = quiet
        self._status: Status | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.over()

    def at(self, step: str) -> None:
        """Show a step, in place of the one before."""
        if self._quiet or not (err().is_terminal and out().is_terminal):
            return
        if self._status is None:
            self._status = err().status(Text(""), refresh_per_second=4)
            self._status.start()
        self._status.update(Text(line(step) + " …", style="dim"))

    def over(self) -> None:
        """Take it away."""
        if self._status is not None:
            self._status.stop()
            self._status = None
