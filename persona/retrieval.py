"""Which chunks a question is about, and whether it is about the page at all. Pure.

Three views of a chunk are fused: the cosine of the whole chunk, that of its best two-sentence window, and BM25 over
1–3-grams. The gate is one logistic score over the same views; its weights belong to an embedder and are fitted by
`persona calibrate`. Knows nothing of models, stores or how the vectors were made.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property, lru_cache
from pathlib import Path

import numpy as np

from persona.abbreviations import abbreviations
from persona.dates import searched_texts
from persona.ngrams import NgramIndex, Scores
from persona.records import PATH_SEPARATOR, Chunk
from persona.text import base_language, content_words, sentences

_OURS = Path(__file__).parent / "gates"
_YOURS = {
    "en": r"your(?:s)?",
    "de": r"[Dd]ein(?:e[mnrs]?)?|Ihr(?:e[mnrs]?)?",
    "fr": r"votre|vos|ton|ta|tes",
    "es": r"tus?|vuestr[oa]s?",
    "nl": r"uw|jouw",
    "sv": r"dina?|ditt|er[at]?",
}
_YOU = {
    "en": r"you(?:rself)?", "de": r"[Dd]u|[Dd]ir|[Dd]ich|Sie|Ihnen", "fr": r"vous|tu|toi", "es": r"tú|usted|ti",
    "nl": r"u|jij|je|jou", "sv": r"du|dig|ni",
}  # fmt: skip
_ADDRESSED = {  # other signs that a question is put to the persona: endings of verbs, scripts without blanks
    "es": r"\w{2}[ai]ste(?:is)?\b|\b(?:eres|tienes|has|fuiste)\b", "it": r"\w{2}[aei]sti\b|\b(?:tu|tu[oae]|tuoi|Lei|Su[oae])\b",
    "pt": r"\w{2}[aei]ste\b|\b(?:tu|teus?|tuas?|você|seus?|suas?)\b", "pl": r"\w{2}ł[ea]ś\b|\b(?:ty|tw[oó]j\w*|pana?i?)\b",
    "ru": r"\b(?:ты|вы|вас|вам|вами|тебя|тебе|ваш\w*|тво\w*)\b", "zh": r"你|您|妳", "ja": r"あなた|貴方|貴女|君", "ko": r"당신|너",
}  # fmt: skip
_AGREE = [  # what putting "you" for a name does to the verb in front of it
    (r"\bis you\b", "are you"), (r"\bwas you\b", "were you"), (r"\bdoes you\b", "do you"), (r"\bhas you\b", "have you"),
    (r"\byou is\b", "you are"), (r"\byou was\b", "you were"), (r"\byou has\b", "you have"), (r"\byou does\b", "you do"),
]  # fmt: skip
_EXCERPT = 4  # sentences: the best window and one on either side
_LATE = 4  # what late interaction counts for, beside a window and n-grams
_AHEAD = 0.2  # of the fused score, 0 to 1
_RARE = 0.15  # what a shared word that stands in one chunk only is worth, in cosine
LEXICAL = ("coverage", "matched", "known", "weight", "length")
_NEAR = (
    0.3  # cosine; 86 own questions shared one word and passed, all nearer than this (Tesla, Luther, Luke, the samples)
)
VECTOR = ("cosine", "window", "asked_cosine", "asked_window", "late", *LEXICAL)


class PageIndex:
    """One build's chunks with their n-grams, ready to be searched."""

    def __init__(self, title: str, language: str, chunks: Sequence[Chunk]) -> None:
        self.title, self.language, self.chunks = title, language, tuple(chunks)
        # by a chunk's id, its text as it is searched
        self.texts = dict(zip((chunk.id for chunk in chunks), searched_texts(chunks, language), strict=True))
        texts = [f"{' '.join(chunk.path)}\n{self.texts[chunk.id]}" for chunk in chunks]
        self.ngrams = NgramIndex(texts, language)
        self.name_words = frozenset(self.ngrams.words(title))

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


def with_name(question: str, title: str, language: str = "en") -> str:
    """The question with the persona's name for "you", which is how a page speaks of them."""
    base = base_language(language)
    if base not in _YOU:
        return question
    name = re.escape(title).replace("\\ ", " ")
    owned = f"{title}’s" if base == "en" else title
    text = re.sub(rf"\b(?:{_YOURS[base]})\b", lambda _: owned.replace("’", "'"), question, flags=_case(base))
    text = re.sub(rf"\b(?:{_YOU[base]})\b", lambda _: title, text, flags=_case(base))
    return re.sub(rf"({name})(?:[ ,]+\1\b)+", r"\1", text)


def with_you(question: str, title: str) -> str:
    """The question with "you" for the persona's name (English): how an interviewer speaks to them."""
    full = re.sub(r"\s*\([^)]*\)$", "", title)
    parts = [p for p in full.split() if len(p) > 2 and p[0].isupper()] if " " in full else []
    text = _put_you(question, full)
    for part in dict.fromkeys([*parts[-1:], *parts[:1]]):
        text = _put_you(text, part)
    for wrong, correct in _AGREE:
        text = re.sub(wrong, correct, text, flags=re.IGNORECASE)
    return text[:1].upper() + text[1:]


def _put_you(text: str, name: str) -> str:
    """Each mention of the name, but not where it is part of somebody else's: Pierre Curie."""

    def put(found: re.Match[str]) -> str:
        before, after = text[: found.start()], text[found.end() :]
        neighbor = re.search(r"([A-ZÀ-Þ][\w'’-]*)\s$", before)
        if (neighbor and content_words(neighbor[1], "en")) or re.match(r"\s[A-ZÀ-Þ]", after):
            return found.group()
        return "your" if found["owned"] else "you"

    return re.sub(rf"(?<![\w'’-]){re.escape(name)}(?P<owned>(?:['’]s|(?<=s)['’])(?!\w))?(?![-\w'’])", put, text)


def is_addressed(question: str, index: PageIndex) -> bool:
    """Whether the question is put to the persona, or names it."""
    base = base_language(index.language)
    if with_name(question, index.title, index.language) != question:
        return True
    other = _ADDRESSED.get(base)
    return bool(other and re.search(other, question)) or not index.name_words.isdisjoint(index.ngrams.words(question))


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
        cosine = windows.get(f"{chunk.id}:{number}", lowest)
        return cosine + _RARE * sum(index.ngrams.rarity(word) for word in held)

    best = max(range(len(parts) - 1), key=worth)
    return " ".join(parts[max(best - 1, 0) : max(best - 1, 0) + _EXCERPT])


def rank_by_ngrams(index: PageIndex, question: str) -> list[Candidate]:
    """The chunks that share the question's rarest words, best first; those that share none are left out."""
    ngrams = index.ngrams.scores(question, without=index.name_words)
    order = [i for i in np.argsort(-ngrams, kind="stable") if ngrams[i] > 0]
    shares = _share(ngrams)
    return [Candidate(index.chunks[i], float(shares[i]), first_by_ngrams=n == 0) for n, i in enumerate(order)]


def features(index: PageIndex, question: str, signals: Signals) -> dict[str, float]:
    """What the gate looks at. The persona's own name counts for nothing among the words.

    "ties" are the words shared with the best chunk, and one more if these are all and the persona is asked for them, or
    if the only one is a name.
    """
    words = [w for w in index.ngrams.words(question) if w not in index.name_words]
    rarity = {w: index.ngrams.rarity(w) for w in words}
    total = sum(rarity.values()) or 1.0
    hits = [[w for w in words if index.ngrams.holds(i, w)] for i in range(len(index.chunks))]
    best = max(hits, key=lambda found: sum(rarity[w] for w in found), default=[])
    weight = sum(rarity[w] for w in best)
    whole = len(best) == len(words) and is_addressed(question, index)
    named = len(best) == 1 and best[0] in _names(index, question)
    return {
        "ties": len(best) + float(whole or named),
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
    """The question's words that are written with a capital within it; German writes all nouns so."""
    if base_language(index.language) == "de":
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
        your father?"
        """
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


@lru_cache(maxsize=8)
def _case(base: str) -> re.RegexFlag:
    """German tells "Sie" from "sie" by its capital."""
    return re.NOFLAG if base == "de" else re.IGNORECASE


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
