"""Which chunks a question is about. Pure.

Three views of a chunk are fused: the cosine of the whole chunk, that of its best two-sentence window, and BM25 over
1–3-grams. Knows nothing of models, stores or how the vectors were made.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from persona.abbreviations import abbreviations
from persona.dates import searched_texts
from persona.ngrams import NgramIndex, Scores
from persona.records import INTRODUCTION, PATH_SEPARATOR, Chunk
from persona.text import bare_title, sentences

_LEAD = 2200  # characters of the Introduction that go with every answer
_EXCERPT = 4  # sentences: the best window and one on either side
_LATE = 4  # what late interaction counts for, beside a window and n-grams
_AHEAD = 0.2  # of the fused score, 0 to 1
_RARE = 0.15  # what a shared word that stands in one chunk only is worth, in cosine
_TELLING = 0.25  # of a question's weight, by the rarity of its words: from there one shared word is evidence


class PageIndex:
    """One build's chunks with their n-grams, ready to be searched."""

    def __init__(self, title: str, language: str, chunks: Sequence[Chunk]) -> None:
        self.title, self.language, self.chunks = title, language, tuple(chunks)
        # by a chunk's id, its text as it is searched
        self.texts = dict(zip((chunk.id for chunk in chunks), searched_texts(chunks, language), strict=True))
        texts = [f"{' '.join(chunk.path)}\n{self.texts[chunk.id]}" for chunk in chunks]
        self.ngrams = NgramIndex(texts, language)
        self.name_words = frozenset(self.ngrams.words(bare_title(title)))

    @cached_property
    def position(self) -> dict[str, int]:
        """Where a chunk stands, by its id."""
        return {chunk.id: i for i, chunk in enumerate(self.chunks)}

    @cached_property
    def abbreviations(self) -> dict[str, str]:
        """What the page's abbreviations stand for."""
        return abbreviations(self.texts.values())

    @cached_property
    def sections(self) -> tuple[tuple[str, ...], ...]:
        """The paths that have chunks, in the page's order."""
        return tuple(dict.fromkeys(chunk.path for chunk in self.chunks))

    @cached_property
    def lead(self) -> tuple[Chunk, ...]:
        """The Introduction's first chunks, as many as are worth their place in every prompt."""
        kept: list[Chunk] = []
        for chunk in self.chunks:
            if chunk.path != (INTRODUCTION,) or sum(len(c.text) for c in (*kept, chunk)) > _LEAD:
                break
            kept.append(chunk)
        return tuple(kept)

    def within(self, path: tuple[str, ...]) -> list[str]:
        """The section and its subsections, as stored with the vectors."""
        return [PATH_SEPARATOR.join(p) for p in self.sections if p[: len(path)] == path]


@dataclass(frozen=True, slots=True)
class Signals:
    """What the vectors say of a question: cosine by chunk id, and by window id (its chunk's, a colon, its number).

    `asked_…` are the best cosines of the question with the persona's name taken out, which the name cannot lift. `late` is the
    nearest passage piece by piece, where the embedder shows pieces.
    """

    cosines: Mapping[str, float]
    windows: Mapping[str, float]
    asked_cosine: float = 0.0
    asked_window: float = 0.0
    late: float = 0.0


@dataclass(frozen=True, slots=True)
class Candidate:
    """A chunk with its fused score, 0 to 1, and whether vectors and n-grams each put it first.

    `window` and `ngrams` are two of the views it was fused from, 0 to 1.
    """

    chunk: Chunk
    score: float
    first_by_vector: bool = False
    first_by_ngrams: bool = False
    window: float = 0.0
    ngrams: float = 0.0

    @property
    def agreed(self) -> bool:
        """Vectors and n-grams name the same chunk."""
        return self.first_by_vector and self.first_by_ngrams


def window_id(chunk: str, number: int) -> str:
    """What a chunk's window is stored as, beside its chunk."""
    return f"{chunk}:{number}"


def is_window(id_: str) -> bool:
    """Whether that is a window and no chunk."""
    return ":" in id_


def rank(index: PageIndex, question: str, signals: Signals) -> list[Candidate]:
    """All chunks that any view knows, best first."""
    if not index.chunks:
        return []
    cosines = _by_position(index, signals.cosines)
    windows = _by_position(index, _best_by_chunk(signals.windows))
    ngrams = index.ngrams.scores(question, without=index.name_words)
    by_window, by_ngrams = _spread(windows), _share(ngrams)
    vectors = _spread(cosines) + by_window
    fused = (vectors + by_ngrams) / 3
    first_vector, first_ngrams = int(vectors.argmax()), int(ngrams.argmax()) if ngrams.any() else -1
    order = np.argsort(-fused, kind="stable")
    return [
        Candidate(
            index.chunks[i],
            float(fused[i]),
            i == first_vector,
            i == first_ngrams,
            float(by_window[i]),
            float(by_ngrams[i]),
        )
        for i in order
    ]


def rerank(candidates: Sequence[Candidate], late: Scores) -> list[Candidate]:
    """The first candidates, as many as `late` judges, ordered anew by it, their windows and their n-grams."""
    if not late.size:
        return list(candidates)
    judged = [
        replace(c, score=float(c.window + c.ngrams + _LATE * near) / (2 + _LATE))
        for c, near in zip(candidates, _spread(late), strict=False)
    ]
    return [*sorted(judged, key=lambda c: -c.score), *candidates[len(judged) :]]


def stands_out(candidates: Sequence[Candidate]) -> bool:
    """Whether the first candidate is far ahead of the second, or vectors and n-grams agree on it."""
    ahead = candidates[0].score - candidates[1].score if len(candidates) > 1 else 1.0
    return candidates[0].agreed or ahead >= _AHEAD


def excerpt(index: PageIndex, chunk: Chunk, question: str, windows: Mapping[str, float]) -> str:
    """The part of a chunk around its best window, by cosine and rare words; the whole chunk where it is short."""
    parts = sentences(chunk.text, index.language)
    if len(parts) <= _EXCERPT:
        return chunk.text
    words = set(index.ngrams.words(question)) - index.name_words
    lowest = min(windows.values(), default=0.0)

    def worth(number: int) -> float:
        held = words.intersection(index.ngrams.words(" ".join(parts[number : number + 2])))
        cosine = windows.get(window_id(chunk.id, number), lowest)
        return cosine + _RARE * sum(index.ngrams.rarity(word) for word in held)

    best = max(range(len(parts) - 1), key=worth)
    return " ".join(parts[max(best - 1, 0) : max(best - 1, 0) + _EXCERPT])


def rank_by_ngrams(index: PageIndex, question: str) -> list[Candidate]:
    """The chunks that share the question's rarest words, best first; those that share none, or one that tells nothing, are left out."""
    ngrams = index.ngrams.scores(question, without=index.name_words)
    words = [word for word in index.ngrams.words(question) if word not in index.name_words]
    order = [i for i in np.argsort(-ngrams, kind="stable") if _is_tied(index.ngrams, int(i), words)]
    shares = _share(ngrams)
    return [Candidate(index.chunks[i], float(shares[i]), first_by_ngrams=n == 0) for n, i in enumerate(order)]


def _is_tied(ngrams: NgramIndex, position: int, words: Sequence[str]) -> bool:
    """Whether that chunk shares two of a question's words, or one that tells: "years" does not in a question on whales."""
    held = [word for word in words if ngrams.holds(position, word)]
    weight = sum(map(ngrams.rarity, held))
    return len(held) > 1 or (bool(held) and weight >= _TELLING * sum(map(ngrams.rarity, words)))


def _best_by_chunk(windows: Mapping[str, float]) -> dict[str, float]:
    best: dict[str, float] = {}
    for id_, cosine in windows.items():
        chunk = id_.split(":", maxsplit=1)[0]
        best[chunk] = max(best.get(chunk, -1.0), cosine)
    return best


def _by_position(index: PageIndex, values: Mapping[str, float]) -> Scores:
    """Shape (chunks,); what was not among the nearest counts as the farthest of those that were."""
    row = np.full(len(index.chunks), min(values.values(), default=0.0), dtype=np.float32)
    for chunk, value in values.items():
        if chunk in index.position:
            row[index.position[chunk]] = value
    return row


def _spread(values: Scores) -> Scores:
    """Moved and stretched to 0…1."""
    low, high = float(values.min()), float(values.max())
    return (values - low) / max(high - low, 1e-6)


def _share(values: Scores) -> Scores:
    """Stretched so that the highest is 1."""
    return values / max(float(values.max(initial=0.0)), 1e-6)
