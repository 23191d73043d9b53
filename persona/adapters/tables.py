"""The tables, and how a row becomes a record and a record a row.

Knows nothing of connections, files and transactions. What is nested in a record is kept as JSON text: only the rows
of a turn or a build are ever asked for, never what is inside. A change here needs a revision in `migrations`.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime
from functools import cache
from typing import Any

from pydantic import TypeAdapter
from sqlalchemy import (
    Boolean,
    Column,
    DateTime,
    Dialect,
    ForeignKey,
    Index,
    Integer,
    MetaData,
    String,
    Table,
    Text,
    UniqueConstraint,
)
from sqlalchemy.types import TypeDecorator

from persona.records import Answer, Build, Chunk, LeftOut, Picture, Question, Rating, Thread, Trace, Turn

_adapter: Callable[[Any], TypeAdapter[Any]] = cache(TypeAdapter)


class Words(TypeDecorator[str]):
    """Any string. What UTF-8 or PostgreSQL cannot hold (half a surrogate pair, NUL) becomes a replacement."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: str | None, dialect: Dialect) -> str | None:
        """On the way in."""
        return value and value.replace("\0", "\ufffd").encode("utf-8", "replace").decode()


class Moment(TypeDecorator[datetime]):
    """An aware time; SQLite keeps no zone, so all is UTC."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        """On the way in."""
        return value and value.astimezone(UTC)

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        """On the way out."""
        return value and (value.astimezone(UTC) if value.tzinfo else value.replace(tzinfo=UTC))


class Record(TypeDecorator[object]):
    """A frozen dataclass, or tuples of them, as JSON text."""

    impl = Words
    cache_ok = True

    def __init__(self, kind: object) -> None:
        super().__init__()
        self.kind = kind

    def process_bind_param(self, value: object, dialect: Dialect) -> str | None:
        """On the way in. Python's writer keeps NaN, which pydantic's own would turn into null."""
        if value is None:
            return None
        text = json.dumps(_adapter(self.kind).dump_python(value), ensure_ascii=False)
        return Words().process_bind_param(text, dialect)

    def process_result_value(self, value: str | None, dialect: Dialect) -> object:
        """On the way out. Raises pydantic.ValidationError."""
        return None if value is None else _adapter(self.kind).validate_json(value)


Headings = tuple[str, ...]
metadata = MetaData()


builds = Table(
    "builds",
    metadata,
    Column("id", Words, primary_key=True),
    Column("state", String(16), nullable=False),  # "loading", then "ready"
    Column("worker", Words, nullable=False),
    Column("created_at", Moment, nullable=False),
    Column("person", Words),  # no foreign key: people point here already, and a circle cannot be filled
    Column("title", Words),
    Column("url", Words),
    Column("revision", Words),
    Column("fetched_at", Moment),
    Column("embedder", Words),
    Column("dimension", Integer),
    Column("chunker", Words),
    Column("sections", Record(tuple[Headings, ...])),
    Column("chunks", Integer),
    Column("left_out", Record(tuple[LeftOut, ...])),
    Column("living", Boolean),
    Column("description", Words),
    Column("origin", Words),
    Column("picture", Record(Picture)),
    Column("revised_at", Moment),
    Index("builds_by_person", "person"),
)

people = Table(
    "people",
    metadata,
    Column("id", Words, primary_key=True),
    Column("source", Words, nullable=False),
    Column("api", Words, nullable=False),
    Column("language", Words, nullable=False),
    Column("title", Words, nullable=False),
    Column("build", Words, ForeignKey("builds.id")),  # null once deleted: the threads still need the row
    UniqueConstraint("source", "api", "language", "title", name="people_are_unique"),
    Index("people_by_build", "build"),
)

chunks = Table(
    "chunks",
    metadata,
    Column("build", Words, ForeignKey("builds.id", ondelete="CASCADE"), primary_key=True),
    Column("position", Integer, primary_key=True, autoincrement=False),
    Column("id", Words, nullable=False),
    Column("path", Record(Headings), nullable=False),
    Column("text", Words, nullable=False),
    Column("sha", Words, nullable=False),
    Column("anchor", Words, nullable=False, server_default=""),
    UniqueConstraint("build", "id", name="chunks_are_unique"),
)

threads = Table(
    "threads",
    metadata,
    Column("id", Words, primary_key=True),
    Column("person", Words, ForeignKey("people.id"), nullable=False),
    Column("title", Words, nullable=False),
    Column("created_at", Moment, nullable=False),
    Column("updated_at", Moment, nullable=False),
    Column("shown", Words),  # a turn; no foreign key: turns point here already
    Column("deleted_at", Moment),
    Column("visitor", Words, nullable=False, server_default=""),
    Index("threads_by_person", "person", "updated_at"),
    Index("threads_by_time", "updated_at"),
)

turns = Table(
    "turns",
    metadata,
    Column("id", Words, primary_key=True),
    Column("thread", Words, ForeignKey("threads.id"), nullable=False),
    Column("number", Integer, nullable=False),  # within the thread: clocks go back, and two turns can share a moment
    Column("parent", Words, ForeignKey("turns.id")),
    Column("request_id", Words, nullable=False),
    Column("state", String(16), nullable=False),
    Column("worker", Words, nullable=False),
    Column("created_at", Moment, nullable=False),
    Column("partial", Words, nullable=False),
    Column("step", Words, nullable=False),
    Column("error", Words, nullable=False),
    Column("question", Record(Question), nullable=False),
    Column("answer", Record(Answer)),
    Column("trace", Record(Trace), nullable=False),
    Column("said", Words, nullable=False, server_default=""),  # question and answer as a search reads them
    UniqueConstraint("thread", "number", name="turns_are_numbered"),
    UniqueConstraint("request_id", name="requests_are_unique"),
    Index("turns_by_parent", "parent"),
    Index("turns_by_state", "state"),
)

ratings = Table(
    "ratings",
    metadata,
    Column("turn", Words, ForeignKey("turns.id"), primary_key=True),
    Column("good", Boolean, nullable=False),
    Column("why", Words, nullable=False),
    Column("created_at", Moment, nullable=False),
)

# A turn's place in the line in front of the model; kept for a day, to count and to measure.
tickets = Table(
    "tickets",
    metadata,
    Column("turn", Words, ForeignKey("turns.id", ondelete="CASCADE"), primary_key=True),
    Column("number", Integer, nullable=False),  # the order in line
    Column("visitor", Words, nullable=False),  # empty where nobody knows
    Column("network", Words, nullable=False),
    Column("worker", Words, nullable=False),
    Column("entered_at", Moment, nullable=False),
    Column("beat_at", Moment, nullable=False),  # when its process last said that it is alive
    Column("seen_at", Moment, nullable=False),  # when its visitor was last here
    Column("began_at", Moment),
    Column("ended_at", Moment),
    Index("tickets_by_end", "ended_at"),
    Index("tickets_by_visitor", "visitor", "entered_at"),
    Index("tickets_by_network", "network", "entered_at"),
)

# What a record is made of, by the names of its fields; a table may have more.
PERSON = (
    people.c.id,
    people.c.source,
    people.c.api,
    people.c.language,
    people.c.title,
    builds.c.revision,
    people.c.build,
)
BUILD = tuple(column for column in builds.c if column.name not in ("state", "worker"))
CHUNK = tuple(column for column in chunks.c if column.name != "build")
THREAD = tuple(column for column in threads.c if column.name != "deleted_at")
TURN = tuple(column for column in turns.c if column.name not in ("number", "worker", "said"))
RATING = tuple(ratings.c)


def to_row(record: Build | Chunk | Rating | Thread | Turn) -> dict[str, Any]:
    """The record's fields by name, not going into those that are records themselves."""
    return {name: getattr(record, name) for name in record.__slots__}
