"""Whether a question is about the page at all. Pure.

The gate is one logistic score over what vectors and n-grams say of a question; its weights belong to an embedder and are
fitted by `persona calibrate`. Knows nothing of models, stores or how the vectors were made.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from persona.addressing import ADDRESSED, with_name
from persona.retrieval import PageIndex, Signals
from persona.text import base_language

_OURS = Path(__file__).parent / "gates"

LEXICAL = ("coverage", "matched", "known", "weight", "length")

_NEAR = (
    0.3  # cosine; 86 own questions shared one word and passed, all nearer than this (Tesla, Luther, Luke, the samples)
)

VECTOR = ("cosine", "window", "asked_cosine", "asked_window", "late", *LEXICAL)


def is_addressed(question: str, index: PageIndex) -> bool:
    """Whether the question is put to the persona, or names it."""
    base = base_language(index.language)
    if with_name(question, index.title, index.language) != question:
        return True
    other = ADDRESSED.get(base)
    return bool(other and re.search(other, question)) or not index.name_words.isdisjoint(index.ngrams.words(question))


def features(index: PageIndex, question: str, signals: Signals) -> dict[str, float]:
    """What the gate looks at. The persona's own name counts for nothing among the words.

    "ties" are the words shared with the best chunk, and one more if these are all and the persona is asked for them, or
    if the only one is a name; two if the persona's name is all that there is.
    """
    asked = index.ngrams.words(question)
    words = [w for w in asked if w not in index.name_words]
    rarity = {w: index.ngrams.rarity(w) for w in words}
    total = sum(rarity.values()) or 1.0
    hits = [[w for w in words if index.ngrams.holds(i, w)] for i in range(len(index.chunks))]
    best = max(hits, key=lambda found: sum(rarity[w] for w in found), default=[])
    weight = sum(rarity[w] for w in best)
    whole = len(best) == len(words) and is_addressed(question, index)
    named = len(best) == 1 and best[0] in _names(index, question)
    return {
        "ties": 2.0 if asked and not words else len(best) + float(whole or named),
        "cosine": max(signals.cosines.values(), default=0.0),
        "window": max(signals.windows.values(), default=0.0),
        "asked_cosine": signals.asked_cosine,
        "asked_window": signals.asked_window,
        "late": signals.late,
        "coverage": weight / total,
        "matched": min(len(best), 4) / 4,
        "known": sum(rarity[w] for w in words if index.ngrams.knows(w)) / total,
        "weight": min(weight, 3.0) / 3,
        "length": len(words) / 10,
    }


def _names(index: PageIndex, question: str) -> frozenset[str]:
    """The question's words that are written with a capital within it; German writes all nouns so, and who shouts all words."""
    if base_language(index.language) == "de" or question.isupper():
        return frozenset()
    return frozenset(index.ngrams.words(" ".join(re.findall(r"(?<=[\w,;] )[A-ZÀ-Þ][\w'’-]*", question))))


@dataclass(frozen=True, slots=True)
class Gate:
    """A logistic score, 0 to 1, and the threshold from which a question is taken to be about the page."""

    embedder: str  # empty: words alone
    weights: Mapping[str, float]
    intercept: float
    threshold: float
    fitted_on: str = ""

    def score(self, features: Mapping[str, float]) -> float:
        """The probability that the question is about the page."""
        total = self.intercept + sum(weight * features[name] for name, weight in self.weights.items())
        return 1 / (1 + math.exp(-total))

    def passes(self, features: Mapping[str, float]) -> bool:
        """Whether the page may be asked at all. A single shared word never passes alone.

        It takes a second one, or a near vector, or that it is a name or all that the persona was asked for: "Who was
        your father?" Who asks for nothing but the persona by name asks about the page, which no word can tell.
        """
        if features["ties"] >= 2 and not features["matched"]:
            return True
        near = max(features["cosine"], features["window"]) if self.embedder else 0.0
        alone = features["ties"] < 2 and features["matched"] > 0 and near < _NEAR
        return self.score(features) >= self.threshold and not alone

    def save(self, folder: Path) -> Path:
        """Write it where `load_gate` finds it."""
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / _file_name(self.embedder)
        path.write_text(json.dumps(asdict(self), indent=2) + "\n", encoding="utf-8")
        return path


def load_gate(embedder: str, folder: Path) -> Gate | None:
    """The gate of an embedder ("" for words alone): the user's own if there is one, else the one that is shipped."""
    for place in (folder, _OURS):
        path = place / _file_name(embedder)
        if path.is_file():
            return Gate(**json.loads(path.read_text(encoding="utf-8")))
    return None


def _file_name(embedder: str) -> str:
    return re.sub(r"[^\w.-]+", "_", embedder or "words") + ".json"
