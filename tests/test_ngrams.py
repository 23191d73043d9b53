"""The inverted index of 1–3-grams."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from persona.ngrams import NgramIndex

SHIP = "The Millennium Falcon was a freighter. She was fast."
PLANET = "Tatooine is a desert planet with two suns."
DROID = "R2-D2 was a droid of José, as fast as any freighter."


@pytest.fixture(scope="module")
def index() -> NgramIndex:
    return NgramIndex([SHIP, PLANET, DROID], "en")


def best(index: NgramIndex, question: str) -> int | None:
    scores = index.scores(question)
    return int(scores.argmax()) if scores.any() else None


def test_the_chunk_with_the_rare_words_is_first(index):
    assert best(index, "Where is the desert planet?") == 1


def test_a_misspelt_word_still_gets_there(index):
    assert best(index, "What is Millenium Falcon?") == 0
    assert index.words("What is Millenium Falcon?") == ["millennium", "falcon"]


def test_a_short_or_wholly_unknown_word_is_left_as_it_is(index):
    assert index.words("sans zeppelin") == ["san", "zeppelin"]
    assert best(index, "zeppelin") is None


@pytest.mark.parametrize("asked", ["R2-D2", "r2d2", "R2 D2", "r2-d2"])
@pytest.mark.parametrize("written", ["R2-D2", "R2D2", "r2 d2"])
def test_hyphens_and_case_make_no_difference(written, asked):
    index = NgramIndex([SHIP, PLANET, DROID.replace("R2-D2", written)], "en")
    assert best(index, f"Who is {asked}?") == 2


@pytest.mark.parametrize("written", ["José", "Jose", "JOSÉ", "jose's"])
def test_accents_make_no_difference(index, written):
    assert best(index, f"Who is {written}?") == 2


@pytest.mark.parametrize("question", ["What is your name?", "Who is Bill?"])
def test_ordinary_stop_words_of_others_are_found_here(question):
    assert best(NgramIndex(["A desert.", "My name is Bill."], "en"), question) == 1


def test_a_run_of_words_counts_for_more_than_the_same_words_apart():
    index = NgramIndex(["green tea and a long house", "green house and a long tea"], "en")
    assert best(index, "a green house") == 1


def test_words_left_out_count_for_nothing(index):
    assert index.scores("Falcon", without=["falcon"]).tolist() == [0, 0, 0]
    assert index.scores("fast Falcon", without=["falcon"])[1] == 0
    assert index.scores("fast Falcon", without=["falcon"])[2] > 0


@pytest.mark.parametrize("texts", [[], [""], ["", ""], ["the and of"], ["..."]])
def test_a_page_without_words_gives_an_empty_index(texts):
    index = NgramIndex(texts, "en")
    assert index.scores("Who are you, Bill?").tolist() == [0.0] * len(texts)
    assert index.words("Who is Bill?") == ["bill"]
    assert not index.knows("bill")
    assert index.rarity("bill") == 1.0


def test_a_question_without_words_scores_nothing(index):
    assert index.scores("").tolist() == index.scores("Who were you?").tolist() == [0, 0, 0]


def test_a_chinese_question_gives_character_ngrams():
    index = NgramIndex(["他在船上种豆芽。", "船主林阿福是泉州人。", "学生带一条鱼来。"], "zh")
    assert index.words("林阿福是谁？") == ["林阿", "阿福"]
    assert best(index, "林阿福是谁？") == 1
    assert best(index, "豆芽种在哪里？") == 0


def test_a_japanese_question_gives_character_ngrams():
    index = NgramIndex(["時計職人の娘だった。", "気球で海を渡った。"], "ja")
    assert best(index, "気球はどこですか？") == 1


def test_rarity_falls_with_the_number_of_chunks():
    index = NgramIndex(["ox one", "ox two", "ox three", "elk four"], "en")
    assert index.rarity("elk") == pytest.approx(1.0)
    assert 0 < index.rarity("ox") < 0.5
    assert index.rarity("unknown") == 1.0


def test_which_chunk_holds_a_word_is_known(index):
    assert [index.holds(i, "fast") for i in range(3)] == [True, False, True]


def test_a_german_compound_counts_with_its_parts():
    index = NgramIndex(["Der Uhrmacher lernte Latein.", "Die Fahrt im Ballon.", "Ein Leuchtturm."], "de")
    assert "uhrmach" in index.words("Wo haben Sie das Uhrmacherhandwerk gelernt?")
    assert index.words("Ihre Ballonfahrt?") == ["ballon", "fahrt"]
    assert best(index, "Ihre Ballonfahrten?") == 1


def test_a_compound_that_the_page_knows_stays_and_has_its_parts_beside_it():
    index = NgramIndex(["Ballonfahrt mit Ballon.", "Eine Fahrt.", "Ein Turm."], "de")
    assert index.words("Ballonfahrten") == ["ballonfahrt", "ballon", "fahrt"]


def test_english_words_are_not_taken_apart(index):
    assert NgramIndex(["a fire and a fly", "b"], "en").words("firefly") == ["firefli"]


@pytest.mark.parametrize(("page", "asked"), [("Er lernte viel.", "gelernt"), ("Er hat gelernt.", "lernte")])
def test_a_german_participle_is_its_verb(page, asked):
    assert best(NgramIndex(["Ein Turm.", page], "de"), asked) == 1


def test_without_a_list_of_function_words_those_of_the_page_are_found():
    texts = [f"eta {word} da" for word in ("mendi", "itsas", "ibai", "zubi", "etxe")]
    index = NgramIndex(texts, "eu")
    assert index.words("eta mendi da") == ["mendi"]
    assert best(index, "eta zubi da") == 3


def test_a_short_page_keeps_all_its_words():
    assert NgramIndex(["eta mendi", "eta ibai"], "eu").words("eta mendi") == ["eta", "mendi"]


@settings(max_examples=40, deadline=None)
@given(st.lists(st.text(max_size=60), max_size=5), st.text(max_size=60), st.sampled_from(["en", "de", "zh", "xx"]))
def test_no_page_and_no_question_breaks_it(texts, question, language):
    index = NgramIndex(texts, language)
    scores = index.scores(question)
    assert scores.shape == (len(texts),)
    assert scores.dtype == np.float32
    assert np.isfinite(scores).all()
    assert all(0 <= index.rarity(word) <= 1 for word in index.words(question))
