"""Threads, turns and what readers thought of answers: the port History over SQLAlchemy.

Knows what is asked of the tables and in which transaction. A turn's row is never changed once it has ended; a thread
that was deleted is only marked, so that this can be undone, until `purge`.
"""

from __future__ import annotations

from datetime import timedelta

from sqlalchemy import ColumnElement, Connection, delete, func, insert, literal, select, update

from persona.adapters import tickets
from persona.adapters.connections import Connections
from persona.adapters.rows import Rows, insert_unless_there, require
from persona.adapters.tables import RATING, THREAD, TURN, people, ratings, threads, to_row, turns
from persona.adapters.tickets import INTERRUPTED, Tickets
from persona.adapters.workers import is_gone, this_worker
from persona.errors import StoreError
from persona.records import Rating, Thread, Turn, new_id, now
from persona.text import shortened, unaccented

_TITLE_LENGTH = 80
_NO_PERSON = "There is no such person: `persona people` lists those who can be interviewed."
_NO_THREAD = "There is no such thread: start a new one."
_there = threads.c.deleted_at.is_(None)


class DatabaseHistory(Rows):
    """Implements ports.History; `queue` implements ports.Queue over the same turns."""

    def __init__(self, connections: Connections) -> None:
        super().__init__(connections)
        self.queue = Tickets(connections, _add)

    # --- threads ---

    def threads(self, person: str | None = None) -> list[Thread]:
        """Threads, latest first."""
        wanted = select(*THREAD).where(_there).order_by(threads.c.updated_at.desc(), threads.c.id)
        if person is not None:
            wanted = wanted.where(threads.c.person == person)
        return self._all(Thread, wanted)

    def thread(self, thread: str) -> Thread | None:
        """The thread of that id."""
        return self._one(Thread, select(*THREAD).where(threads.c.id == thread, _there))

    def start(self, person: str, thread: str | None = None, visitor: str = "") -> Thread:
        """A new, empty thread; one of that id and person that is there already is returned as it is."""
        known = self.thread(thread) if thread else None
        if known and known.person == person:  # the usual case, which needs no lock
            return known
        moment = now()
        made = Thread(thread or new_id(), person, "", moment, moment, visitor=visitor)
        with self._writing() as connection:
            require(connection, select(people.c.id).where(people.c.id == person), _NO_PERSON)
            insert_unless_there(connection, insert(threads).values(to_row(made)))
            row = connection.execute(select(*THREAD).where(threads.c.id == made.id)).mappings().one()
        if row["person"] != person:
            raise StoreError("That thread belongs to someone else: start a new one.")
        return Thread(**row)

    def rename(self, thread: str, title: str) -> None:
        """Another title; a blank one changes nothing."""
        line = shortened(title, _TITLE_LENGTH)
        if line:
            self._change(thread, title=line)

    def show(self, thread: str, turn: str) -> None:
        """The thread is read up to that turn of it, until another is shown or asked."""
        with self._writing() as connection:
            wanted = select(turns.c.id).where(turns.c.id == turn, turns.c.thread == thread)
            require(connection, wanted, "That turn is not in this thread: reload the page.")
            connection.execute(update(threads).where(threads.c.id == thread).values(shown=turn))

    def remove(self, thread: str) -> None:
        """Nobody finds the thread any more, until it is restored."""
        self._change(thread, deleted_at=now())

    def restore(self, thread: str) -> None:
        """Undo `remove`."""
        self._change(thread, deleted_at=None)

    def purge(self, older_than: timedelta) -> int:
        """Delete for good what was removed longer ago than that; how many threads."""
        gone = select(threads.c.id).where(threads.c.deleted_at < now() - older_than)
        with self._writing() as connection:
            old = list(connection.scalars(gone))
            theirs = select(turns.c.id).where(turns.c.thread.in_(old))
            connection.execute(delete(ratings).where(ratings.c.turn.in_(theirs)))
            connection.execute(delete(turns).where(turns.c.thread.in_(old)))
            connection.execute(delete(threads).where(threads.c.id.in_(old)))
        return len(old)

    def search(self, words: str, person: str | None = None) -> list[Thread]:
        """Threads in whose title, questions or answers all the words stand, case and accents aside; latest first."""
        found = self.threads(person)
        for word in unaccented(words).split():
            with self._reading() as connection:
                said = turns.c.said.contains(word, autoescape=True)
                holding = set(connection.scalars(select(turns.c.thread).where(said).distinct()))
            found = [one for one in found if one.id in holding or word in unaccented(one.title)]
        return found

    def _change(self, thread: str, **values: object) -> None:
        with self._writing() as connection:
            connection.execute(update(threads).where(threads.c.id == thread).values(values))

    # --- turns ---

    def add(self, turn: Turn) -> Turn:
        """Store a new turn; if its request_id is stored already, the turn stored is returned and nothing changes."""
        with self._writing() as connection:
            return _add(connection, turn)

    def progress(self, turn: str, partial: str, step: str) -> None:
        """What a running turn has come to; ignored once it is no longer running."""
        with self._writing() as connection:
            connection.execute(update(turns).where(*_running(turn)).values(partial=partial, step=step))

    def finish(self, turn: Turn) -> Turn:
        """Store how a turn ended, and give up its place in line; the first end stands and is returned."""
        ended = {
            name: getattr(turn, name) for name in ("state", "question", "answer", "trace", "partial", "step", "error")
        }
        with self._writing() as connection:
            tickets.close(connection, turn.id)
            connection.execute(update(turns).where(*_running(turn.id)).values(ended | {"said": _said(turn)}))
            row = connection.execute(select(*TURN).where(turns.c.id == turn.id)).mappings().first()
        if row is None:
            raise StoreError("The turn that ended was never stored: ask again.")
        return Turn(**row)

    def turn(self, turn: str) -> Turn | None:
        """The turn of that id."""
        return self._one(Turn, select(*TURN).where(turns.c.id == turn))

    def turns(self, thread: str) -> list[Turn]:
        """All turns of a thread, every branch, oldest first."""
        wanted = select(*TURN).where(turns.c.thread == thread).order_by(turns.c.number)
        return self._all(Turn, wanted)

    def path(self, turn: str) -> list[Turn]:
        """From the root of the thread to that turn, both included; empty when there is no such turn."""
        start = select(turns.c.id, turns.c.parent, literal(0).label("height")).where(turns.c.id == turn)
        up = start.cte("up", recursive=True)
        step = select(turns.c.id, turns.c.parent, up.c.height + 1).where(turns.c.id == up.c.parent)
        up = up.union_all(step)
        wanted = select(*TURN).join(up, turns.c.id == up.c.id).order_by(up.c.height.desc())
        return self._all(Turn, wanted)

    def abandon(self) -> int:
        """Mark as interrupted the running turns of this machine whose process is gone; how many."""
        running = select(turns.c.worker).where(turns.c.state == "running").distinct()
        with self._reading() as connection:
            gone = [worker for worker in connection.scalars(running) if is_gone(worker)]
        if not gone:
            return 0
        ended = {"state": "interrupted", "step": "", "error": INTERRUPTED}
        theirs = (turns.c.state == "running", turns.c.worker.in_(gone))
        with self._writing() as connection:
            return connection.execute(update(turns).where(*theirs).values(ended)).rowcount

    # --- ratings ---

    def rate(self, rating: Rating) -> None:
        """What the reader thinks of a turn, in place of what they thought before."""
        with self._writing() as connection:
            require(connection, select(turns.c.id).where(turns.c.id == rating.turn), "There is no such turn.")
            connection.execute(delete(ratings).where(ratings.c.turn == rating.turn))
            connection.execute(insert(ratings).values(to_row(rating)))

    def unrate(self, turn: str) -> None:
        """The reader takes it back."""
        with self._writing() as connection:
            connection.execute(delete(ratings).where(ratings.c.turn == turn))

    def ratings(self, thread: str) -> list[Rating]:
        """Those of a thread, in the order of its turns."""
        wanted = select(*RATING).join(turns, turns.c.id == ratings.c.turn).where(turns.c.thread == thread)
        return self._all(Rating, wanted.order_by(turns.c.number))


def _add(connection: Connection, turn: Turn) -> Turn:
    # The thread's row is locked first (SQLite has locked all by now): the same request a second time waits.
    thread = select(threads.c.title).where(threads.c.id == turn.thread, _there).with_for_update()
    title = require(connection, thread, _NO_THREAD)
    known = connection.execute(select(*TURN).where(turns.c.request_id == turn.request_id)).mappings().first()
    if known is not None:
        return Turn(**known)
    _store_turn(connection, turn)
    moved = {"title": title or shortened(turn.question.asked, _TITLE_LENGTH), "updated_at": now(), "shown": turn.id}
    connection.execute(update(threads).where(threads.c.id == turn.thread).values(moved))
    return turn


def _store_turn(connection: Connection, turn: Turn) -> None:
    if turn.parent is not None:
        parent = select(turns.c.id).where(turns.c.id == turn.parent, turns.c.thread == turn.thread)
        require(connection, parent, "The question that this one follows is not in its thread: reload the page.")
    last = connection.scalar(select(func.max(turns.c.number)).where(turns.c.thread == turn.thread))
    row = to_row(turn) | {"number": (last or 0) + 1, "worker": this_worker(), "said": _said(turn)}
    connection.execute(insert(turns).values(row))


def _said(turn: Turn) -> str:
    """What a search looks through; also written down by the revision that brought it."""
    answered = turn.answer.text if turn.answer else turn.partial
    return unaccented(f"{turn.question.asked}\n{answered}")


def _running(turn: str) -> tuple[ColumnElement[bool], ColumnElement[bool]]:
    return turns.c.id == turn, turns.c.state == "running"
