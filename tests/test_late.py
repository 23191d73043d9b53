"""Comparing a question and passages piece by piece, with an embedder of words and with the real one."""

import re

import numpy as np

from persona.dates import searched_texts
from persona.late import LateInteraction
from persona.ports import TokenEmbedder
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

    def embed_tokens(self, text: str) -> tuple[list[str], np.ndarray]:
        self.asked.append(text)
        words = self.tokens(text)
        self.seen += [word for word in words if word not in self.seen]
        return words, np.array([np.eye(60)[self.seen.index(word)] for word in words], dtype=np.float32)


def chunks(*texts: str) -> list[Chunk]:
    return [Chunk(f"c{n}", n, ("Life",), text, "") for n, text in enumerate(texts)]


def index(*texts: str) -> PageIndex:
    return PageIndex("Ada Rook", "en", chunks(*texts))


def test_a_rare_piece_weighs_more_than_one_that_all_share():
    page = index(*TEXTS)
    scores = LateInteraction(Words()).scores(page, "What did the storm do?", page.chunks)
    assert scores.argmax() == 2
    assert scores[2] > scores[3] > scores[0]


def test_the_name_counts_for_nothing():
    page = index(*TEXTS)
    assert LateInteraction(Words()).scores(page, "Ada Rook?", page.chunks).tolist() == [0, 0, 0, 0]


def test_pieces_far_apart_are_no_match():
    filler = " ".join(f"w{n}" for n in range(40))
    page = index(f"storm {filler} {filler} lamp", f"{filler} storm lamp {filler}")
    scores = LateInteraction(Words()).scores(page, "storm lamp", page.chunks)
    assert scores[1] > scores[0]


def test_a_passage_is_embedded_once():
    page, words = index(*TEXTS), Words()
    late = LateInteraction(words)
    late.scores(page, "storm", page.chunks)
    late.scores(page, "boat", page.chunks)
    assert all(words.asked.count(text) == 1 for text in TEXTS)


def test_the_candidates_that_were_judged_come_first_and_the_rest_stay():
    found = [Candidate(chunk, 0.9 - n / 10, window=0.5, ngrams=0.0) for n, chunk in enumerate(chunks("a", "b", "c"))]
    assert [c.chunk.text for c in rerank(found, np.array([0.1, 0.8]))] == ["b", "a", "c"]
    assert rerank(found, np.zeros(0)) == found


def test_minilm_shows_its_pieces(minilm):
    assert isinstance(minilm, TokenEmbedder)
    pieces, vectors = minilm.embed_tokens("The lighthouse keeper")
    assert pieces == minilm.tokens("The lighthouse keeper")
    assert vectors.shape == (len(pieces), 384)
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)
    assert len(minilm.tokens("word " * 400)) == len(minilm.embed_tokens("word " * 400)[0]) == 254


def test_a_paraphrase_is_found_by_its_pieces(minilm):
    page = index(*TEXTS, "She had a crew of four sailors aboard.")
    scores = LateInteraction(minilm).scores(page, "How many seamen did you employ?", page.chunks)
    assert scores.argmax() == 4


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
