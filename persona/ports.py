"""What the core needs of the outside, as few methods as it can have.

Adapters implement these; tests hold each implementation to the same contract.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from persona.records import (
    Build,
    ChatRequest,
    Choice,
    Chunk,
    Delta,
    Match,
    ModelStatus,
    Page,
    Person,
    Place,
    Rating,
    Standing,
    Suggestion,
    Thread,
    Turn,
    Visitor,
)

Vectors = NDArray[np.float32]


class ChatModel(Protocol):
    """A chat model behind some server. Raises ModelError."""

    @property
    def name(self) -> str:
        """The model's name as its server knows it."""

    @property
    def context_window(self) -> int:
        """Tokens of prompt and reply together; the same with every call."""

    def chat(self, request: ChatRequest) -> Iterator[Delta]:
        """The reply, piece by piece when `request.stream`, else as one; the last Delta has usage and finish.

        Thinking is never part of it. Closing the iterator ends the call.
        """

    def status(self) -> ModelStatus:
        """Whether it can be used, without loading it."""


class Embedder(Protocol):
    """Turns texts into unit vectors. Raises EmbedderError."""

    @property
    def name(self) -> str:
        """Stored with an index; another name means another space."""

    @property
    def dimension(self) -> int:
        """Components of a vector."""

    @property
    def languages(self) -> frozenset[str]:
        """Language codes that its vectors can be trusted in; empty for all."""

    @property
    def max_tokens(self) -> int:
        """Word pieces it sees of one text."""

    def count(self, text: str) -> int:
        """Word pieces of a text."""

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Shape (len(texts), dimension), float32, each row of length 1."""


@dataclass(frozen=True, slots=True)
class Pieces:
    """A text's word pieces, their vectors, shape (pieces, dimension), and the whole text's; float32, each of length 1."""

    names: Sequence[str]
    vectors: Vectors
    whole: Vectors


@runtime_checkable
class TokenEmbedder(Protocol):
    """An embedder that also shows the vectors of a text's word pieces. Raises EmbedderError."""

    def tokens(self, text: str) -> list[str]:
        """The word pieces that it sees of a text, those at its ends left out."""

    def embed_tokens(self, texts: Sequence[str]) -> list[Pieces]:
        """What it makes of each text, in one run of the model."""


class PageSource(Protocol):
    """Where pages come from. Raises PageError, and InputError for a title that cannot be one."""

    def fetch(self, title: str, language: str) -> Page | Choice:
        """The page of that exact title or what it redirects to; else titles to choose from."""

    def suggest(self, begun: str, language: str) -> tuple[Suggestion, ...]:
        """Pages whose title begins so, the likeliest first; none for what can be no title."""

    def picture(self, address: str) -> bytes:
        """The bytes of a picture that a page or a suggestion names; what they hold is not checked."""


class ChunkStore(Protocol):
    """Vectors by build. A build's vectors are written once and never changed. Raises StoreError."""

    def create(self, build: str, ids: Sequence[str], vectors: Vectors, fields: Sequence[Mapping[str, str]]) -> None:
        """Store all vectors of a build; `fields` are plain text values to filter by, one mapping a vector."""

    def nearest(self, build: str, vector: Vectors, limit: int, where: Mapping[str, Sequence[str]]) -> list[Match]:
        """The nearest by cosine, nearest first, among those whose fields have one of the values named.

        Match.chunk is the id given at creation. Raises MissingBuild when there is no such build.
        """

    def vectors(self, build: str) -> dict[str, Vectors]:
        """All vectors of a build by id; empty when there is no such build."""

    def builds(self) -> list[str]:
        """The builds that are stored."""

    def drop(self, build: str) -> None:
        """Delete a build's vectors; nothing happens when there are none."""


class Library(Protocol):
    """People, their builds and chunks. Raises StoreError."""

    def people(self) -> list[Person]:
        """Everyone who can be interviewed, by title."""

    def person(self, person: str) -> Person | None:
        """The person of that id who can be interviewed."""

    def known(self, person: str) -> Person | None:
        """The person of that id, also one who was deleted: then without build and revision."""

    def find(self, source: str, api: str, language: str, title: str) -> Person | None:
        """The person of that page, who can be interviewed."""

    def build(self, build: str) -> Build | None:
        """A published build."""

    def chunks(self, build: str) -> list[Chunk]:
        """A build's chunks by position."""

    def begin(self, build: str) -> None:
        """Note that a build is being made, so that what a killed load leaves behind can be found."""

    def publish(self, page: Page, build: Build, chunks: Sequence[Chunk]) -> Person:
        """In one transaction: store build and chunks and point the person (made if new) to it.

        `build.person` is ignored; the person returned has the id that the page already had, if any.
        """

    def delete(self, person: str) -> None:
        """The person can no longer be interviewed; their threads stay readable."""

    def outdated(self, older_than: timedelta) -> list[str]:
        """Builds begun longer ago than that which nobody points to."""

    def forget(self, build: str) -> None:
        """Remove an outdated build's rows."""


class History(Protocol):
    """Threads, turns and ratings. Raises StoreError."""

    def threads(self, person: str | None = None) -> list[Thread]:
        """Threads, latest first."""

    def thread(self, thread: str) -> Thread | None:
        """The thread of that id."""

    def start(self, person: str, thread: str | None = None, visitor: str = "") -> Thread:
        """A new, empty thread, with that id if one is given, begun by that visitor."""

    def rename(self, thread: str, title: str) -> None:
        """Another title; a blank one changes nothing."""

    def show(self, thread: str, turn: str) -> None:
        """The thread is read up to that turn of it, until another is shown or asked."""

    def remove(self, thread: str) -> None:
        """Nobody finds the thread any more, until it is restored."""

    def restore(self, thread: str) -> None:
        """Undo `remove`."""

    def purge(self, older_than: timedelta) -> int:
        """Delete for good what was removed longer ago than that; how many threads."""

    def search(self, words: str, person: str | None = None) -> list[Thread]:
        """Threads in whose title, questions or answers all the words stand, case and accents aside; latest first."""

    def add(self, turn: Turn) -> Turn:
        """Store a new turn; if its request_id is stored already, the turn stored is returned and nothing changes."""

    def progress(self, turn: str, partial: str, step: str) -> None:
        """What a running turn has come to; ignored once it is no longer running."""

    def finish(self, turn: Turn) -> Turn:
        """Store how a turn ended, and give up its place in line; the first end stands."""

    def turn(self, turn: str) -> Turn | None:
        """The turn of that id."""

    def turns(self, thread: str) -> list[Turn]:
        """All turns of a thread, every branch, oldest first."""

    def path(self, turn: str) -> list[Turn]:
        """From the root of the thread to that turn, both included; empty when there is no such turn."""

    def abandon(self) -> int:
        """Mark as interrupted the running turns whose process is gone; how many."""

    def rate(self, rating: Rating) -> None:
        """What the reader thinks of a turn, in place of what they thought before."""

    def unrate(self, turn: str) -> None:
        """The reader takes it back."""

    def ratings(self, thread: str) -> list[Rating]:
        """Those of a thread, in the order of its turns."""


class Queue(Protocol):
    """Places in the line in front of the model, for all processes of one database. Raises StoreError."""

    def enter(
        self,
        turn: Turn,
        visitor: Visitor | None,
        queued: bool,
        held: Sequence[str],
        admit: Callable[[Standing], None],
    ) -> Turn:
        """Store a new turn together with its place at the end, or only with a note of who asked where not `queued`.

        Before, as `beat(held)`. `admit` sees the line and may raise; then nothing is stored. If the turn's request_id
        is stored already, the turn stored is returned.
        """

    def place(self, turn: str) -> Place | None:
        """Where the turn stands; None once it has left the line."""

    def begin(self, turn: str, at_once: int) -> bool:
        """Note that the turn is being answered, if fewer than `at_once` come before it; whether it is."""

    def beat(self, held: Sequence[str]) -> None:
        """Say that the turns held are alive, and end those of others whose process is not."""

    def seen(self, visitors: Sequence[str]) -> None:
        """Note that these visitors are here now."""
