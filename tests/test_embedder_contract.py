"""What every embedder must do: the real one, and the quick one that other tests use in its place."""

import numpy as np
import pytest

from persona.adapters.minilm import MiniLM
from persona.ports import Embedder
from tests.core import WordEmbedder

TEXTS = (
    "Ada Marsh mended the lamp in the night of the storm.",
    "",
    "🎉🎉🎉",
    "林淑如在台北长大。",
    "word " * 2000,
    "x" * 10_000,
    " \n\t ",
    "one",
)


@pytest.fixture(params=["minilm", "words"])
def embedder(request: pytest.FixtureRequest, minilm: MiniLM) -> Embedder:
    return minilm if request.param == "minilm" else WordEmbedder()


def test_each_text_has_a_vector_of_length_one(embedder):
    vectors = embedder.embed(TEXTS)
    assert vectors.shape == (len(TEXTS), embedder.dimension)
    assert vectors.dtype == np.float32
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(np.ones(len(TEXTS)), abs=1e-5)


def test_no_texts_have_no_vectors(embedder):
    assert embedder.embed([]).shape == (0, embedder.dimension)


def test_a_text_has_the_same_vector_in_any_company_and_order(embedder):
    together = embedder.embed(TEXTS)
    backward = embedder.embed(TEXTS[::-1])[::-1]
    alone = np.concatenate([embedder.embed([text]) for text in TEXTS])
    assert np.abs(together - backward).max() < 1e-3
    assert np.abs(together - alone).max() < 1e-3


def test_the_same_texts_twice_have_the_same_vectors(embedder):
    assert np.array_equal(embedder.embed(TEXTS[:4]), embedder.embed(TEXTS[:4]))


def test_like_texts_are_nearer_than_unlike_ones(embedder):
    one, like, other = embedder.embed(["The lamp was mended.", "The lamp was not mended.", "Bees eat sugar water."])
    assert one @ like > one @ other


def test_word_pieces_are_counted_beyond_what_is_seen(embedder):
    assert 0 <= embedder.count("") <= 2
    assert embedder.count("word " * 2000) >= 2000 > embedder.max_tokens
    assert embedder.count("one two three") == embedder.count("one") + 2


def test_its_name_and_languages_are_known_without_loading_it(embedder):
    assert embedder.name
    assert isinstance(embedder.languages, frozenset)
    assert embedder.max_tokens >= 128
