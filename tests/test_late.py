"""Comparing a question and passages piece by piece, with an embedder of words and with the real one."""

import math
import re
from collections.abc import Sequence

import numpy as np
import pytest

from persona.dates import searched_texts
from persona.late import LateInteraction
from persona.ngrams import Scores
from persona.ports import Pieces, TokenEmbedder
from persona.records import INTRODUCTION, Chunk
from persona.retrieval import Candidate, PageIndex, rerank

TEXTS = [
    "Ada Rook kept a lighthouse.",
    "The keeper sold her boat in May.",
    "A storm broke the lamp.",
    "The lamp was lit again.",
]


class Words:
    """Each word has a direction of its own; nothing else is alike."""

    def __init__(self) -> None:
        self.seen: list[str] = []
        self.asked: list[str] = []

    def tokens(self, text: str) -> list[str]:
        return re.findall(r"\w+", text.lower())

    def embed_tokens(self, texts: Sequence[str]) -> list[Pieces]:
        return [self._pieces(text) for text in texts]

    def _pieces(self, text: str) -> Pieces:
        self.asked.append(text)
        words = self.tokens(text)
        self.seen += [word for word in words if word not in self.seen]
        vectors = np.array([np.eye(60)[self.seen.index(word)] for word in words], dtype=np.float32)
        return Pieces(words, vectors.reshape(-1, 60), np.eye(60, dtype=np.float32)[-1])


def chunks(*texts: str) -> list[Chunk]:
    return [Chunk(f"c{n}", n, ("Life",), text, "") for n, text in enumerate(texts)]


def index(*texts: str) -> PageIndex:
    return PageIndex("Ada Rook", "en", chunks(*texts))


def scores(embedder: TokenEmbedder, page: PageIndex, question: str, late: LateInteraction | None = None) -> Scores:
    late = late or LateInteraction(embedder)
    return late.scores(page, *late.read([question]), page.chunks)


def test_a_rare_piece_weighs_more_than_one_that_all_share():
    page = index(*TEXTS)
    found = scores(Words(), page, "What did the storm do?")
    assert found.argmax() == 2
    assert found[2] > found[3] > found[0]


def test_the_name_counts_for_nothing():
    page = index(*TEXTS)
    assert scores(Words(), page, "Ada Rook?").tolist() == [0, 0, 0, 0]


def test_pieces_far_apart_are_no_match():
    filler = " ".join(f"w{n}" for n in range(40))
    page = index(f"storm {filler} {filler} lamp", f"{filler} storm lamp {filler}")
    found = scores(Words(), page, "storm lamp")
    assert found[1] > found[0]


def test_a_passage_is_embedded_once():
    page, words = index(*TEXTS), Words()
    late = LateInteraction(words)
    for question in ("storm", "boat"):
        scores(words, page, question, late)
    assert all(words.asked.count(text) == 1 for text in TEXTS)


def test_the_candidates_that_were_judged_come_first_and_the_rest_stay():
    found = [Candidate(chunk, 0.9 - n / 10, window=0.5, ngrams=0.0) for n, chunk in enumerate(chunks("a", "b", "c"))]
    assert [c.chunk.text for c in rerank(found, np.array([0.1, 0.8]))] == ["b", "a", "c"]
    assert rerank(found, np.zeros(0)) == found


def test_minilm_shows_its_pieces(minilm):
    assert isinstance(minilm, TokenEmbedder)
    texts = ["The lighthouse keeper", "word " * 400, ""]
    for text, pieces in zip(texts, minilm.embed_tokens(texts), strict=True):
        assert pieces.names == minilm.tokens(text)
        assert pieces.vectors.shape == (len(pieces.names), 384)
        assert np.allclose(np.linalg.norm(pieces.vectors, axis=1), 1, atol=1e-5)
        assert np.allclose(pieces.whole, minilm.embed([text])[0], atol=1e-3)
    assert len(minilm.tokens("word " * 400)) == 254


def test_a_paraphrase_is_found_by_its_pieces(minilm):
    page = index(*TEXTS, "She had a crew of four sailors aboard.")
    assert scores(minilm, page, "How many seamen did Ada Rook employ?").argmax() == 4


def plainly(embedder: TokenEmbedder, page: PageIndex, question: str) -> list[float]:
    """The same by its definition, a stretch, a passage and a piece after the other."""
    (asked,) = embedder.embed_tokens([question])
    held = [set(embedder.tokens(chunk.text)) for chunk in page.chunks]

    def rarity(piece: str) -> float:
        count = sum(piece in pieces for pieces in held)
        return math.log(1 + (len(held) - count + 0.5) / (count + 0.5))

    weights = [0 if piece in embedder.tokens(page.title) else rarity(piece) for piece in asked.names]

    def nearness(vectors: np.ndarray) -> float:
        stretches = [vectors[start : start + 64] for start in range(0, len(vectors), 16)]
        nearest = [[max(float(piece @ other) for other in stretch) for piece in asked.vectors] for stretch in stretches]
        return max(float(np.dot(weights, near)) for near in nearest) / sum(weights)

    return [nearness(embedder.embed_tokens([chunk.text])[0].vectors) for chunk in page.chunks]


def test_the_scores_are_those_of_a_plain_implementation(minilm):
    lengths = (1, 3, 63, 64, 65, 80, 130, 400)
    page = index(*(" ".join((" ".join(TEXTS).split() * 40)[length : 2 * length]) for length in lengths), *TEXTS)
    for question in ("Who bought the boat of Ada Rook in spring?", "lamp"):
        assert scores(minilm, page, question).tolist() == pytest.approx(plainly(minilm, page, question), abs=1e-3)


def test_a_passage_without_a_piece_is_compared_too(minilm):
    page = index(*TEXTS, "\u200b")
    assert len(minilm.tokens("\u200b")) == 0
    assert scores(minilm, page, "Who kept a lighthouse?").argmax() == 0


def lead(text: str) -> Chunk:
    return Chunk("c", 0, (INTRODUCTION,), text, "")


def searched(chunk: Chunk, language: str) -> str:
    """As the only chunk of its page."""
    return searched_texts([chunk], language)[0]


def test_life_dates_are_told_in_words():
    told = searched(lead("Ada Rook (Norse: Áda; 1 May 1850 – 2 June 1900) kept a lighthouse."), "en")
    assert told == "Ada Rook (Norse: Áda; born 1 May 1850, died 2 June 1900) kept a lighthouse."
    assert "born May 1, 1850, died June 2, 1900)" in searched(lead("X (May 1, 1850 – June 2, 1900) was"), "en")
    assert "born 384, died 322 BC)" in searched(lead("X (384–322 BC) was"), "en")
    assert searched(lead("X (* 1. Mai 1850 in Kiel; † 2. Juni 1900) war"), "de").startswith(
        "X (geboren 1. Mai 1850 in Kiel; gestorben 2. Juni 1900)"
    )


def test_other_dates_stay_as_they_are():
    text = "X ruled (1850–1900)."
    assert searched(Chunk("c", 3, ("Reign",), text, ""), "en") == text
    assert searched(lead("X (born 3 May 1950) sings."), "en") == "X (born 3 May 1950) sings."
    assert searched(lead(text), "zh") == text
    living = "X (born 3 May 1950) sat in the Senate (1997–2004)."
    assert searched(lead(living), "en") == living
    assert searched(Chunk("c", 1, (INTRODUCTION,), text, ""), "en") == text


def in_section(name: str, text: str) -> Chunk:
    return Chunk(text, 0, (name,), text, "")


def test_a_year_that_is_only_pointed_at_is_named():
    chunks = [
        in_section("Work", "In 1851 she lit it. In 1853 it burned."),
        in_section("Work", "That same year she rebuilt it. In 1860 it fell; during that year she left."),
        in_section("Later", "That year is not told."),
        in_section("Later", "She came back in 1870. In the same year she wed."),
    ]
    assert searched_texts(chunks, "en") == [
        chunks[0].text,
        "That same year (1853) she rebuilt it. In 1860 it fell; during that year she left.",
        chunks[2].text,
        chunks[3].text,
    ]
    german = [in_section("Werk", "1851 zog sie um."), in_section("Werk", "Im selben Jahr baute sie.")]
    assert searched_texts(german, "de")[1] == "Im selben Jahr (1851) baute sie."
    assert searched_texts(german, "fr") == [chunk.text for chunk in german]
