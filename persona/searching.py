"""One build of a person, searched by vector and n-grams.

Knows which vectors to ask the store for and what the gate looks at; what is done with the passages is the turn's.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial

import numpy as np

from persona.abbreviations import spelled_out
from persona.addressing import with_name, with_you
from persona.errors import IndexMismatch
from persona.gate import Gate, features
from persona.late import LateInteraction
from persona.ngrams import Scores
from persona.ports import ChunkStore, Embedder, Vectors
from persona.records import Build, Chunk, Person
from persona.retrieval import Candidate, PageIndex, Signals, is_window, rank, rerank
from persona.text import base_language

_JUDGED = 24  # candidates compared piece by piece
_NEIGHBORS = 1000  # vectors asked for; a score that is missing counts as the lowest that came


@dataclass(frozen=True, slots=True)
class Subject:
    """Who is interviewed, from which build, and how it is searched."""

    person: Person
    build: Build
    searcher: Searcher


@dataclass(frozen=True)
class Found:
    """What a search gave; ranked, and looked at by the gate, only when that is asked for."""

    index: PageIndex
    question: str
    signals: Signals
    compare: Callable[[Sequence[Chunk]], Scores] | None = None  # piece by piece, where the embedder shows pieces

    @cached_property
    def candidates(self) -> list[Candidate]:
        """All passages that any view knows, best first."""
        return rerank(self._fused, self._near)

    @cached_property
    def features(self) -> Mapping[str, float]:
        """What the gate looks at."""
        signals = replace(self.signals, late=float(self._near.max(initial=0.0)))
        return features(self.index, self.question, signals)

    @cached_property
    def _fused(self) -> list[Candidate]:
        return rank(self.index, self.question, self.signals)

    @cached_property
    def _near(self) -> Scores:
        """Of the first candidates, how near each is piece by piece; none for an embedder that shows no pieces."""
        if self.compare is None:
            return np.zeros(0, dtype=np.float32)
        return self.compare([c.chunk for c in self._fused[:_JUDGED]])

    @property
    def windows(self) -> Mapping[str, float]:
        """The cosine of each window by its id."""
        return self.signals.windows


def knows(embedder: Embedder, language: str) -> bool:
    """Whether the embedder's vectors can be trusted in that language."""
    return not embedder.languages or base_language(language) in embedder.languages


class Searcher:
    """One build, searched by vector and n-grams."""

    def __init__(
        self,
        index: PageIndex,
        store: ChunkStore,
        embedder: Embedder,
        build: Build,
        gate: Gate,
        late: LateInteraction | None = None,
    ) -> None:
        self.index, self._store, self._embedder, self._build, self.gate = index, store, embedder, build, gate
        self._late = late
        if (build.embedder, build.dimension) != (embedder.name, embedder.dimension):
            raise IndexMismatch(
                f"“{build.title}” was indexed with the embedder {build.embedder}, and now {embedder.name} is set. "
                f"Load the page again, or set PERSONA_EMBEDDER back."
            )

    def search(self, question: str) -> Found:
        """The nearest vectors of the question, as it names the persona and as it was asked."""
        title, language = self.index.title, self.index.language
        question = spelled_out(question, self.index.abbreviations)
        texts = [with_name(question, title, language), with_you(question, title)]
        pieces = self._late.read(texts) if self._late else []
        searched, asked = [one.whole for one in pieces] or self._embedder.embed(texts)
        compare = partial(self._late.scores, self.index, pieces[0]) if self._late else None
        cosines, windows = self._cosines(searched)
        signals = Signals(cosines, windows, *(max(found.values(), default=0.0) for found in self._cosines(asked)))
        return Found(self.index, question, signals, compare)

    def features(self, question: str) -> Mapping[str, float]:
        """What the gate looks at."""
        return self.search(question).features

    def warm(self, wait: Callable[[], None]) -> None:
        """Make what the page's first questions would else have to wait for; `wait` comes before each part of it."""
        if self._late:
            self._late.meet(self.index, wait)

    def within(self, question: str, path: tuple[str, ...], limit: int) -> list[Candidate]:
        """The nearest by vector in a section and its subsections."""
        title, language = self.index.title, self.index.language
        vector = self._embedder.embed([with_name(question, title, language)])[0]
        found = self._store.nearest(
            self._build.id, vector, limit, {"kind": ["chunk"], "section": self.index.within(path)}
        )
        by_id = {chunk.id: chunk for chunk in self.index.chunks}
        return [Candidate(by_id[match.chunk], 1 - match.distance) for match in found if match.chunk in by_id]

    def _cosines(self, vector: Vectors) -> tuple[dict[str, float], dict[str, float]]:
        """Of the nearest chunks, and of the nearest windows, by id.

        Both are asked for at once: Chroma's filters read the fields of all builds, 25 ms of them with 500 people.
        """
        found = {m.chunk: 1 - m.distance for m in self._store.nearest(self._build.id, vector, _NEIGHBORS, {})}
        windows = {id_: cosine for id_, cosine in found.items() if is_window(id_)}
        return {id_: cosine for id_, cosine in found.items() if id_ not in windows}, windows
