"""People, builds and chunks in a relational database, and with them the history: the ports Library and History over SQLAlchemy.

Knows what is asked of the tables and in which transaction; knows nothing of vectors, pages' sources and models.
A build's rows are never changed once it is published.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Select, delete, exists, false, func, insert, select, update

from persona.adapters.backup import Contents, restore, save
from persona.adapters.connections import Connections
from persona.adapters.history import DatabaseHistory
from persona.adapters.rows import insert_unless_there
from persona.adapters.tables import BUILD, CHUNK, PERSON, builds, chunks, people, to_row
from persona.adapters.workers import this_worker
from persona.records import Build, Chunk, Page, Person, new_id, now

_interviewable: Select[Any] = select(*PERSON).join(builds, people.c.build == builds.c.id)
_unused = ~exists().where(people.c.build == builds.c.id)


class Database(DatabaseHistory):
    """Implements ports.Library and ports.History, for many threads and processes at once. Raises StoreError.

    `queue` implements ports.Queue over the same tables. `url` is SQLAlchemy's; a SQLite file is made if it is not there,
    and any database brought up to date.
    """

    def __init__(self, url: str) -> None:
        super().__init__(Connections(url))

    def check(self) -> None:
        """Whether it can be written to now. Raises StoreError."""
        with self._writing() as connection:  # to begin is not enough where SQLite may only read
            connection.execute(update(people).where(false()).values(build=None))

    def close(self) -> None:
        """Let go of the database."""
        self._connections.close()

    def back_up(self, file: Path) -> Contents:
        """Write a backup. Raises OSError too, where the file cannot be written."""
        return save(self._connections, file)

    def replace_by(self, file: Path, keep: Path | None = None) -> Contents:
        """Put a backup in place of everything, which is saved in `keep` first. Raises InputError for a file that is none."""
        return restore(self._connections, file, keep)

    def people(self) -> list[Person]:
        """Everyone who can be interviewed, by title."""
        return sorted(
            self._all(Person, _interviewable), key=lambda person: (person.title.casefold(), person.language, person.id)
        )

    def person(self, person: str) -> Person | None:
        """The person of that id who can be interviewed."""
        return self._one(Person, _interviewable.where(people.c.id == person))

    def known(self, person: str) -> Person | None:
        """The person of that id, also one who was deleted: then without build and revision."""
        columns = (func.coalesce(column, "").label(column.name) for column in PERSON)
        wanted = select(*columns).select_from(people.outerjoin(builds, people.c.build == builds.c.id))
        return self._one(Person, wanted.where(people.c.id == person))

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
            insert_unless_there(connection, insert(builds).values(row))

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


def _of_page(query: Select[Any], source: str, api: str, language: str, title: str) -> Select[Any]:
    page = (people.c.source == source, people.c.api == api, people.c.language == language, people.c.title == title)
    return query.where(*page)


def _person_of(connection: Connection, page: Page) -> str:
    """The page's person, deleted ones too, so that a page loaded again finds its threads; made if there is none."""
    key = {"source": page.source, "api": page.api, "language": page.language, "title": page.title}
    insert_unless_there(connection, insert(people).values(id=new_id(), **key))
    return str(connection.scalar(_of_page(select(people.c.id), **key)))


def _store_build(connection: Connection, build: Build, person: str) -> None:
    row = to_row(build) | {"person": person, "state": "ready"}
    loading = (builds.c.id == build.id, builds.c.state == "loading")
    if not connection.execute(update(builds).where(*loading).values(row)).rowcount:
        connection.execute(insert(builds).values(row | {"worker": this_worker()}))


def _store_chunks(connection: Connection, build: str, pieces: Sequence[Chunk]) -> None:
    if pieces:  # an empty list would insert one row of nothing
        connection.execute(insert(chunks), [to_row(piece) | {"build": build} for piece in pieces])
