"""A visitor's own threads: the history of a public demo, in which nobody finds what others asked.

Why an answer failed may name addresses of the keeper's machines, and a model's name the folder that it lies in: both are
kept from visitors. Knows no page.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from pathlib import PurePath

from persona.errors import InputError
from persona.ports import History
from persona.records import Rating, Thread, Trace, Turn
from persona.ui.guard import TROUBLE


class OwnThreads:
    """Implements ports.History over another one; threads of others are as if they were not there."""

    def __init__(self, history: History, visitor: str) -> None:
        self._history, self._visitor = history, visitor

    def threads(self, person: str | None = None) -> list[Thread]:
        """The visitor's, latest first."""
        return [thread for thread in self._history.threads(person) if thread.visitor == self._visitor]

    def thread(self, thread: str) -> Thread | None:
        """The visitor's thread of that id."""
        found = self._history.thread(thread)
        return found if found and found.visitor == self._visitor else None

    def start(self, person: str, thread: str | None = None, visitor: str = "") -> Thread:
        """A thread of the visitor. Raises InputError where it is another's."""
        made = self._history.start(person, thread, visitor or self._visitor)
        self._own(made.id)
        return made

    def rename(self, thread: str, title: str) -> None:
        """Another title."""
        self._own(thread)
        self._history.rename(thread, title)

    def show(self, thread: str, turn: str) -> None:
        """The thread is read up to that turn."""
        self._own(thread)
        self._history.show(thread, turn)

    def remove(self, thread: str) -> None:
        """Nobody finds the thread any more, until it is restored."""
        self._own(thread)
        self._history.remove(thread)

    def restore(self, thread: str) -> None:
        """Undo `remove`. Whose a removed thread is cannot be seen before."""
        self._history.restore(thread)
        if self.thread(thread) is None:
            self._history.remove(thread)

    def purge(self, older_than: timedelta) -> int:
        """Delete for good what was removed longer ago than that, whosever it was."""
        return self._history.purge(older_than)

    def search(self, words: str, person: str | None = None) -> list[Thread]:
        """The visitor's threads in which all the words stand."""
        return [thread for thread in self._history.search(words, person) if thread.visitor == self._visitor]

    def add(self, turn: Turn) -> Turn:
        """Store a new turn."""
        self._own(turn.thread)
        return self._history.add(turn)

    def progress(self, turn: str, partial: str, step: str) -> None:
        """What a running turn of the visitor has come to."""
        if self.turn(turn):
            self._history.progress(turn, partial, step)

    def finish(self, turn: Turn) -> Turn:
        """Store how a turn ended."""
        self._own(turn.thread)
        return self._history.finish(turn)

    def turn(self, turn: str) -> Turn | None:
        """The turn of that id, in a thread of the visitor."""
        found = self._history.turn(turn)
        return _discreet(found) if found and self.thread(found.thread) else None

    def turns(self, thread: str) -> list[Turn]:
        """All turns of a thread of the visitor."""
        return [_discreet(turn) for turn in self._history.turns(thread)] if self.thread(thread) else []

    def path(self, turn: str) -> list[Turn]:
        """From the root of the visitor's thread to that turn."""
        return [_discreet(one) for one in self._history.path(turn)] if self.turn(turn) else []

    def abandon(self) -> int:
        """Mark as interrupted the running turns whose process is gone, whosever they are."""
        return self._history.abandon()

    def rate(self, rating: Rating) -> None:
        """What the visitor thinks of a turn of theirs."""
        if self.turn(rating.turn):
            self._history.rate(rating)

    def unrate(self, turn: str) -> None:
        """The visitor takes it back."""
        if self.turn(turn):
            self._history.unrate(turn)

    def ratings(self, thread: str) -> list[Rating]:
        """Those of a thread of the visitor."""
        return self._history.ratings(thread) if self.thread(thread) else []

    def _own(self, thread: str) -> None:
        if self.thread(thread) is None:
            raise InputError("There is no such thread of yours. Start a new one.")


def _discreet(turn: Turn) -> Turn:
    """Without the words of whoever failed; that a turn was interrupted is told in words of our own."""
    error = TROUBLE if turn.state == "failed" else turn.error
    return replace(turn, error=error, trace=_discreet_trace(turn.trace))


def _discreet_trace(trace: Trace) -> Trace:
    calls = (replace(call, model=model_name(call.model), error=call.error and "failed") for call in trace.calls)
    settings = {name: model_name(value) for name, value in trace.settings.items()}
    return replace(trace, calls=tuple(calls), settings=settings)


def model_name(model: str) -> str:
    """What visitors are told of a model: some servers call it by the path of its file."""
    return PurePath(model).name
