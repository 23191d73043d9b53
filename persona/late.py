"""Late interaction: a question and a passage compared word piece by word piece.

For each piece of the question its nearest piece of the passage counts (ColBERT's MaxSim), weighted by how rare it is on
the page and summed over the stretch of the passage where that comes to most. A paraphrase that one vector a passage
blurs is found so. Knows only embedders that show the vectors of single pieces.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from persona.ngrams import Scores
from persona.ports import TokenEmbedder, Vectors
from persona.records import Chunk
from persona.retrieval import PageIndex, with_name

_STRETCH, _STEP = 64, 16  # pieces
_KEPT = 600  # passages whose pieces are kept in memory, about 100 KB each


class LateInteraction:
    """Compares questions with passages; keeps the vectors of the passages that it met last."""

    def __init__(self, embedder: TokenEmbedder) -> None:
        self._embedder = embedder
        self._passage = lru_cache(maxsize=_KEPT)(self._embed)
        self._rarity = lru_cache(maxsize=8)(self._count)

    def scores(self, index: PageIndex, question: str, chunks: Sequence[Chunk]) -> Scores:
        """How near each passage is, -1 to 1; the persona's name counts for nothing. Shape (chunks,)."""
        asked = with_name(question, index.title, index.language)
        pieces, vectors = self._embedder.embed_tokens(asked)
        rarity, name = self._rarity(index), set(self._embedder.tokens(index.title))
        weights = np.array([0.0 if piece in name else rarity.get(piece, rarity[""]) for piece in pieces])
        if not weights.any():
            return np.zeros(len(chunks), dtype=np.float32)
        weights /= weights.sum()
        return np.array(
            [_nearness(vectors, self._passage(index.texts[c.id]), weights) for c in chunks],
            dtype=np.float32,
        )

    def meet(self, index: PageIndex) -> None:
        """Make the vectors of all passages of a page, some 20 a second, before anybody waits for them."""
        for chunk in index.chunks[:_KEPT]:
            self._passage(index.texts[chunk.id])

    def _embed(self, text: str) -> Vectors:
        return np.asarray(self._embedder.embed_tokens(text)[1], dtype=np.float16)

    def _count(self, index: PageIndex) -> dict[str, float]:
        """Inverse document frequency of the page's pieces; "" stands for those that it does not hold."""
        held: dict[str, int] = {"": 0}
        for chunk in index.chunks:
            for piece in set(self._embedder.tokens(chunk.text)):
                held[piece] = held.get(piece, 0) + 1
        total = len(index.chunks)
        return {piece: float(np.log(1 + (total - n + 0.5) / (n + 0.5))) for piece, n in held.items()}


def _nearness(question: Vectors, passage: Vectors, weights: Scores) -> float:
    """The weighted sum, over the question's pieces, of the nearest piece within the best stretch of the passage."""
    cosines = question @ passage.astype(np.float32).T
    starts = range(0, max(cosines.shape[1] - _STRETCH, 0) + _STEP, _STEP)
    return max(float(cosines[:, start : start + _STRETCH].max(axis=1) @ weights) for start in starts)
