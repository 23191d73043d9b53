"""What a model's reply means: objects, scores, choices, and answers that are none."""

import json
import re
from itertools import pairwise

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from persona.replies import AnswerStream, choice, is_not_found, json_object, score


@pytest.mark.parametrize(
    "text",
    [
        '{"section": 3}',
        '```json\n{"section": 3}\n```',
        'Sure! Here you are: {"section": 3} — anything else?',
        '{not json} {"section": 3}',
        '{"section": 3',
        'nothing {{ at all }}\n{"section": 3}',
    ],
)
def test_the_first_object_is_found_whatever_stands_around_it(text):
    whole = text.count("{") == text.count("}")
    assert json_object(text) == ({"section": 3} if whole else None)


@pytest.mark.parametrize("text", ["", "prose only", "[1, 2]", "7", '"a"', "null", "{" * 5000])
def test_what_holds_no_object_is_none(text):
    assert json_object(text) is None


@pytest.mark.parametrize(
    ("given_", "meant"),
    [
        ("8/10", 8), ("Score: 7", 7), ("**6**", 6), ("10.", 10), ("", None), ("None", None), ("0-10", None),
        (7, 7), (7.0, 7), ("7.0", 7), ("seven", 7), ("Seven", 7), ("8 out of 10", 8), ("0", 0), ("10", 10), ("10/10", 10),
        ("11", None), ("-3", None), ("100", None), ("3 or 4", None), (None, None), (True, None), (False, None),
        ([8], 8), ({"score": 8}, 8), ("about 5 – 6", None), ("eleven", None), ("8/10 (eight)", 8), ("N/A", None),
        ("often", None), ("1e9", None), ("９", 9),
    ],
)  # fmt: skip
def test_scores_are_read_in_all_spellings_and_never_guessed(given_, meant):
    assert score(given_) == meant


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ('{"section": 3}', 3), ('{"section": "3"}', 3), ("3", 3), ("Section 3.", 3), ("3. Early life", 3), ("0", 0),
        ('{"section": 0}', 0), ('{"section": 9}', None), ("", None), ("none", None), ("3 or 4", None),
        ('{"section": true}', None), ('{"section": null}', None), ("99999999999999999999", None), ("-1", None),
        ('{"section": -1}', None), ('{"section": 2.5}', None), ('{"section": [1, 2]}', None), ("{}", None),
    ],
)  # fmt: skip
def test_a_choice_is_a_number_of_the_list_or_nothing(text, meant):
    assert choice(text, 5) == meant


SPELLINGS = [
    "NOT FOUND", "NOT FOUND.", "'NOT FOUND'", '"NOT FOUND"', "**NOT FOUND**", "not found", "Not found.", "NOT_FOUND", "NOT-FOUND", "0NOT FOUND", "NOT FOUNDed",
    "NOTFOUND", "Answer: NOT FOUND", "answer: not found", "I'm sorry, NOT FOUND in the context", "Sorry — NOT FOUND!",
    "The passages do not mention it. NOT FOUND", "  \nNOT FOUND\n", "“NOT FOUND”", "> NOT FOUND", "- NOT FOUND", "...", "", " ",
    "**", "NOT FOUND (the passages speak of the ship only)", "The passages do not say how tall I am.",
    "The text doesn't mention that.", "I don't have information about that.", "I do not know.",
    "There is no information about my height.", "My height is not mentioned in the passages.", "NOT  FOUND", "NOT\nFOUND",
    "Not Found", "not-found", "I cannot answer that question.",
]  # fmt: skip


@pytest.mark.parametrize("text", SPELLINGS)
def test_every_spelling_of_not_found_is_known(text):
    assert is_not_found(text)


ANSWERS = [
    "My father was Anakin Skywalker.",
    "I was born on Polis Massa.",
    "Yes.",
    "1856",
    "I found the droids not far from the farm.",
    "The lost ship was not found until the spring, I am told.",
    "I never found out who he was.",
    "I was not given a name at first; my aunt chose one. The text of my letter does not mention her.",
    "Ich bin in Lübeck geboren.",
    "我生于宁波。",
    "I did not know my father. He had left.",
]


@pytest.mark.parametrize("text", ANSWERS)
def test_an_answer_is_not_taken_for_not_found(text):
    assert not is_not_found(text)
    assert let_through([text]) == (True, text)


def let_through(pieces: list[str]) -> tuple[bool, str]:
    stream = AnswerStream(pieces)
    shown = "".join(stream)
    assert shown == stream.text
    return stream.found, shown


def cut(text: str, places: list[int]) -> list[str]:
    edges = [0, *sorted({place % (len(text) + 1) for place in places}), len(text)]
    return [text[a:b] for a, b in pairwise(edges)]


CUTS = st.lists(st.integers(0, 500), max_size=12)


@pytest.mark.parametrize("text", SPELLINGS)
def test_nothing_of_a_not_found_reply_is_let_through_letter_by_letter(text):
    assert let_through(list(text)) == (False, "")


@settings(max_examples=150, deadline=None)
@given(st.sampled_from(SPELLINGS), CUTS)
def test_nothing_of_a_not_found_reply_is_let_through_however_it_is_cut(text, places):
    assert let_through(cut(text, places)) == (False, "")


LONG = (
    "I grew up on the farm of my uncle Owen and my aunt Beru, who never told me the truth about my father. "
    "It was only much later, in the city in the clouds, that I heard it from himself. I lost my hand on that day."
)


@settings(max_examples=100, deadline=None)
@given(st.sampled_from([*ANSWERS, LONG]), CUTS)
def test_an_answer_comes_through_whole_however_it_is_cut(text, places):
    assert let_through(cut(text, places)) == (True, text)


@settings(max_examples=100, deadline=None)
@given(CUTS)
def test_what_was_said_before_a_late_not_found_stands_and_no_letter_of_it_is_shown(places):
    found, shown = let_through(cut(f"{LONG}\nNOT FOUND. The passages end here.", places))
    assert found
    assert shown == LONG


@settings(max_examples=200, deadline=None)
@given(st.text(alphabet="NOT FUDnotfud_-.!?'\n I was here and gone 。", max_size=220), CUTS)
@example("NOT" + " " * 100 + "FOUND", [3, 50])
def test_the_mark_is_never_shown_whatever_comes(text, places):
    found, shown = let_through(cut(text, places))
    assert not re.search(r"\bNOT[\s_-]?FOUND\b", shown)
    assert bool(shown) <= found
    assert let_through([text]) == (found, shown)


@settings(max_examples=100, deadline=None)
@given(st.text(max_size=300), CUTS)
def test_any_cut_gives_the_same_verdict_and_text(text, places):
    assert let_through(cut(text, places)) == let_through([text])


def test_an_answer_streams_before_it_is_complete():
    stream = iter(AnswerStream(LONG[i : i + 4] for i in range(0, len(LONG), 4)))
    assert LONG.startswith(next(stream))
    assert len(list(stream)) > 10


def test_a_stream_that_is_closed_keeps_what_was_shown():
    stream = AnswerStream(LONG[i : i + 4] for i in range(0, len(LONG), 4))
    pieces = iter(stream)
    shown = next(pieces) + next(pieces)
    pieces.close()
    assert stream.text == shown
    assert LONG.startswith(stream.reply)


def test_blanks_around_an_answer_are_not_shown():
    assert let_through(["  \n", " Yes, I ", "did. \n", " "]) == (True, "Yes, I did.")


JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=5,
)


@settings(max_examples=100, deadline=None)
@given(st.one_of(st.text(), JSON))
def test_no_reply_breaks_a_reader(value):
    assert score(value) in {None, *range(11)}
    text = value if isinstance(value, str) else json.dumps(value)
    assert choice(text, 5) in {None, *range(6)}
    assert json_object(text) is None or isinstance(json_object(text), dict)
    assert is_not_found(text) in {True, False}
