"""What pip fetches, as somebody who waits wants to see it: what, how much of how much, and how far in all.

Reads what pip prints with `--progress-bar raw`. On a terminal one line is drawn again and again; elsewhere there is a
line for each package, and one every few seconds for a long one. Knows nothing of how pip is run.
"""

from __future__ import annotations

import re
import shutil
import sys
import time
from pathlib import Path

_EVERY = 5.0  # seconds between lines where there is no terminal
_FETCHING = re.compile(r"(?:Downloading|Using cached) (\S+)\.whl(?: \(([\d.]+) (MB|kB|bytes)\))?(?: |$)")
_BYTES = re.compile(r"Progress (\d+) of (\d+)")
_UNITS = {"MB": 1.0, "kB": 1e-3, "bytes": 1e-6, None: 0.0}


class Screen:
    """Lines to standard error; `redraw` puts one in place of the last where that is a terminal."""

    def __init__(self) -> None:
        self._terminal = sys.stderr.isatty()
        self._drawn = 0  # characters that stand on the line now
        self._last = 0.0

    def say(self, text: str) -> None:
        """A line that stays."""
        self._write("\r" + " " * self._drawn + "\r" if self._drawn else "", text + "\n")
        self._drawn = 0

    def redraw(self, text: str, *, new: bool = False) -> None:
        """A line about what goes on; where there is no terminal only every few seconds, unless it is about something new."""
        if self._terminal:
            text = text[: shutil.get_terminal_size().columns - 1]
            self._write("\r", text.ljust(self._drawn))
            self._drawn = len(text)
        elif new or time.monotonic() - self._last > _EVERY:
            self._last = time.monotonic()
            self.say(text)

    def _write(self, *texts: str) -> None:
        sys.stderr.write("".join(texts))
        sys.stderr.flush()


class Fetching:
    """Follows pip through one installation of `packages` packages, of which `megabytes` are fetched in all."""

    def __init__(self, screen: Screen, packages: int, megabytes: int, where: Path) -> None:
        self._screen, self._packages, self._megabytes, self._where = screen, packages, megabytes, where
        self._name, self._size = "", 0.0
        self._begun, self._before = 0, 0.0  # packages that were begun; megabytes of those that are complete
        self._there: int | None = None  # packages in the environment when pip began to unpack

    def line(self, text: str) -> None:
        """A line of pip's."""
        if text.startswith("Ignoring "):  # a package for other systems
            self._packages -= 1
        elif found := _FETCHING.search(text):
            self._begin(found)
        elif found := _BYTES.match(text):
            self._show(int(found[1]) / 1e6, int(found[2]) / 1e6)
        elif text.startswith("Installing collected packages"):
            self._there = self._installed()
        elif text.lstrip().startswith("WARNING: Retrying"):
            self._screen.redraw(f"[{self._begun} of {self._packages}] no answer, trying again", new=True)

    def idle(self) -> None:
        """Nothing came from pip for a moment: it unpacks, and how far it is can be counted."""
        if self._there is not None:
            done = self._installed() - self._there
            self._screen.redraw(f"unpacking: {max(0, done)} of {self._packages} packages")

    def _begin(self, found: re.Match[str]) -> None:
        self._before += self._size
        self._begun += 1
        self._packages = max(self._packages, self._begun)
        self._name = " ".join(found[1].split("-")[:2])
        self._size = float(found[2] or 0) * _UNITS[found[3]]
        self._show(0.0, self._size, new=True)

    def _show(self, done: float, size: float, *, new: bool = False) -> None:
        of = f"{done:.1f} of {size:.1f} MB" if size > 0.1 else f"{size * 1000:.0f} kB"
        all_ = f"; {self._before + done:,.0f} of about {self._megabytes:,} MB in all" if self._megabytes else ""
        self._screen.redraw(f"[{self._begun} of {self._packages}] {self._name}, {of}{all_}", new=new)

    def _installed(self) -> int:
        places = ("lib/python*/site-packages", "Lib/site-packages")  # the second on Windows
        return sum(1 for place in places for _ in self._where.glob(f"{place}/*.dist-info"))
