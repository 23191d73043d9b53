"""Questions to begin with: such as a person would ask, from the page's own headings and names."""

import pytest

from persona.records import Chunk
from persona.suggestions import suggestions


def chunks(*sections: tuple[str, str]) -> list[Chunk]:
    made = []
    for number, (path, text) in enumerate(sections):
        made.append(Chunk(f"c{number}", number, tuple(path.split(" / ")), text, ""))
    return made


def on(*headings: str, text: str = "") -> list[str]:
    """What is asked about a page with these headings, without the first question."""
    first, *rest = suggestions(chunks(("Introduction", text), *((one, "") for one in headings)), "Odile Maren", "en")
    assert first == "Who are you?"
    return rest


@pytest.mark.parametrize(
    ("heading", "question"),
    [
        ("Early life", "What was your childhood like?"),
        ("Personal life", "What was your personal life like?"),
        ("Death", "How did you die?"),
        ("Career / Awards and honors", "What awards and honors did you receive?"),
        ("Meeting Tomas Brank", "How did you meet Tomas Brank?"),
        ("Marriage to Tomas", "Tell me about your marriage to Tomas."),
        ("The Long Night (1977)", "What happened to you in The Long Night?"),
        ("Exile (1911–1920)", "What did you do between 1911 and 1920?"),
        ("Second World War", "What did you do in the Second World War?"),
        ("Powers and abilities", "What are your skills and abilities?"),
    ],
)
def test_a_heading_becomes_what_a_person_would_ask(heading, question):
    assert on(heading, text="Her marriage and her exile.") == [question]


def test_a_heading_that_is_no_name_is_asked_about_in_small_letters_and_a_name_is_not_asked_about():
    assert on("Lamps and oil", "Knightfall", text="Two lamps.") == ["What can you tell me about lamps and oil?"]


def test_headings_that_say_nothing_and_places_where_a_character_appears_are_not_asked_about():
    assert on("Part 1", "1920s", "Video games", "In other media", "x" * 70, text="part video in") == []


def test_plain_questions_only_fill_up():
    good = ("Early life", "Career", "Death")
    assert on("Lamps", *good, text="Two lamps.") == [
        "What was your childhood like?",
        "How did your career go?",
        "How did you die?",
    ]


def test_no_two_questions_are_alike_and_there_are_at_most_five():
    asked = on("Early life", "Childhood", "A (1901)", "B (1902)", "Death", "Legacy", "Family", "Travels", "Inventions")
    assert len(asked) == 4
    assert len({question[:16] for question in asked}) == 4


def test_who_is_often_named_is_asked_about_and_a_place_or_the_persona_is_not():
    text = "She met Greta Senn. Then Greta Senn left for New York. In New York she saw Odile Maren and Greta Senn. In New York."
    assert on(text=text) == ["What did you have to do with Greta Senn?"]


def test_a_page_in_another_language_is_asked_about_in_it():
    asked = suggestions(chunks(("Einleitung", ""), ("Leben", ""), ("Werk", "")), "Odile Maren", "de")
    assert asked[0] == "Wer sind Sie?"
    assert "Was können Sie mir über „Leben“ erzählen?" in asked


def test_a_page_without_headings_still_has_a_first_question():
    assert suggestions([], "Odile Maren", "en") == ["Who are you?"]
