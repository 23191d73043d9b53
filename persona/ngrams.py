"""The inverted index of 1–3-grams over the chunks of one build. Pure.

The terms are content words (persona.text) and their runs of two and three, counted by scikit-learn's vectorizer and
weighed by BM25 (Robertson and Zaragoza 2009, k1 = 1.2, b = 0.75). An empty page gives an empty index.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from persona.text import base_language, content_words, has_function_words

_K1, _B = 1.2, 0.75
_SPELLING = 0.84  # difflib's ratio from which an unknown word is taken for a known one: millenium, millennium
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

    def words(self, text: str) -> list[str]:
        """The question's content words, each once, a misspelt one as the page spells it, compounds with their parts."""
        return list(dict.fromkeys(self._read(text)))

    def scores(self, text: str, without: Iterable[str] = ()) -> Scores:
        """BM25 of each chunk for the question's 1–3-grams; `without` words count for nothing. Shape (chunks,)."""
        if not self._vocabulary:
            return np.zeros(len(self._documents), dtype=np.float32)
        left_out = set(without)
        words = [word for word in self._read(text) if word not in left_out]
        columns = sorted({self._vocabulary[term] for term in self._terms(words) if term in self._vocabulary})
        return np.asarray(self._weights[:, columns].sum(axis=1), dtype=np.float32).ravel()

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

    def _spelled(self, word: str) -> str:
        if len(word) < _SPELLED_OUT or self.knows(word) or not word.isalpha():
            return word
        if self._base in _PARTICIPLES:  # gelernt is lernte
            other = word.removeprefix("ge") if word.startswith("ge") else f"ge{word}"
            if self.knows(other):
                return other
        near = difflib.get_close_matches(word, self._long_words, n=1, cutoff=_SPELLING)
        return near[0] if near else word

    @cached_property
    def _terms(self):  # type: ignore[no-untyped-def]  # noqa: ANN202 - scikit-learn has no types
        from sklearn.feature_extraction.text import CountVectorizer

        # words come in folded; the vectorizer only joins them to n-grams
        analyzer = CountVectorizer(tokenizer=list, preprocessor=list, token_pattern=None, ngram_range=(1, 3))
        return analyzer.build_analyzer()

    @cached_property
    def _vocabulary(self) -> dict[str, int]:
        terms = {term for document in self._documents for term in self._terms(document)}
        return {term: column for column, term in enumerate(sorted(terms))}

    @cached_property
    def _weights(self):  # type: ignore[no-untyped-def]  # noqa: ANN202 - a scipy.sparse matrix, (chunks, terms)
        from sklearn.feature_extraction.text import CountVectorizer

        counter = CountVectorizer(
            tokenizer=list, preprocessor=list, token_pattern=None, ngram_range=(1, 3), vocabulary=self._vocabulary
        )
        counts = counter.transform(self._documents).astype(np.float32).tocoo()
        lengths = np.array([len(document) for document in self._documents], dtype=np.float32)
        frequency = np.bincount(counts.col, minlength=len(self._vocabulary))
        total = len(self._documents)
        idf = np.log(1 + (total - frequency + 0.5) / (frequency + 0.5))
        norm = _K1 * (1 - _B + _B * lengths / max(float(lengths.mean()), 1.0))
        counts.data = idf[counts.col] * counts.data * (_K1 + 1) / (counts.data + norm[counts.row])
        return counts.tocsc()


def _in_most(documents: Sequence[Sequence[str]]) -> frozenset[str]:
    """The words that are in most chunks of a page long enough to tell: its language's function words, and its theme."""
    counts: dict[str, int] = {}
    for word in (word for document in documents for word in set(document)):
        counts[word] = counts.get(word, 0) + 1
    return frozenset(word for word, count in counts.items() if len(documents) >= 5 and count > _COMMON * len(documents))
