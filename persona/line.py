"""The line in front of the model: whether one more may stand in it, who is next, and what those who wait are told.

A line is shared by all processes of one database. Knows no table: `ports.Queue` keeps the places.
"""

from __future__ import annotations

import logging
import math
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from statistics import mean

from persona.errors import Absent, Busy, PersonaError
from persona.ports import Queue
from persona.records import Place, Standing, Turn, Visitor, Waiting, now

NETWORK_WINDOW = timedelta(minutes=10)
VISITOR_WINDOW = timedelta(days=1)
IN_LINE = " in line, "  # stands in what is said of a place
_BEAT = 5.0  # seconds between two signs that the turns of this process are alive
_LOOK = 0.25  # seconds between two looks whether it is one's turn
_UNMEASURED = 30.0  # seconds that an answer is taken to last as long as none was measured
_SHORTEST = 1.0  # seconds: an answer that takes longer than usual ends any moment
_GONE = "Nobody was here any more when this question's turn came: ask again."
_TAKEN_FOR_DEAD = "This question lost its place in line, since its process did not answer for a while: ask again."
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Limits:
    """How many are answered at once, how many may wait, and how much one may ask; 0 is no limit.

    `gone` is how long one may be away and still wait; None for ever, since a turn nobody watches is answered too.
    """

    at_once: int = 1
    waiting: int = 3
    by_network: int = 0  # questions in NETWORK_WINDOW
    by_visitor: int = 0  # questions in VISITOR_WINDOW
    gone: timedelta | None = None


class Line:
    """The line as one process sees it. Usable from any thread."""

    def __init__(self, queue: Queue, limits: Limits) -> None:
        self._queue, self._limits = queue, limits
        self._held: set[str] = set()
        self._lock = threading.Condition()  # notified when a turn of this process leaves
        self._heart: threading.Thread | None = None

    def enter(self, turn: Turn, visitor: Visitor | None, queued: bool) -> Turn:
        """Store the turn with its place; `queued` is whether it needs the model. Raises Busy, and then nothing is stored.

        The same request twice is one turn: then the one returned is the one that is stored already.
        """
        stored = self._queue.enter(turn, visitor, queued, self._mine(), partial(admit, self._limits, queued))
        if queued and stored.id == turn.id:
            self._hold(turn.id)
        return stored

    def wait(self, turn: str, cancelled: Callable[[], bool] | None) -> Iterator[Waiting]:
        """Until it is the turn's turn, or `cancelled`; says how far it is. Raises Absent."""
        if turn not in self._held:
            return
        said = ""
        while not (cancelled and cancelled()):
            place = self._queue.place(turn)
            if place is None:
                raise Absent(_TAKEN_FOR_DEAD)
            if place.before < self._limits.at_once and self._queue.begin(turn, self._limits.at_once):
                return
            if self._limits.gone and place.seen_at and now() - place.seen_at > self._limits.gone:
                raise Absent(_GONE)
            words = _how_far(place, self._limits.at_once)
            if words != said:
                said = words
                yield Waiting(words)
            with self._lock:
                self._lock.wait(_LOOK)
        yield Waiting("stopping")

    def leave(self, turn: str) -> None:
        """The turn has ended; its place was given up when its end was stored."""
        with self._lock:
            self._held.discard(turn)
            self._lock.notify_all()

    def until_quiet(self) -> None:
        """Wait until no turn of this process stands in line or is answered: what is made ready meanwhile can wait."""
        with self._lock:
            self._lock.wait_for(lambda: not self._held)

    def beat(self) -> None:
        """Show that the turns of this process are alive, and end those of which nobody shows it. Raises StoreError."""
        self._queue.beat(self._mine())

    def _hold(self, turn: str) -> None:
        with self._lock:
            self._held.add(turn)
            if self._heart is None:
                self._heart = threading.Thread(target=self._keep_beating, name="line", daemon=True)
                self._heart.start()

    def _keep_beating(self) -> None:
        while True:
            time.sleep(_BEAT)
            with self._lock:
                if not self._held:
                    self._heart = None
                    return
            try:
                self.beat()
            except PersonaError as error:
                _log.warning("the places in line could not be kept: %s", error)

    def _mine(self) -> list[str]:
        with self._lock:
            return list(self._held)


def admit(limits: Limits, queued: bool, standing: Standing) -> None:
    """Raises Busy, with the time to wait, where one more question is one too many."""
    _within(limits.by_network, standing.by_network, NETWORK_WINDOW, standing.moment, "from your network")
    _within(limits.by_visitor, standing.by_visitor, VISITOR_WINDOW, standing.moment, "from you")
    if not queued:
        return
    free_in = _until_one_ends(standing.began, standing.took, standing.moment)
    if standing.own:
        raise Busy("Your last question is not answered yet. Wait for its answer, or stop it, and ask again.", free_in)
    if len(standing.began) + standing.waiting >= limits.at_once + limits.waiting:
        raise Busy(f"{_before_it(standing.waiting)} already. Try again in {about(free_in)}.", free_in)


def _before_it(waiting: int) -> str:
    if not waiting:
        return "Another question is being answered"
    return f"{waiting} questions wait for an answer" if waiting > 1 else "One question waits for an answer"


def _within(limit: int, asked: Sequence[datetime], window: timedelta, moment: datetime, whence: str) -> None:
    if not limit or len(asked) < limit:
        return
    seconds = (asked[-limit] + window - moment).total_seconds()
    raise Busy(
        f"{limit} questions in {_window(window)} came {whence}, which is as much as this demo answers. "
        f"Try again in {about(seconds)}.",
        seconds,
    )


def _window(window: timedelta) -> str:
    return "a day" if window >= timedelta(days=1) else f"{window.total_seconds() / 60:.0f} minutes"


def _until_one_ends(began: Sequence[datetime], took: Sequence[float], moment: datetime) -> float:
    """Seconds, from what the latest answers took."""
    usual = mean(took) if took else _UNMEASURED
    return min((max(usual - (moment - one).total_seconds(), _SHORTEST) for one in began), default=_SHORTEST)


def _how_far(place: Place, at_once: int) -> str:
    """The place in words; the first who waits is number 1."""
    number = max(place.before - at_once, 0) + 1
    usual = mean(place.took) if place.took else _UNMEASURED
    seconds = _until_one_ends(place.began, place.took, now()) + usual * (number - 1) / at_once
    return f"number {number}{IN_LINE}{about(seconds)}"


def about(seconds: float) -> str:
    """As in "about 5 seconds", "about 4 minutes", "about 3 hours": rounded up, so that it is not too soon."""
    if seconds <= 60:
        number, unit = math.ceil(seconds / 5) * 5 if seconds > 10 else max(math.ceil(seconds), 1), "second"
    elif seconds <= 3600:
        number, unit = math.ceil(seconds / 60), "minute"
    else:
        number, unit = math.ceil(seconds / 3600), "hour"
    return f"about {number} {unit}{'' if number == 1 else 's'}"
