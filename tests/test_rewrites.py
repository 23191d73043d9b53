"""Which rewrites of a question are taken, and which are thrown away."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from persona.cases import Case, read_cases
from persona.rewrites import check_rewrite

TITLE = "Luke Skywalker"
SEEN = """1. Interviewer: Who cut off your hand?
   Luke Skywalker: Darth Vader did, in our duel on Cloud City in 3 ABY."""


def check(rewrite: object, asked: str = "Did your hand heal?") -> str | None:
    return check_rewrite(rewrite, asked, SEEN, TITLE)


@pytest.mark.parametrize(
    ("asked", "rewrite"),
    [
        ("Did your hand heal?", "Did Luke Skywalker's hand, cut off by Darth Vader in the duel on Cloud City, heal?"),
        ("Did your hand heal?", "Did Luke Skywalker’s hand heal?"),
        ("What did he do?", "What did Darth Vader do?"),
        ("And your mother?", "Who was Luke Skywalker's mother?"),
        ("tell me more about it", "Tell me more about Luke Skywalker's duel with Darth Vader on Cloud City"),
        ("Why?", "Why did Darth Vader cut off Luke Skywalker's hand?"),
        ("Who is R2-D2?", "Who is R2-D2?"),
        ("And who else was there?", "Who else was at the duel on Cloud City?"),
        ("Were you 19?", "Was Luke Skywalker 19?"),
        ("how old were you then", "How old was Luke Skywalker in the duel of 3 ABY?"),
        ("And the last one?", "Where was the duel on Cloud City?"),
    ],
)
def test_a_question_made_to_stand_alone_is_taken(asked, rewrite):
    assert check(rewrite, asked) == rewrite


@pytest.mark.parametrize("nothing", [None, "", "   ", "\n", 7, [], {}, ["Did it heal?"], True])
def test_what_is_no_text_is_thrown_away(nothing):
    assert check(nothing) is None


@pytest.mark.parametrize(
    "answer",
    ["Yes, my hand healed.", "It was replaced by a bio-mechanical hand.", "I don't know about my hand", "NOT FOUND"],
)
def test_an_answer_instead_of_a_question_is_thrown_away(answer):
    assert check(answer) is None
    assert check(answer, "did your hand heal") is None


def test_several_lines_are_thrown_away():
    assert check("Did Luke Skywalker's hand heal?\nOr did his foot?") is None
    assert check("Did Luke Skywalker's hand heal?\u2028Or his foot?") is None


def test_what_is_far_too_long_is_thrown_away():
    assert check("Did Luke Skywalker's hand heal " + "and did the hand heal " * 20 + "?") is None


@pytest.mark.parametrize(
    "invented",
    [
        "Did Luke Skywalker's hand heal on Tatooine?",
        "Did the hand of Mara Jade heal?",
        "Did Luke Skywalker's hand heal in 7 ABY?",
        "Did Luke Skywalker's hand heal in 1977?",
        "Did Luke Skywalker's 2 hands heal?",
    ],
)
def test_invented_names_and_numbers_are_thrown_away(invented):
    assert check(invented) is None


@pytest.mark.parametrize(
    ("asked", "lost"),
    [
        ("Did Yoda know of your hand?", "Did the teacher know of Luke Skywalker's hand?"),
        ("Was your hand lost in 1980?", "Was Luke Skywalker's hand lost?"),
    ],
)
def test_a_rewrite_that_loses_a_name_or_number_is_thrown_away(asked, lost):
    assert check(lost, asked) is None


@pytest.mark.parametrize("asked", ["Oh wow!", "Interesting.", "ok"])
def test_a_remark_becomes_no_question(asked):
    assert check("Did Luke Skywalker's hand heal?", asked) is None


@pytest.mark.parametrize("other", ["Who cut off Luke Skywalker's ear?", "What is the weather on Cloud City?"])
def test_a_rewrite_that_asks_for_something_else_is_thrown_away(other):
    assert check(other, "Was your father a smuggler?") is None


def test_a_question_in_chinese_is_taken():
    seen = "1. Interviewer: 你父亲是谁？\n   沈雁秋: 我的父亲是沈廷玉。"
    assert check_rewrite("沈廷玉做什么？", "他做什么？", seen, "沈雁秋") == "沈廷玉做什么？"


FILES = ("rewrites", "standalone")


@pytest.mark.parametrize("file", FILES)
def test_hardly_a_rewrite_by_a_human_is_thrown_away(file):
    cases = read_cases([Path(__file__).parent / "cases" / f"{file}.jsonl"])
    thrown = [case for case in cases if check_rewrite(case.rewrite, case.question, told(case), case.page) is None]
    # a human knows what was not said: "there" is China
    assert len(thrown) <= len(cases) // 20, [case.rewrite for case in thrown]


def told(case: Case) -> str:
    return "\n".join(f"{asked}\n{answer}" for asked, answer in case.exchanges)


@settings(max_examples=100, deadline=None)
@given(st.text(max_size=100), st.text(max_size=100), st.text(max_size=50))
def test_no_rewrite_breaks_the_check(value, asked, seen):
    assert check_rewrite(value, asked, seen, TITLE) in {None, value.strip()}


def test_what_is_put_after_a_name_of_the_question_is_taken_out_again():
    seen = "Lord Byron and Percy Shelley rowed on the lake."
    assert (
        check_rewrite("How did Percy, Lord Byron, drown?", "How did Percy drown?", seen, "Ada Rook")
        == "How did Percy drown?"
    )
    kept = "Did Ada Rook's arm, which Percy burned, heal?"
    assert check_rewrite(kept, "Did your arm heal?", seen + " burned", "Ada Rook") == kept


def test_what_the_question_points_at_may_be_named_instead():
    seen = "Ada Rook sang Low Tide in 1871."
    assert check_rewrite("How did Low Tide do in 1871?", "How did that song do?", seen, "Ada Rook")


def test_a_name_given_by_its_last_word_is_made_whole():
    seen = "Interviewer: Who taught you?\nTom Hale taught me, and so did Nils Ek. Did Tom Hale pay?"
    asked = "What did he teach?"
    assert check_rewrite("What did Hale teach?", asked, seen, "Ada Rook") == "What did Tom Hale teach?"
    assert check_rewrite("What did Hale's book teach?", asked, seen, "Ada Rook") == "What did Tom Hale's book teach?"
    assert check_rewrite("What did Tom Hale teach?", asked, seen, "Ada Rook") == "What did Tom Hale teach?"
    two = f"{seen} Ruth Hale sang."
    assert check_rewrite("What did Hale teach?", asked, two, "Ada Rook") == "What did Hale teach?"
    assert (
        check_rewrite("What did Hale teach her?", "What did Hale teach?", seen, "Ada Rook")
        == "What did Hale teach her?"
    )


@pytest.mark.parametrize(
    ("asked", "rewrite"),
    [
        ("Go on.", "What happened after Luke Skywalker's duel on Cloud City?"),
        ("Interesting, please continue", "What happened after Luke Skywalker's duel on Cloud City?"),
        ("No, I mean the other one", "Did Luke Skywalker's left hand heal?"),
        ("Oh. Thanks. And then?", "What happened after the duel on Cloud City?"),
        ("That hurts. Poor you. Did it heal?", "Did Luke Skywalker's hand heal?"),
        ("Vader was cruel! Did it heal?", "Did Luke Skywalker's hand heal?"),
        ("WHAT HAPPENED TO YOUR HAND LATER", "What happened to Luke Skywalker's hand after the duel?"),
    ],
)
def test_remarks_around_a_question_and_how_it_is_written_need_not_be_kept(asked, rewrite):
    assert check(rewrite, asked) == rewrite


@pytest.mark.parametrize(
    ("asked", "rewrite"),
    [
        ("Und wann haben Sie dort gelehrt?", "Wann hat Anna Blum in Genf gelehrt?"),
        ("Und Ihre Mutter?", "Wer war Anna Blums Mutter?"),
        ("Und dann?", "Was geschah nach Genf?"),
        ("Et ensuite ?", "Que s'est-il passé après Genf ?"),
        ("¿Y luego?", "¿Qué pasó después de Genf?"),
        ("然后呢？", "Genf以后发生了什么？"),
    ],
)
def test_a_question_in_another_language_is_taken(asked, rewrite):
    seen = "1. Interviewer: Wo haben Sie studiert?\n   Anna Blum: In Genf."
    assert check_rewrite(rewrite, asked, seen, "Anna Blum") == rewrite


@pytest.mark.parametrize(
    ("asked", "rewrite"),
    [
        ("Und Ihre Mutter?", "Wer war Anna Blums Bruder Krug?"),
        ("Und wann waren Sie in Genf?", "Wann war Anna Blum in der Schweiz?"),
    ],
)
def test_nor_does_another_language_lose_or_invent_a_name(asked, rewrite):
    seen = "1. Interviewer: Wo haben Sie studiert?\n   Anna Blum: In Genf."
    assert check_rewrite(rewrite, asked, seen, "Anna Blum") is None
