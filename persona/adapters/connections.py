"""One database by URL: opened, brought up to date, and its transactions; each error becomes a StoreError.

Knows nothing of what the tables mean.
"""

from __future__ import annotations

import logging
import sqlite3
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path

from pydantic import ValidationError
from sqlalchemy import URL, Connection, Engine, create_engine, make_url, text
from sqlalchemy.exc import SQLAlchemyError

from persona.adapters import sqlite
from persona.adapters.migrations import HEAD, migrate, revision
from persona.errors import StoreError

_ADVISORY_LOCK = 7_352_961_441_018_846_123  # any number that other programs on the same server do not use
_log = logging.getLogger(__name__)


class Connections:
    """A pool of connections, safe to use from many threads. Raises StoreError, in opening too."""

    def __init__(self, url: str) -> None:
        self._name = "The database"
        with self._translated():
            self._url = make_url(url)
            self._name = f"The database {_shown(self._url)}"
            self._sqlite = self._url.get_backend_name() == "sqlite"
            self._engine = sqlite.open_sqlite(self._url) if self._sqlite else _open_server(self._url)
            self._bring_up_to_date()
        self._writing = self._engine.execution_options(writes=True)
        # a transaction of SQLite sees one moment anyway, that of a server unless told otherwise one moment a statement
        one_moment = {} if self._sqlite else {"isolation_level": "REPEATABLE READ"}
        self._reading = self._engine.execution_options(**one_moment)

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """A connection whose statements all see the same moment."""
        with self._translated(), self._reading.connect() as connection:
            yield connection

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """A transaction: all of it is stored at the end, or nothing when an exception leaves it."""
        with self._translated(), self._writing.begin() as connection:
            yield connection

    def is_in(self, file: Path) -> bool:
        """Whether that file is the database."""
        return self._sqlite and Path(self._engine.url.database or "").resolve() == file.resolve()

    def close(self) -> None:
        """Close all connections that are not in use."""
        self._engine.dispose()

    def _bring_up_to_date(self) -> None:
        with self._engine.connect() as connection:
            if revision(connection) == HEAD:
                return
        if self._sqlite:
            sqlite.use_wal(self._engine)
        with self._engine.connect() as connection, self._loose(connection), _write(connection):
            self._keep_others_out(connection)
            migrate(connection, self._keep_copy)
        _log.info("brought %s to revision %s", self._name, HEAD)

    def _loose(self, connection: Connection) -> AbstractContextManager[None]:
        return sqlite.without_foreign_keys(connection) if self._sqlite else nullcontext()

    def _keep_others_out(self, connection: Connection) -> None:
        """SQLite's own lock does it already, from the transaction's begin."""
        if connection.dialect.name == "postgresql":
            connection.execute(text("SELECT pg_advisory_xact_lock(:number)"), {"number": _ADVISORY_LOCK})

    def _keep_copy(self, old: str) -> None:
        """A server's database is its keeper's to save."""
        if self._sqlite:
            sqlite.copy_beside(self._engine, old)

    @contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except ValidationError as error:
            raise StoreError(
                f"{self._name} holds a record that this version cannot read: update persona, or load the page again."
            ) from error
        except (SQLAlchemyError, sqlite3.Error, OSError, ImportError) as error:
            raise StoreError(f"{self._name} {self._remedy(error)}.") from error

    def _remedy(self, error: Exception) -> str:
        known = sqlite.remedy(getattr(error, "orig", None) or error)
        if known:
            return known
        said = str(getattr(error, "orig", None) or error).strip().partition("\n")[0].rstrip(".")
        if isinstance(error, ImportError):
            return f"needs a driver that is not installed ({said}): install it, or leave PERSONA_DATABASE empty"
        return (
            f"failed ({said}): see that PERSONA_DATABASE is right and that its server or disk is there, and try again"
        )


def _open_server(url: URL) -> Engine:
    """Each connection is tried before it is used: nobody meets one that the server's restart has cut."""
    return create_engine(url, pool_pre_ping=True)


def _write(connection: Connection) -> AbstractContextManager[object]:
    return connection.execution_options(writes=True).begin()


def _shown(url: URL) -> str:
    """A file's path, or a server's address without the password."""
    return url.database or "in memory" if url.get_backend_name() == "sqlite" else url.render_as_string()
