"""What is true of SQLite only: how a file is opened, locked and copied, and what its errors mean.

Knows nothing of tables.
"""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any
from urllib.parse import quote

from sqlalchemy import URL, Connection, Engine, create_engine, event
from sqlalchemy.pool import QueuePool

BUSY_SECONDS = 20.0  # a write waits so long for those of other processes
_REMEDIES = {
    sqlite3.SQLITE_BUSY: "is locked by another program: wait until that one is done, or end it, and try again",
    sqlite3.SQLITE_LOCKED: "is locked by another part of this program: try again in a moment",
    sqlite3.SQLITE_READONLY: "may only be read: make the file and its folder writable, or name another database in PERSONA_DATABASE",
    sqlite3.SQLITE_FULL: "does not fit on the disk any more: make room and try again",
    sqlite3.SQLITE_IOERR: "could not be read or written: see that the disk is sound and has room, and try again",
    sqlite3.SQLITE_CANTOPEN: "cannot be opened: see that it is a file and that you may write to its folder, or name another database in PERSONA_DATABASE",
    sqlite3.SQLITE_NOTADB: "is not a database: move that file away, or name another database in PERSONA_DATABASE",
    sqlite3.SQLITE_CORRUPT: "is damaged: move that file away and put a copy back, or start with a new one",
}


def remedy(error: BaseException | None) -> str:
    """What is wrong and what to do, to follow the database's name; empty when there is nothing special to say."""
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF  # the upper bits hold details
    return _REMEDIES.get(code, "")


def open_sqlite(url: URL) -> Engine:
    """An engine for a file or for memory; makes the folder of the file. Raises OSError and sqlite3.Error.

    A file in a folder that can only be read is opened to be read.
    """
    if not _in_memory(url) and not (url.database or "").startswith("file:"):
        file = Path(url.database or "").expanduser().absolute()
        file.parent.mkdir(parents=True, exist_ok=True)
        url = _as_it_stands(url, file) if _is_still(file) else url.set(database=str(file))
    engine = create_engine(url, **_pool(url), connect_args=_arguments(url))
    event.listen(engine, "connect", _prepare)
    event.listen(engine, "begin", _begin)
    return engine


def _in_memory(url: URL) -> bool:
    return url.database in (None, "", ":memory:") or url.query.get("mode") == "memory"


def _is_still(file: Path) -> bool:
    """Whether nobody writes to it and we cannot: SQLite would want to make a file beside it even to read."""
    log = file.with_name(f"{file.name}-wal")
    return file.is_file() and not os.access(file.parent, os.W_OK) and not (log.is_file() and log.stat().st_size)


def _as_it_stands(url: URL, file: Path) -> URL:
    query = {**url.query, "mode": "ro", "immutable": "1", "uri": "true"}
    return url.set(database=f"file:{quote(str(file))}", query=query)


def _pool(url: URL) -> dict[str, Any]:
    """A database in memory is its one connection: threads take turns at it."""
    return {"poolclass": QueuePool, "pool_size": 1, "max_overflow": 0} if _in_memory(url) else {}


def _arguments(url: URL) -> dict[str, Any]:
    wait = {} if "timeout" in url.query else {"timeout": BUSY_SECONDS}
    return wait | {"check_same_thread": False}


def _prepare(connection: sqlite3.Connection, _record: object) -> None:
    connection.isolation_level = None  # the driver's own BEGIN comes late and never for a SELECT: see _begin
    connection.execute("PRAGMA foreign_keys=ON")


def _begin(connection: Connection) -> None:
    """A write takes its lock at once: two that begin by reading would each wait for the other to let go."""
    writes = connection.get_execution_options().get("writes", False)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")


def use_wal(engine: Engine) -> None:
    """Let readers and a writer work at once. SQLite does not wait here, so that a second opener has to be patient."""
    deadline = time.monotonic() + BUSY_SECONDS
    with closing(engine.raw_connection()) as connection:
        while True:
            try:
                connection.driver_connection.execute("PRAGMA journal_mode=WAL")  # type: ignore[union-attr]
            except sqlite3.OperationalError as error:
                busy = error.sqlite_errorcode & 0xFF == sqlite3.SQLITE_BUSY
                if not busy or time.monotonic() > deadline:
                    raise
                time.sleep(0.05)
            else:
                return


@contextmanager
def without_foreign_keys(connection: Connection) -> Iterator[None]:
    """For migrations, which may replace a table that others point to. Only works outside of a transaction."""
    driver: Any = connection.connection.driver_connection
    driver.execute("PRAGMA foreign_keys=OFF")
    try:
        yield
    finally:
        driver.execute("PRAGMA foreign_keys=ON")


def copy_beside(engine: Engine, revision: str) -> None:
    """Copy the database to a file of its own beside it, named by its revision and the time."""
    with closing(engine.raw_connection()) as connection:
        source: Any = connection.driver_connection
        (_, _, file), *_ = source.execute("PRAGMA database_list").fetchall()
        if not file:  # in memory
            return
        moment = datetime.now().astimezone().strftime("%Y%m%dT%H%M%S.%f")
        with closing(sqlite3.connect(f"{file}.{revision}-{moment}.copy")) as target:
            source.backup(target)
