"""A backup: what the database holds of people, their current builds, chunks, threads, turns and ratings, as one SQLite file.

Rows are copied in one transaction on either side, so that any database can be saved and restored while others use it,
and either all is restored or nothing. Vectors are no part of it: they follow from the chunks, and the embedder may be
another one where they are restored. Knows nothing of who asks for it.
"""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from urllib.parse import quote

from sqlalchemy import Connection, Table, TableClause, column, delete, func, insert, select, table, update

from persona.adapters.connections import Connections
from persona.adapters.tables import Record, Words, builds, chunks, metadata, people, ratings, threads, turns
from persona.adapters.workers import is_gone, this_worker
from persona.errors import InputError, StoreError
from persona.records import new_id

SAVED = (builds, people, chunks, threads, turns, ratings)  # each after those that it points to
_SQLITE = b"SQLite format 3\0"
_DRAFT = ".persona-backup."  # begins the name of what is not whole yet; then come the process and an id
_ROWS = 500  # copied at a time
_INTERRUPTED = "The backup was made before the answer was finished: ask again."


@dataclass(frozen=True, slots=True)
class Contents:
    """How much a backup holds."""

    people: int
    threads: int
    turns: int


def save(connections: Connections, file: Path) -> Contents:
    """Write a backup there, in place of what was there, once it is whole. Raises InputError, StoreError, OSError."""
    if connections.is_in(file):
        raise InputError(f"{file} is the database itself. Name another file.")
    _clear_away_what_killed_ones_left(file.parent)
    fresh = file.with_name(f"{_DRAFT}{_in_a_name(this_worker())}.{new_id()}")
    fresh.touch(mode=0o600)  # conversations are nobody else's business
    try:
        copy = Connections(_url(fresh))
        try:
            with connections.reading() as source, copy.writing() as target:
                _copy(source, target)
                contents = _contents(target)
        finally:
            copy.close()
        fresh.replace(file)
    finally:
        for left in file.parent.glob(f"{fresh.name}*"):
            left.unlink(missing_ok=True)
    return contents


def _clear_away_what_killed_ones_left(folder: Path) -> None:
    for draft in folder.glob(f"{_DRAFT}*"):
        worker = draft.name.removeprefix(_DRAFT).rpartition(".")[0]
        if is_gone(_from_a_name(worker)):
            draft.unlink(missing_ok=True)


def _in_a_name(worker: str) -> str:
    """Not every system takes colons in the name of a file."""
    return worker.replace(":", ",")


def _from_a_name(worker: str) -> str:
    return worker.replace(",", ":")


def restore(connections: Connections, file: Path, keep: Path | None) -> Contents:
    """Put a backup in place of all that the database holds, once that is saved in `keep`.

    Raises InputError for a file that is no backup, StoreError and OSError; then nothing has changed.
    """
    with _opened(file) as backup:
        if keep:
            save(connections, keep)
        return _replace(connections, backup)


def _replace(connections: Connections, backup: Connections) -> Contents:
    with backup.reading() as source, connections.writing() as target:
        named = (builds.c.id, builds.c.worker, builds.c.created_at)
        before = [dict(row) for row in target.execute(select(*named)).mappings()]
        for each in reversed(metadata.sorted_tables):
            target.execute(delete(each))
        _copy(source, target)
        kept = set(target.scalars(select(builds.c.id)))
        if gone := [row | {"state": "loading"} for row in before if row["id"] not in kept]:
            target.execute(insert(builds), gone)  # an empty row each, so that the next load drops their vectors
        running = turns.c.state == "running"  # whoever answered them may be a process of another machine
        target.execute(update(turns).where(running).values(state="interrupted", step="", error=_INTERRUPTED))
        return _contents(target)


def _copy(source: Connection, target: Connection) -> None:
    for each in SAVED:
        plain = _plain(each)
        for rows in source.execute(_wanted(each, plain)).mappings().yield_per(_ROWS).partitions():
            target.execute(insert(plain), [dict(row) for row in rows])


def _plain(each: Table) -> TableClause:
    """The table with its records as the text that they are stored as: what is not read cannot be misread."""
    kinds: dict[str, Any] = {c.name: Words() if isinstance(c.type, Record) else c.type for c in each.c}
    return table(each.name, *(column(name, kind) for name, kind in kinds.items()))


def _wanted(each: Table, plain: TableClause) -> Any:  # noqa: ANN401 - a Select of any row
    """All rows, but of builds only those that somebody points to; a turn comes after its parent."""
    query = select(plain)
    current = select(people.c.build).where(people.c.build.is_not(None))
    if each is builds:
        query = query.where(plain.c.id.in_(current))
    elif each is chunks:
        query = query.where(plain.c.build.in_(current))
    elif each is turns:
        query = query.order_by(plain.c.thread, plain.c.number)
    return query


def _contents(connection: Connection) -> Contents:
    def count(each: Table) -> int:
        return connection.scalar(select(func.count()).select_from(each)) or 0

    interviewable = select(func.count()).select_from(people).where(people.c.build.is_not(None))
    return Contents(connection.scalar(interviewable) or 0, count(threads), count(turns))


@contextmanager
def _opened(file: Path) -> Iterator[Connections]:
    """A copy of the backup, brought up to this version; the file itself is left as it is. Raises InputError."""
    with TemporaryDirectory(prefix="persona-") as folder:
        copy = Path(folder) / "backup"
        try:
            shutil.copyfile(file, copy)
        except OSError as error:
            raise InputError(f"{file} cannot be read ({error.strerror or error}). Name a backup's file.") from error
        _check(file, copy)
        opened = _brought_up_to_date(file, copy)
        try:
            yield opened
        finally:
            opened.close()


def _brought_up_to_date(file: Path, copy: Path) -> Connections:
    try:
        opened = Connections(_url(copy))
        with opened.reading() as connection:
            for each in SAVED:  # all tables and columns are there
                connection.execute(_wanted(each, _plain(each)).limit(0))
    except StoreError as error:
        raise InputError(f"{file} cannot be restored, and nothing was changed. {error}") from error
    return opened


def _check(file: Path, copy: Path) -> None:
    """Raises InputError unless it is a whole database of persona."""
    with copy.open("rb") as start:
        if start.read(len(_SQLITE)) != _SQLITE:
            raise InputError(f"{file} is no backup, and nothing was changed. Name a file that `persona backup` wrote.")
    try:
        with closing(sqlite3.connect(copy)) as connection:
            sound = connection.execute("PRAGMA integrity_check(1)").fetchone() == ("ok",)
            names = {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    except sqlite3.Error:
        sound, names = False, set()
    if not sound:
        raise InputError(f"{file} is damaged, and nothing was changed. Take another backup.")
    if not {"alembic_version", people.name, turns.name} <= names:
        raise InputError(f"{file} is a database of another program, and nothing was changed. Name a backup's file.")


def _url(file: Path) -> str:
    return f"sqlite:///{quote(str(file.absolute()))}"
