"""People, builds, chunks, threads and turns in a relational database: the ports Library and History over SQLAlchemy.

Knows what is asked of the tables and in which transaction; knows nothing of vectors, pages' sources and models.
A build's rows are never changed once it is published, and a turn's never once it has ended.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import timedelta
from typing import Any, TypeVar

from sqlalchemy import Connection, Insert, Select, delete, exists, func, insert, literal, select, update
from sqlalchemy.exc import IntegrityError

from persona.adapters.connections import Connections
from persona.adapters.tables import (
    BUILD,
    CHUNK,
    PERSON,
    THREAD,
    TURN,
    builds,
    chunks,
    people,
    threads,
    to_row,
    turns,
)
from persona.adapters.workers import is_gone, this_worker
from persona.errors import StoreError
from persona.records import Build, Chunk, Page, Person, Thread, Turn, new_id, now

_R = TypeVar("_R")
_TITLE_LENGTH = 80
_NO_PERSON = "There is no such person: `persona people` lists those who can be interviewed."
_INTERRUPTED = "The program ended before the answer was finished: ask again."
_interviewable: Select[Any] = select(*PERSON).join(builds, people.c.build == builds.c.id)
_unused = ~exists().where(people.c.build == builds.c.id)


class Database:
    """Implements ports.Library and ports.History, for many threads and processes at once. Raises StoreError.

    `url` is SQLAlchemy's; a SQLite file is made if it is not there, and any database brought up to date.
    """

    def __init__(self, url: str) -> None:
        self._connections = Connections(url)
        self._reading, self._writing = self._connections.reading, self._connections.writing

    def close(self) -> None:
        """Let go of the database."""
        self._connections.close()

    # --- the library ---

    def people(self) -> list[Person]:
        """Everyone who can be interviewed, by title."""
        return sorted(
            self._all(Person, _interviewable), key=lambda person: (person.title.casefold(), person.language, person.id)
        )

    def person(self, person: str) -> Person | None:
        """The person of that id who can be interviewed."""
        return self._one(Person, _interviewable.where(people.c.id == person))

    def find(self, source: str, api: str, language: str, title: str) -> Person | None:
        """The person of that page, who can be interviewed."""
        return self._one(Person, _of_page(_interviewable, source, api, language, title))

    def build(self, build: str) -> Build | None:
        """A published build."""
        return self._one(Build, select(*BUILD).where(builds.c.id == build, builds.c.state == "ready"))

    def chunks(self, build: str) -> list[Chunk]:
        """A build's chunks by position."""
        wanted = select(*CHUNK).where(chunks.c.build == build).order_by(chunks.c.position)
        return self._all(Chunk, wanted)

    def begin(self, build: str) -> None:
        """Note that a build is being made; twice is once."""
        with self._writing() as connection:
            row = {"id": build, "state": "loading", "worker": this_worker(), "created_at": now()}
            _insert_unless_there(connection, insert(builds).values(row))

    def publish(self, page: Page, build: Build, chunks: Sequence[Chunk]) -> Person:
        """In one transaction: store build and chunks and point the person (made if new) to it."""
        with self._writing() as connection:
            person = _person_of(connection, page)
            _store_build(connection, build, person)
            _store_chunks(connection, build.id, chunks)
            connection.execute(update(people).where(people.c.id == person).values(build=build.id))
            row = connection.execute(_interviewable.where(people.c.id == person)).mappings().one()
            return Person(**row)

    def delete(self, person: str) -> None:
        """The person can no longer be interviewed; their threads stay readable.

        What was read is gone at once; an empty row of each build stays until `forget`, so that `outdated` names its
        vectors even when the program ends before they are dropped.
        """
        theirs = builds.c.person == person
        blank = {column.name: None for column in builds.c if column.nullable}
        with self._writing() as connection:
            connection.execute(update(people).where(people.c.id == person).values(build=None))
            connection.execute(delete(chunks).where(chunks.c.build.in_(select(builds.c.id).where(theirs))))
            connection.execute(update(builds).where(theirs).values(state="loading", **blank))

    def outdated(self, older_than: timedelta) -> list[str]:
        """Builds begun longer ago than that which nobody points to, oldest first."""
        wanted = select(builds.c.id).where(_unused, builds.c.created_at < now() - older_than)
        with self._reading() as connection:
            return list(connection.scalars(wanted.order_by(builds.c.created_at, builds.c.id)))

    def forget(self, build: str) -> None:
        """Remove an outdated build's rows; one that somebody points to stays."""
        with self._writing() as connection:  # its chunks go with it, by the foreign key
            connection.execute(delete(builds).where(builds.c.id == build, _unused))

    # --- the history ---

    def threads(self, person: str | None = None) -> list[Thread]:
        """Threads, latest first."""
        wanted = select(*THREAD).order_by(threads.c.updated_at.desc(), threads.c.id)
        if person is not None:
            wanted = wanted.where(threads.c.person == person)
        return self._all(Thread, wanted)

    def thread(self, thread: str) -> Thread | None:
        """The thread of that id."""
        return self._one(Thread, select(*THREAD).where(threads.c.id == thread))

    def start(self, person: str, thread: str | None = None) -> Thread:
        """A new, empty thread; a thread of that id and person that is there already is returned as it is."""
        moment = now()
        made = Thread(id=thread or new_id(), person=person, title="", created_at=moment, updated_at=moment)
        with self._writing() as connection:
            _require(connection, select(people.c.id).where(people.c.id == person), _NO_PERSON)
            _insert_unless_there(connection, insert(threads).values(to_row(made)))
            row = connection.execute(select(*THREAD).where(threads.c.id == made.id)).mappings().one()
        if row["person"] != person:
            raise StoreError("That thread belongs to someone else: start a new one.")
        return Thread(**row)

    def add(self, turn: Turn) -> Turn:
        """Store a new turn; if its request_id is stored already, the turn stored is returned and nothing changes."""
        with self._writing() as connection:
            # The thread's row is locked first (SQLite has locked all by now): the same request a second time waits.
            thread = select(threads.c.title).where(threads.c.id == turn.thread).with_for_update()
            title = _require(connection, thread, "There is no such thread: start a new one.")
            known = connection.execute(select(*TURN).where(turns.c.request_id == turn.request_id)).mappings().first()
            if known is not None:
                return Turn(**known)
            _store_turn(connection, turn)
            moved = {"title": title or _shortened(turn.question.asked), "updated_at": now()}
            connection.execute(update(threads).where(threads.c.id == turn.thread).values(moved))
        return turn

    def progress(self, turn: str, partial: str, step: str) -> None:
        """What a running turn has come to; ignored once it is no longer running."""
        with self._writing() as connection:
            connection.execute(update(turns).where(*_running(turn)).values(partial=partial, step=step))

    def finish(self, turn: Turn) -> Turn:
        """Store how a turn ended; the first end stands and is returned."""
        ended = {
            name: getattr(turn, name) for name in ("state", "question", "answer", "trace", "partial", "step", "error")
        }
        with self._writing() as connection:
            connection.execute(update(turns).where(*_running(turn.id)).values(ended))
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
        ended = {"state": "interrupted", "step": "", "error": _INTERRUPTED}
        theirs = (turns.c.state == "running", turns.c.worker.in_(gone))
        with self._writing() as connection:
            return connection.execute(update(turns).where(*theirs).values(ended)).rowcount

    def _all(self, kind: Callable[..., _R], query: Select[Any]) -> list[_R]:
        with self._reading() as connection:
            return [kind(**row) for row in connection.execute(query).mappings()]

    def _one(self, kind: Callable[..., _R], query: Select[Any]) -> _R | None:
        return next(iter(self._all(kind, query.limit(1))), None)


def _of_page(query: Select[Any], source: str, api: str, language: str, title: str) -> Select[Any]:
    page = (people.c.source == source, people.c.api == api, people.c.language == language, people.c.title == title)
    return query.where(*page)


def _person_of(connection: Connection, page: Page) -> str:
    """The page's person, deleted ones too, so that a page loaded again finds its threads; made if there is none."""
    key = {"source": page.source, "api": page.api, "language": page.language, "title": page.title}
    _insert_unless_there(connection, insert(people).values(id=new_id(), **key))
    return str(connection.scalar(_of_page(select(people.c.id), **key)))


def _store_build(connection: Connection, build: Build, person: str) -> None:
    row = to_row(build) | {"person": person, "state": "ready"}
    loading = (builds.c.id == build.id, builds.c.state == "loading")
    if not connection.execute(update(builds).where(*loading).values(row)).rowcount:
        connection.execute(insert(builds).values(row | {"worker": this_worker()}))


def _store_chunks(connection: Connection, build: str, pieces: Sequence[Chunk]) -> None:
    if pieces:  # an empty list would insert one row of nothing
        connection.execute(insert(chunks), [to_row(piece) | {"build": build} for piece in pieces])


def _store_turn(connection: Connection, turn: Turn) -> None:
    if turn.parent is not None:
        parent = select(turns.c.id).where(turns.c.id == turn.parent, turns.c.thread == turn.thread)
        _require(connection, parent, "The question that this one follows is not in its thread: reload the page.")
    last = connection.scalar(select(func.max(turns.c.number)).where(turns.c.thread == turn.thread))
    row = to_row(turn) | {"number": (last or 0) + 1, "worker": this_worker()}
    connection.execute(insert(turns).values(row))


def _insert_unless_there(connection: Connection, statement: Insert) -> None:
    """Asking first would not do: a server lets two transactions ask, and find nothing, at once."""
    with suppress(IntegrityError), connection.begin_nested():
        connection.execute(statement)


def _require(connection: Connection, query: Select[Any], otherwise: str) -> object:
    """The first column of the first row. Raises StoreError."""
    row = connection.execute(query).first()
    if row is None:
        raise StoreError(otherwise)
    return row[0]


def _running(turn: str) -> tuple[Any, Any]:
    return turns.c.id == turn, turns.c.state == "running"


def _shortened(asked: str) -> str:
    """The question as a thread's title: one line, cut at a blank where there is one near the end."""
    line = " ".join(asked.split())
    if len(line) <= _TITLE_LENGTH:
        return line
    head = line[: _TITLE_LENGTH - 1]
    cut = head.rfind(" ")
    return (head[:cut] if cut > _TITLE_LENGTH // 2 else head).rstrip(" ,;:") + "…"
