"""Answers that slipped out of the first person, put back into it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from persona.voice import (
    about_interviewer,
    as_known,
    asking_what_came_of_it,
    in_first_person,
    slipped,
    to_interviewer,
    turned,
)

TITLE = "Ada Marsh"


def spoken(answer: str, asked: str, piece: int = 3) -> str:
    return "".join(in_first_person([answer[i : i + piece] for i in range(0, len(answer), piece)], asked, TITLE))


@pytest.mark.parametrize(
    ("answer", "asked", "wanted"),
    [
        ("Your left hand was burned.", "What happened to your hand?", "My left hand was burned."),
        (
            "You were raised by your aunt. You left at ten.",
            "Who raised you?",
            "I was raised by my aunt. I left at ten.",
        ),
        ("Josiah Pike gave you the lens.", "Who gave you the lens?", "Josiah Pike gave me the lens."),
        ("Ada Marsh lives on the coast.", "Where do you live?", "I live on the coast."),
        ("Marsh's ship was the Heron.", "What was your ship?", "My ship was the Heron."),
        ("Tom Pike was Ada's teacher.", "Who was your teacher?", "Tom Pike was my teacher."),
        (
            "Her burned hand was replaced by a hook.",
            "What replaced your hand?",
            "My burned hand was replaced by a hook.",
        ),
        ("Lena Orth played Ada Marsh as a child.", "Who played you as a child?", "Lena Orth played me as a child."),
        ("She carries a lamp.", "What do you carry?", "I carry a lamp."),
        ("The hand was hurt. The nurse came.", "Did your hand heal?", "My hand was hurt. The nurse came."),
        ("She carries a lamp. He gave it.", "What do you carry?", "I carry a lamp. He gave it."),
        ("He carries a lamp. He lit it.", "What do you carry?", "I carry a lamp. I lit it."),
        (
            "After the storm, Marsh built a mill.",
            "What did you do after the storm?",
            "After the storm, I built a mill.",
        ),
        ("Tom Pike is Ada's butler.", "Who is Tom Pike?", "Tom Pike is my butler."),
        ("In May, Ada Marsh saw it burn.", "What came of the mill?", "In May, I saw it burn."),
        (
            "The lens was Tom Marsh's gift to Ada Marsh's crew.",
            "What was the lens?",
            "The lens was Tom Marsh's gift to my crew.",
        ),
    ],
)
def test_an_answer_about_you_or_the_persona_speaks_of_i_and_my(answer: str, asked: str, wanted: str):
    assert spoken(answer, asked) == wanted


@pytest.mark.parametrize(
    ("answer", "asked"),
    [
        ("I was raised by my aunt, who told me: your place is here.", "Who raised you?"),
        ("The Heron is a ship of two masts.", "What is the Heron?"),
        ("He died in 1801.", "When did your father die?"),
        ("His ship was lost.", "Did your father come back?"),
        ("She taught me to read.", "Who taught you to read?"),
        ("My father told you so.", "Who is your father?"),
        ("Tom Marsh built it.", "Who built your house?"),
        ("Tom Marsh's brother built it.", "Who built your house?"),
        ("Josiah Marsh's ship sank.", "What came of the ship?"),
        ("Ole Berg wrote Ada Marsh and the Mill.", "Who wrote the novel?"),
    ],
)
def test_an_answer_in_the_first_person_or_about_others_stays_as_it_is(answer: str, asked: str):
    assert spoken(answer, asked) == answer


@given(st.lists(st.sampled_from(["Your ", "hand ", "was ", "cut. ", "You ", "left. ", "It ", "hurt. "]), max_size=12))
def test_how_an_answer_is_cut_into_pieces_does_not_matter(words: list[str]):
    answer = "".join(words).strip()
    assert spoken(answer, "What about your hand?", 1) == spoken(answer, "What about your hand?", 1000)


@pytest.mark.parametrize(
    ("asked", "wanted"),
    [
        ("Do you remember my name?", "Do you remember the interviewer's name?"),
        ("What did I ask first?", "What did the interviewer ask first?"),
        ("Who am I?", "Who is the interviewer?"),
        ("who am i", "Who is the interviewer"),
        ("what did i ask first", "What did the interviewer ask first"),
        ("WHAT IS MY NAME?", "WHAT IS the interviewer's NAME?"),
    ],
)
def test_a_question_on_the_conversation_speaks_of_the_interviewer(asked: str, wanted: str):
    assert about_interviewer(asked) == wanted


def test_the_answer_to_it_speaks_to_the_interviewer():
    answer = "The interviewer's name is Tilda. The interviewer was sent by a paper, and asked the interviewer nothing."
    for piece in (1, 7, 500):
        pieces = [answer[i : i + piece] for i in range(0, len(answer), piece)]
        assert "".join(to_interviewer(pieces)) == (
            "You told me that your name is Tilda. You were sent by a paper, and asked you nothing."
        )


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ("The interviewer is a nurse.", "You told me that you are a nurse."),
        ("Yes, your name is Tilda.", "Yes, you told me that your name is Tilda."),
        ("Your name is Tilda", "You told me that your name is Tilda"),
        ("Your first question was about the mill.", "Your first question was about the mill."),
        ("The interviewer asked about the mill.", "You asked me about the mill."),
        ("You asked me who built it.", "You asked me who built it."),
        ("The interviewer said that rain is dull.", "You said that rain is dull."),
        ("I told the interviewer about my mill.", "I told you about my mill."),
        ("Tilda.", "Tilda."),
        ("", ""),
    ],
)
def test_what_the_interviewer_said_of_themselves_was_told_to_the_persona(answer: str, said: str):
    assert "".join(to_interviewer([answer])) == said


@pytest.mark.parametrize(
    ("sentence", "asked", "expected"),
    [
        ("The severed hand of Luke was replaced.", "Did your hand heal?", "My severed hand was replaced."),
        ("The right hand was replaced.", "Did your right hand, which was cut, heal?", "My right hand was replaced."),
        ("The ship was destroyed.", "What happened to your father's ship?", "The ship was destroyed."),
        ("The battle was won by Luke.", "Did you win?", "The battle was won by Luke."),
    ],
)
def test_a_thing_of_the_persona_is_its_own(sentence, asked, expected):
    how = slipped(sentence, asked, "Luke Skywalker")
    assert (turned(sentence, how, "Luke Skywalker") if how else sentence) == expected


def test_a_question_about_a_things_fate_asks_what_came_of_it():
    assert asking_what_came_of_it("Did your hand heal?") == "Did your hand heal? What came of it?"
    for open_already in ("Did you kill Yoda?", "What did your father do?", "Was your father rich?"):
        assert asking_what_came_of_it(open_already) == open_already


@pytest.mark.parametrize(
    ("beginning", "said"),
    [
        ("The mill was built by Ole.", "As far as I know, the mill was built by Ole."),
        ("Ole Berg wrote the book.", "As far as I know, Ole Berg wrote the book."),
        ("In May 1850 it burned down.", "As far as I know, in May 1850 it burned down."),
        ("A Mill by Night was painted by Ole.", "As far as I know, A Mill by Night was painted by Ole."),
        ("Ole wrote it for me.", "Ole wrote it for me."),
        ("Your first question was about the mill.", "Your first question was about the mill."),
        ("Yes, the mill was sold.", "Yes, the mill was sold."),
        ("No, it burned down before.", "No, it burned down before."),
        ("Ole Berg.", "Ole Berg."),
        ("", ""),
    ],
)
def test_what_is_told_of_others_is_what_the_persona_knows(beginning: str, said: str):
    assert as_known(beginning) == said


@pytest.mark.parametrize(
    ("beginning", "said"),
    [
        ("Millers grind the barley there.", "As far as I know, millers grind the barley there."),
        ("May Berg bought the mill.", "As far as I know, May Berg bought the mill."),
        ("Will sold the mill.", "As far as I know, Will sold the mill."),
        ("Grist was kept in the loft.", "As far as I know, Grist was kept in the loft."),
    ],
)
def test_only_a_name_keeps_its_capital_within_what_the_persona_knows(beginning: str, said: str):
    seen = "There, millers may wait until their uncle Will and his wife May have come."
    assert as_known(beginning, seen) == said


def test_what_stands_in_brackets_behind_a_title_is_no_part_of_the_name():
    told = in_first_person(["In May, Ada Marsh saw it burn."], "What came of the mill?", "Ada Marsh (pilot)")
    assert "".join(told) == "In May, I saw it burn."


@pytest.mark.parametrize(
    ("answer", "asked", "title", "said"),
    [
        ("The album was made in May.", "Who made the album?", "The Lamps", "The album was made in May."),
        ("The Lamps were formed in May. In June the Lamps were famous.", "When were you formed?", "The Lamps", "I was formed in May. In June I was famous."),
        ("The Long Oars were formed in May.", "When were you formed?", "The Long Oars", "I was formed in May."),
        ("The Bulk's strength comes from tea.", "Where does your strength come from?", "Bulk (character)", "My strength comes from tea."),
        ("In May, the Bulk was made. Ole loved the Bulk.", "Who made you?", "Bulk", "In May, I was made. Ole loved me."),
        ("The Bulk comics were sold.", "What was sold?", "Bulk", "The Bulk comics were sold."),
        ("The Marsh family was rich.", "Who was rich?", TITLE, "The Marsh family was rich."),
        ("Ada Marsh was a nurse in World War I.", "What did you do in the war?", TITLE, "I was a nurse in World War I."),
        ("Olga I was born in Ely.", "Where were you born?", "Olga I", "I was born in Ely."),
        ("Lena Orth played Ada Marsh.", "Who played you?", "Ada Marsh (pilot)", "Lena Orth played me."),
    ],
)  # fmt: skip
def test_articles_ranks_and_numbers_are_told_from_names_and_from_i(answer: str, asked: str, title: str, said: str):
    assert "".join(in_first_person([answer], asked, title)) == said
