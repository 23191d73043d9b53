"""Turns answered in worker threads of the process, whatever becomes of the page that asked.

Pages and tabs come and go; a worker drains `Interview.ask` and stores what came so far, and pages read it from the
history. Stop is a flag of the turn. Knows nothing of what an event means beyond text and steps.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace

from persona.errors import PersonaError
from persona.interview import Interview
from persona.ports import History
from persona.records import Asked, Event, Finished, Text, Visitor, Waiting, Withdrawn, Working

_EVERY = 0.15  # seconds between two notes of what came so far
_AGAIN = 2.0  # seconds between two tries to store the end of a turn
_log = logging.getLogger(__name__)


class Runner:
    """Runs the turns of one process. Usable from any thread."""

    def __init__(
        self, interview: Interview, history: History, who: Callable[[], Visitor | None] = lambda: None
    ) -> None:
        """`who` says, in the thread that submits, which visitor asks; None where nobody is told from another."""
        self._interview, self._history, self._who = interview, history, who
        self._stops: dict[str, threading.Event] = {}
        self._lock = threading.Lock()
        history.abandon()

    def submit(self, question: str, thread: str, parent: str | None = None, request_id: str | None = None) -> str:
        """Store the question and answer it in the background; the turn's id. Raises InputError, Busy, StoreError."""
        stop = threading.Event()
        events = self._interview.ask(question, thread, parent, request_id, stop.is_set, self._who())
        asked = next(events)
        if not isinstance(asked, Asked):  # pragma: no cover - ask's promise
            raise TypeError(asked)
        turn = asked.turn
        if asked.known:  # the same request twice: the first one is on its way, or has ended
            events.close()  # type: ignore[attr-defined]
            return turn.id
        with self._lock:
            self._stops[turn.id] = stop
        threading.Thread(
            target=self._drain, args=(turn.id, events, stop), name=f"turn-{turn.id[:8]}", daemon=True
        ).start()
        return turn.id

    def stop(self, turn: str) -> None:
        """Ask a turn of this process to end; what came so far is kept."""
        with self._lock:
            flag = self._stops.get(turn)
        if flag:
            flag.set()

    def running(self) -> list[str]:
        """The turns that are being answered."""
        with self._lock:
            return list(self._stops)

    def _drain(self, turn: str, events: Iterator[Event], stop: threading.Event) -> None:
        text, steps, doing, noted = "", "", "", 0.0
        try:
            for event in events:
                if isinstance(event, Finished):
                    break
                text += event.text if isinstance(event, Text) else ""
                text = "" if isinstance(event, Withdrawn) else text
                changed = isinstance(event, Working)
                if isinstance(event, Working):
                    doing = f"{steps}\n{event.step}".lstrip()
                    steps = steps if isinstance(event, Waiting) else doing
                if changed or time.monotonic() - noted > _EVERY:
                    self._note(turn, text, doing)
                    noted = time.monotonic()
        except PersonaError as error:
            _log.warning("turn %s could not be stored: %s", turn, error)
            self._end_later(turn, text, error)
        finally:
            with self._lock:
                if self._stops.get(turn) is stop:
                    del self._stops[turn]

    def _note(self, turn: str, text: str, step: str) -> None:
        """Store what came so far; a store that cannot take it now may well take the end."""
        try:
            self._history.progress(turn, text, step)
        except PersonaError as error:
            _log.warning("turn %s: what came so far could not be stored: %s", turn, error)

    def _end_later(self, turn: str, text: str, reason: PersonaError) -> None:
        """End the turn as soon as the store can be written to again: its thread waits for that, and no restart helps it."""
        while True:
            time.sleep(_AGAIN)
            try:
                stored = self._history.turn(turn)
                if stored and stored.state == "running":
                    error = f"The answer could not be stored. {reason}"
                    self._history.finish(replace(stored, state="failed", partial=text, step="", error=error))
            except PersonaError:
                continue
            return
