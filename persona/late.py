"""Late interaction: a question and a passage compared word piece by word piece.

For each piece of the question its nearest piece of the passage counts (ColBERT's MaxSim), weighted by how rare it is on
the page and summed over the stretch of the passage where that comes to most. A paraphrase that one vector a passage
blurs is found so. Knows only embedders that show the vectors of single pieces.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from threading import Lock

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from persona.ngrams import Scores
from persona.ports import Pieces, TokenEmbedder, Vectors
from persona.records import Chunk
from persona.retrieval import PageIndex
from persona.text import bare_title

_STRETCH, _STEP = 64, 16  # pieces
_KEPT = 600  # passages whose pieces are kept in memory, up to 100 KB each


class LateInteraction:
    """Compares questions with passages; keeps the vectors of the passages that it met last."""

    def __init__(self, embedder: TokenEmbedder) -> None:
        self._embedder = embedder
        self._kept = lru_cache(maxsize=_KEPT)(self._embed)
        self._rarity = lru_cache(maxsize=8)(self._count)
        self._embedding = Lock()

    def read(self, texts: Sequence[str]) -> list[Pieces]:
        """Questions, as `scores` wants them."""
        return self._embedder.embed_tokens(texts)

    def scores(self, index: PageIndex, question: Pieces, chunks: Sequence[Chunk]) -> Scores:
        """How near each passage is, -1 to 1; the persona's name counts for nothing. Shape (chunks,)."""
        rarity, name = self._rarity(index), set(self._embedder.tokens(bare_title(index.title)))
        weights = np.array(
            [0.0 if piece in name else rarity.get(piece, rarity[""]) for piece in question.names], dtype=np.float32
        )
        if not chunks or not weights.any():
            return np.zeros(len(chunks), dtype=np.float32)
        passages = [self._passage(index.texts[chunk.id]) for chunk in chunks]
        return _nearness(question.vectors, passages, weights / weights.sum())

    def meet(self, index: PageIndex, wait: Callable[[], None]) -> None:
        """Make the vectors of all passages of a page, some 20 a second, before anybody asks; `wait` comes before each."""
        for chunk in index.chunks[:_KEPT]:
            wait()
            self._passage(index.texts[chunk.id])

    def _passage(self, text: str) -> _Passage:
        with self._embedding:  # whoever wants what another is making waits for it
            return self._kept(text)

    def _embed(self, text: str) -> _Passage:
        (pieces,) = self._embedder.embed_tokens([text])
        return _rounded(pieces.vectors if len(pieces.names) else pieces.whole[np.newaxis])

    def _count(self, index: PageIndex) -> dict[str, float]:
        """Inverse document frequency of the page's pieces; "" stands for those that it does not hold."""
        held: dict[str, int] = {"": 0}
        for chunk in index.chunks:
            for piece in set(self._embedder.tokens(chunk.text)):
                held[piece] = held.get(piece, 0) + 1
        total = len(index.chunks)
        return {piece: float(np.log(1 + (total - n + 0.5) / (n + 0.5))) for piece, n in held.items()}


@dataclass(frozen=True, slots=True)
class _Passage:
    """The vectors of a passage's pieces in one byte a component, and what they are to be divided by."""

    steps: NDArray[np.int8]
    lengths: Scores


def _rounded(vectors: Vectors) -> _Passage:
    """A cosine changes by some 0.0005."""
    steps = np.rint(vectors * (127 / np.abs(vectors).max(axis=1, keepdims=True))).astype(np.int8)
    return _Passage(steps, np.linalg.norm(steps.astype(np.float32), axis=1))


def _nearness(question: Vectors, passages: Sequence[_Passage], weights: Scores) -> Scores:
    """Of each passage the weighted sum, over the question's pieces, of the nearest piece within its best stretch."""
    steps = np.concatenate([passage.steps for passage in passages], dtype=np.float32)
    # einsum takes one thread; the threads of `@` wait for one another where a model holds the processor
    cosines = np.einsum("qd,pd->qp", question, steps) / np.concatenate([passage.lengths for passage in passages])
    ends = np.cumsum([len(passage.lengths) for passage in passages])
    parts = np.split(cosines, ends[:-1], axis=1)
    return np.array([_in_best_stretch(part, weights) for part in parts], dtype=np.float32)


def _in_best_stretch(cosines: Scores, weights: Scores) -> float:
    """`cosines` has the shape (pieces of the question, pieces of the passage)."""
    steps = np.maximum.reduceat(cosines, range(0, cosines.shape[1], _STEP), axis=1)
    stretches = sliding_window_view(steps, min(_STRETCH // _STEP, steps.shape[1]), axis=1).max(axis=-1)
    return float((weights @ stretches).max())
