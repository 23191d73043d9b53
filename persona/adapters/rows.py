"""What the parts of the database have in common: rows become records, and a row is there or is not.

Knows no table.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any, TypeVar

from sqlalchemy import Connection, Insert, Select
from sqlalchemy.exc import IntegrityError

from persona.adapters.connections import Connections
from persona.errors import StoreError

_R = TypeVar("_R")


class Rows:
    """Reads and writes over one pool of connections. Raises StoreError."""

    def __init__(self, connections: Connections) -> None:
        self._connections = connections
        self._reading, self._writing = connections.reading, connections.writing

    def _all(self, kind: Callable[..., _R], query: Select[Any]) -> list[_R]:
        with self._reading() as connection:
            return [kind(**row) for row in connection.execute(query).mappings()]

    def _one(self, kind: Callable[..., _R], query: Select[Any]) -> _R | None:
        return next(iter(self._all(kind, query.limit(1))), None)


def insert_unless_there(connection: Connection, statement: Insert) -> None:
    """Asking first would not do: a server lets two transactions ask, and find nothing, at once."""
    with suppress(IntegrityError), connection.begin_nested():
        connection.execute(statement)


def require(connection: Connection, query: Select[Any], otherwise: str) -> object:
    """The first column of the first row. Raises StoreError."""
    row = connection.execute(query).first()
    if row is None:
        raise StoreError(otherwise)
    return row[0]
