"""The inverted index of 1–3-grams over the chunks of one build. Pure.

The terms are content words (persona.text) and their runs of two and three, weighed by BM25 (Robertson and Zaragoza
2009, k1 = 1.2, b = 0.75). An empty page gives an empty index.
"""

from __future__ import annotations

import difflib
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property, lru_cache
from itertools import chain, pairwise

import numpy as np
from numpy.typing import NDArray

from persona.text import base_language, content_words, has_function_words

_K1, _B = 1.2, 0.75
_SPELLING = 0.84  # difflib's ratio from which an unknown word is taken for a known one: millenium, millennium
_ASKED = 2000  # words whose spelling is remembered
_SPELLED_OUT = 5  # letters from which a word may be misspelt
_COMPOUNDING = frozenset({"de", "nl", "sv", "da", "no", "nb", "nn", "fi", "is"})  # languages that write words together
_PARTICIPLES = frozenset({"de", "nl"})  # languages whose participles start with ge-
_PART = 4  # letters of the shortest part of a compound
_COMMON = 0.5  # share of the chunks from which a word says nothing, where no list of function words is known

Scores = NDArray[np.float32]


class NgramIndex:
    """`texts` are the chunks' texts, their paths included, in order; all results are by position."""

    def __init__(self, texts: Sequence[str], language: str) -> None:
        self.language = language
        self._base = base_language(language)
        documents = [content_words(text, language) for text in texts]
        common = frozenset() if has_function_words(language) else _in_most(documents)
        self._documents = [[word for word in document if word not in common] for document in documents]
        self._common = common
        self._spelled = lru_cache(maxsize=_ASKED)(self._as_the_page_spells)  # a turn asks some ten times for its words

    def words(self, text: str) -> list[str]:
        """The question's content words, each once, a misspelt one as the page spells it, compounds with their parts."""
        return list(dict.fromkeys(self._read(text)))

    def scores(self, text: str, without: Iterable[str] = ()) -> Scores:
        """BM25 of each chunk for the question's 1–3-grams; `without` words count for nothing. Shape (chunks,)."""
        left_out = set(without)
        words = [word for word in self._read(text) if word not in left_out]
        scores = np.zeros(len(self._documents), dtype=np.float32)
        for term in dict.fromkeys(_terms(words)):
            if term in self._postings:
                rows, counts = np.unique(self._postings[term], return_counts=True)
                scores[rows] += self._weights(rows, counts.astype(np.float32))
        return scores

    def _weights(self, rows: NDArray[np.int64], counts: Scores) -> Scores:
        """What a term is worth to each of the chunks that hold it, so many times."""
        total = len(self._documents)
        rarity = np.log(1 + (total - len(rows) + 0.5) / (len(rows) + 0.5))
        return np.asarray(rarity * counts * (_K1 + 1) / (counts + self._norms[rows]), dtype=np.float32)

    def rarity(self, word: str) -> float:
        """Inverse document frequency of a word, as a share of what a word in one chunk only has; 1 if unknown."""
        count = self._frequency.get(word, 0)
        total = len(self._documents)
        if count == 0 or total < 2:
            return 1.0
        return float(np.log(1 + (total - count + 0.5) / (count + 0.5)) / np.log(1 + (total - 0.5) / 1.5))

    def holds(self, position: int, word: str) -> bool:
        """Whether that chunk holds the word."""
        return word in self._sets[position]

    def knows(self, word: str) -> bool:
        """Whether any chunk holds the word."""
        return word in self._frequency

    @cached_property
    def _sets(self) -> list[frozenset[str]]:
        return [frozenset(document) for document in self._documents]

    @cached_property
    def _frequency(self) -> dict[str, int]:
        counts: dict[str, int] = {}
        for words in self._sets:
            for word in words:
                counts[word] = counts.get(word, 0) + 1
        return counts

    @cached_property
    def _long_words(self) -> list[str]:
        return sorted(word for word in self._frequency if len(word) >= _SPELLED_OUT)

    def _read(self, text: str) -> Iterator[str]:
        """The words of a question as the page would write them, in order."""
        for word in content_words(text, self.language):
            if word in self._common:
                continue
            parts = self._parts(word)
            if self.knows(word) or len(parts) < 2:
                yield word if parts else self._spelled(word)
            yield from parts

    def _parts(self, word: str) -> list[str]:
        """The longest words of the page that a compound starts and ends with (Lucene's dictionary decompounder)."""
        if self._base not in _COMPOUNDING:
            return []
        cuts = range(_PART, len(word) - _PART + 1)
        starts = (word[:cut] for cut in reversed(cuts))
        ends = (word[cut:] for cut in cuts)
        return [part for part in (next(filter(self.knows, side), "") for side in (starts, ends)) if part]

    def _as_the_page_spells(self, word: str) -> str:
        """The word, or the known one that it is a misspelling of, by some thousand comparisons."""
        if len(word) < _SPELLED_OUT or self.knows(word) or not word.isalpha():
            return word
        if self._base in _PARTICIPLES:  # gelernt is lernte
            other = word.removeprefix("ge") if word.startswith("ge") else f"ge{word}"
            if self.knows(other):
                return other
        near = difflib.get_close_matches(word, self._long_words, n=1, cutoff=_SPELLING)
        return near[0] if near else word

    @cached_property
    def _postings(self) -> dict[str, list[int]]:
        """By term, the position of the chunk of each time that it stands anywhere."""
        postings: dict[str, list[int]] = defaultdict(list)
        for position, document in enumerate(self._documents):
            for term in _terms(document):
                postings[term].append(position)
        return postings

    @cached_property
    def _norms(self) -> Scores:
        """BM25's allowance for a chunk's length."""
        lengths = np.array([len(document) for document in self._documents], dtype=np.float32)
        return np.asarray(_K1 * (1 - _B + _B * lengths / max(float(lengths.mean()), 1.0)), dtype=np.float32)


def _terms(words: Sequence[str]) -> Iterator[str]:
    """The words, and their runs of two and three."""
    return chain(
        words,
        map(" ".join, pairwise(words)),
        map(" ".join, zip(words, words[1:], words[2:], strict=False)),
    )


def _in_most(documents: Sequence[Sequence[str]]) -> frozenset[str]:
    """The words that are in most chunks of a page long enough to tell: its language's function words, and its theme."""
    counts: dict[str, int] = {}
    for word in (word for document in documents for word in set(document)):
        counts[word] = counts.get(word, 0) + 1
    return frozenset(word for word, count in counts.items() if len(documents) >= 5 and count > _COMMON * len(documents))
