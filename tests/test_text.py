"""Words, sentences and harmless text, in several languages."""

import sys
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from persona.text import (
    base_language,
    content_words,
    fold,
    harmless,
    has_function_words,
    is_foreign,
    sentences,
    unaccented,
    windows,
)


def test_a_name_and_a_bill_are_words_and_not_stop_words():
    assert content_words("What is your name?", "en") == ["name"]
    assert content_words("Who is Bill?", "en") == ["bill"]
    assert content_words("Who called the fire a mine of interest to the system?", "en") == [
        "call", "fire", "interest", "system",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("Who were you, and what did you do with it?", "en"),
        ("Wer waren Sie, und was haben Sie damit getan?", "de"),
        ("Qui êtes-vous ?", "fr"),
        ("¿Quién eres tú y por qué?", "es"),
        ("你是谁？", "zh"),
        ("Chi sei?", "it"),
    ],
)
def test_a_question_of_function_words_has_no_words(text, language):
    assert content_words(text, language) == []


@pytest.mark.parametrize(
    ("one", "other"), [("José", "jose"), ("Müller", "muller"), ("ÉCOLE", "école"), ("Łódź", "łodz")]
)
def test_accents_and_case_do_not_part_words(one, other):
    assert content_words(one, "en") == content_words(other, "en") != []


def test_hyphens_do_not_part_words():
    assert content_words("R2D2", "en") == content_words("R2-D2", "en") == ["r2", "d2", "r2d2"]
    assert content_words("R2 D2", "en") == ["r2", "d2"]
    assert content_words("1990s U2 3D", "en") == ["1990s", "u2", "3d"]
    assert set(content_words("Obi Wan", "en")) <= set(content_words("Obi-Wan", "en"))


def test_possessives_are_the_word_itself():
    assert content_words("Luke's father", "en") == content_words("Luke father", "en")
    assert content_words("Luke’s father", "en") == content_words("Luke father", "en")


@pytest.mark.parametrize(
    "question", ["Why didn't you?", "Why didn’t you?", "why didnt you", "Why aren’t you?", "He’ll do"]
)
def test_a_function_word_is_one_with_any_apostrophe_or_none(question):
    assert content_words(question, "en") == []


def test_inflected_words_share_their_stem():
    assert content_words("learned learning learns", "en") == ["learn"] * 3
    assert content_words("Uhrmacher Uhrmachers", "de") == ["uhrmach"] * 2


@pytest.mark.parametrize(
    ("base", "forms"),
    [("keep", "kept"), ("write", "wrote written"), ("build", "built"), ("eat", "ate"), ("teach", "taught")],
)
def test_irregular_verbs_are_brought_to_their_stem(base, forms):
    assert set(content_words(forms, "en")) == set(content_words(base, "en"))


def test_threads_that_stem_at_once_do_not_mix_their_words_up():
    words = [
        f"{start}{middle}{end}"
        for start in "bcdfgl"
        for middle in ("aration", "ulat", "ovis")
        for end in ("ing", "ness", "es")
    ]
    alone = {word: fold.__wrapped__(word, "en") for word in words}

    def stemmed(_: int) -> dict[str, str]:
        return {word: fold.__wrapped__(word, "en") for word in words}

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(4) as pool:
            assert all(found == alone for found in pool.map(stemmed, range(20)))
    finally:
        sys.setswitchinterval(interval)


def test_a_wound_is_not_the_wind():
    assert content_words("wound", "en") == content_words("wounds", "en")


def test_french_articles_are_no_part_of_a_word():
    assert content_words("l'horloge", "fr") == content_words("horloge", "fr")


def test_chinese_gives_pairs_of_characters_and_no_pair_across_a_function_word():
    assert content_words("天空是蓝色的", "zh") == ["天空", "蓝色"]
    assert content_words("海盗船", "zh") == ["海盗", "盗船"]
    assert content_words("父", "zh") == ["父"]


def test_japanese_and_korean_give_pairs_too():
    assert content_words("時計職人", "ja") == ["時計", "計職", "職人"]
    assert content_words("서울 대학교", "ko") == ["서울", "대학", "학교"]


def test_chinese_and_latin_words_stand_side_by_side():
    assert content_words("乘坐Titanic号", "zh") == ["乘坐", "titanic", "号"]


@pytest.mark.parametrize(
    ("code", "base"), [("en", "en"), ("de-at", "de"), ("simple", "en"), ("zh-min-nan", "zh"), ("del", "del")]
)
def test_a_code_is_known_by_its_base(code, base):
    assert base_language(code) == base


def test_which_languages_have_function_words_is_told():
    assert has_function_words("de")
    assert has_function_words("de-at")
    assert has_function_words("simple")
    assert not has_function_words("eu")


def test_a_single_latin_letter_is_no_word_but_a_digit_is():
    assert fold("x", "en") == ""
    assert fold("7", "en") == "7"


def test_unaccented_keeps_letters_of_all_scripts():
    assert unaccented("Ægir Ñandú 林淑如 Ω") == "ægir nandu 林淑如 ω"


def test_abbreviations_do_not_end_a_sentence():
    assert sentences("Dr. Smith came at 5 p.m. on Monday. He left soon.", "en") == [
        "Dr. Smith came at 5 p.m. on Monday.",
        "He left soon.",
    ]


def test_a_line_ends_a_sentence_and_blank_lines_are_none():
    assert sentences("One\n\n  Two. Three. \n", "en") == ["One", "Two.", "Three."]


def test_chinese_sentences_end_at_their_own_full_stop():
    assert sentences("他来了。她走了。", "zh") == ["他来了。", "她走了。"]


def test_windows_are_runs_of_neighbors():
    assert windows(["a", "b", "c"]) == ["a b", "b c"]
    assert windows(["a", "b"]) == ["a b"]
    assert windows(["a"]) == ["a"]


@pytest.mark.parametrize(
    "mark",
    [
        "<|im_start|>system", "<|im_end|>", "<|endoftext|>", "<start_of_turn>", "</s>", "<s>", "<bos>", "<think>", "</think>",
        "<|eot_id|>", "<tool_call>", "<｜User｜>", "[INST]", "[/INST]", "<<SYS>>", "<|", "<unk>", "<pad>",
    ],
)  # fmt: skip
def test_marks_of_chat_templates_are_taken_apart(mark):
    made = harmless(f"before {mark} after")
    assert mark not in made
    assert made.startswith("before ")
    assert made.endswith(" after")


@pytest.mark.parametrize(
    "text", ["a < b", "x<y", "<b>bold</b>", "I <3 you", "[1] and [citation needed]", "tab\tand\nline"]
)
def test_ordinary_text_stays_as_it_is(text):
    assert harmless(text) == text


def test_control_characters_and_lone_surrogates_are_taken_out():
    assert harmless("a\x1b[31mb\x00c\ud800d\r") == "a[31mbcd"


@settings(max_examples=50, deadline=None)
@given(st.text())
def test_no_text_breaks_anything(text):
    for language in ("en", "de", "fr", "zh", "ja", "xx"):
        assert all(content_words(text, language))
        assert all(part.strip() == part != "" for part in sentences(text, language))
    made = harmless(text)
    made.encode()
    assert harmless(made) == made


@pytest.mark.parametrize(
    ("text", "language", "foreign"),
    [
        ("Wer ist dein Vater?", "en", True),
        ("Quand êtes-vous né ?", "en-gb", True),
        ("你父亲是谁？", "en", True),
        ("Who is your father?", "de", True),
        ("Was tragen Sie an den Füßen?", "en", True),
        ("Was will die Armee?", "en", False),
        ("Was he a man of war in all?", "en", False),
        ("who's ur sister", "en", False),
        ("Yoda? R2-D2? Why?", "en", False),
        ("Wer ist dein Vater?", "eu", False),
    ],
)
def test_a_question_in_another_language_is_known_by_its_function_words(text, language, foreign):
    assert is_foreign(text, language) is foreign
