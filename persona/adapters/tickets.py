"""The line in front of the model, kept as rows: the port Queue over SQLAlchemy.

Whoever changes the line has it alone until the transaction ends, and takes tickets before turns, so that no two
transactions wait for each other. Knows no rule of who may enter.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import ColumnElement, Connection, delete, func, insert, or_, select, text, update

from persona.adapters.connections import Connections
from persona.adapters.tables import tickets, turns
from persona.adapters.workers import is_gone, this_worker
from persona.line import NETWORK_WINDOW, VISITOR_WINDOW
from persona.records import Place, Standing, Turn, Visitor, now

INTERRUPTED = "The program ended before the answer was finished: ask again."
_LEASE = timedelta(minutes=1)  # who was silent for so long is taken for dead; on this machine it is known at once
_MEASURED = 20  # the latest answers, from which it is estimated how long the next ones take
_open = tickets.c.ended_at.is_(None)


class Tickets:
    """Implements ports.Queue. `add` stores a turn within a transaction, and returns the one stored under its request_id."""

    def __init__(self, connections: Connections, add: Callable[[Connection, Turn], Turn]) -> None:
        self._reading, self._writing, self._add = connections.reading, connections.writing, add

    def enter(
        self,
        turn: Turn,
        visitor: Visitor | None,
        queued: bool,
        held: Sequence[str],
        admit: Callable[[Standing], None],
    ) -> Turn:
        """Store a turn and its place. A request that is known already is no newcomer.

        Who is to be turned away is so after a look alone: a crowd that comes again and again locks nobody out.
        """
        with self._reading() as connection:
            if not _is_known(connection, turn) and not _lost(connection, held):
                admit(_standing(connection, visitor))
        with self._writing() as connection:
            _alone(connection)
            _beat(connection, held)
            if _is_known(connection, turn):
                return self._add(connection, turn)
            admit(_standing(connection, visitor))
            stored = self._add(connection, turn)
            connection.execute(insert(tickets).values(_ticket(connection, turn, visitor, queued)))
            connection.execute(delete(tickets).where(~_open, tickets.c.entered_at < now() - VISITOR_WINDOW))
        return stored

    def place(self, turn: str) -> Place | None:
        """Where the turn stands."""
        with self._reading() as connection:
            mine = connection.execute(select(tickets).where(tickets.c.turn == turn, _open)).mappings().first()
            if mine is None:
                return None
            seen_at = mine["seen_at"] if mine["visitor"] else None
            began = _began(connection, tickets.c.turn != turn)
            return Place(_before(connection, turn, mine["number"]), began, _took(connection), seen_at)

    def begin(self, turn: str, at_once: int) -> bool:
        """Count again while nobody else can: two may have looked at the same moment."""
        mine = (tickets.c.turn == turn, _open)
        with self._writing() as connection:
            _alone(connection)
            number = connection.scalar(select(tickets.c.number).where(*mine))
            if number is None or _before(connection, turn, number) >= at_once:
                return False
            connection.execute(update(tickets).where(*mine).values(began_at=now(), beat_at=now()))
            return True

    def beat(self, held: Sequence[str]) -> None:
        """Prolong the leases of the turns held, and end those that ran out."""
        with self._writing() as connection:
            _alone(connection)
            _beat(connection, held)

    def seen(self, visitors: Sequence[str]) -> None:
        """Note that these visitors are here now."""
        with self._writing() as connection:
            theirs = (tickets.c.visitor.in_(visitors), _open)
            connection.execute(update(tickets).where(*theirs).values(seen_at=now()))


def close(connection: Connection, turn: str) -> None:
    """The turn has ended; what comes first in the transaction that stores so."""
    connection.execute(update(tickets).where(tickets.c.turn == turn, _open).values(ended_at=now()))


def _alone(connection: Connection) -> None:
    """SQLite lets one write at a time anyway."""
    if connection.dialect.name == "postgresql":
        connection.execute(text("LOCK TABLE tickets IN EXCLUSIVE MODE"))


def _lost(connection: Connection, held: Sequence[str]) -> list[str]:
    """The turns in line whose process has ended, or has not said for too long that it is alive."""
    workers = connection.scalars(select(tickets.c.worker).where(_open).distinct())
    dead = or_(tickets.c.worker.in_([w for w in workers if is_gone(w)]), tickets.c.beat_at < now() - _LEASE)
    return list(connection.scalars(select(tickets.c.turn).where(_open, dead, tickets.c.turn.not_in(held))))


def _beat(connection: Connection, held: Sequence[str]) -> None:
    if held:
        connection.execute(update(tickets).where(tickets.c.turn.in_(held), _open).values(beat_at=now()))
    if lost := _lost(connection, held):
        connection.execute(update(tickets).where(tickets.c.turn.in_(lost)).values(ended_at=now(), began_at=None))
        ended = {"state": "interrupted", "step": "", "error": INTERRUPTED}
        connection.execute(update(turns).where(turns.c.id.in_(lost), turns.c.state == "running").values(ended))


def _is_known(connection: Connection, turn: Turn) -> bool:
    return connection.scalar(select(turns.c.id).where(turns.c.request_id == turn.request_id)) is not None


def _standing(connection: Connection, visitor: Visitor | None) -> Standing:
    moment, began, waiting = now(), _began(connection), _count(connection, tickets.c.began_at.is_(None))
    if visitor is None:
        return Standing(moment, began, waiting, _took(connection))
    return Standing(
        moment,
        began,
        waiting,
        _took(connection),
        own=_count(connection, tickets.c.visitor == visitor.id),
        by_network=_asked(connection, tickets.c.network == visitor.network, moment - NETWORK_WINDOW),
        by_visitor=_asked(connection, tickets.c.visitor == visitor.id, moment - VISITOR_WINDOW),
    )


def _ticket(connection: Connection, turn: Turn, visitor: Visitor | None, queued: bool) -> dict[str, Any]:
    last, moment = connection.scalar(select(func.max(tickets.c.number))), now()
    return {
        "turn": turn.id,
        "number": (last or 0) + 1,
        "visitor": visitor.id if visitor else "",
        "network": visitor.network if visitor else "",
        "worker": this_worker(),
        "entered_at": moment,
        "beat_at": moment,
        "seen_at": moment,
        "ended_at": None if queued else moment,
    }


def _before(connection: Connection, turn: str, number: int) -> int:
    """Those with an earlier number, and those that are being answered whatever their number."""
    first = or_(tickets.c.number < number, tickets.c.began_at.is_not(None))
    return _count(connection, tickets.c.turn != turn, first)


def _count(connection: Connection, *which: ColumnElement[bool]) -> int:
    return connection.scalar(select(func.count()).select_from(tickets).where(_open, *which)) or 0


def _began(connection: Connection, *which: ColumnElement[bool]) -> tuple[datetime, ...]:
    wanted = select(tickets.c.began_at).where(_open, tickets.c.began_at.is_not(None), *which)
    return tuple(connection.scalars(wanted.order_by(tickets.c.began_at)))


def _took(connection: Connection) -> tuple[float, ...]:
    measured = (tickets.c.began_at.is_not(None), ~_open)
    latest = select(tickets.c.began_at, tickets.c.ended_at).where(*measured).order_by(tickets.c.ended_at.desc())
    rows = connection.execute(latest.limit(_MEASURED)).all()
    return tuple((ended - began).total_seconds() for began, ended in reversed(rows))


def _asked(connection: Connection, whose: ColumnElement[bool], since: datetime) -> tuple[datetime, ...]:
    wanted = select(tickets.c.entered_at).where(whose, tickets.c.entered_at > since)
    return tuple(connection.scalars(wanted.order_by(tickets.c.entered_at)))
