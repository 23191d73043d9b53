"""Questions to begin with: such as a person would ask, from the page's own headings and names."""

import pytest

from persona.records import Chunk
from persona.suggestions import suggestions


def chunks(*sections: tuple[str, str]) -> list[Chunk]:
    made = []
    for number, (path, text) in enumerate(sections):
        made.append(Chunk(f"c{number}", number, tuple(path.split(" / ")), text, ""))
    return made


FICTION = "Odile Maren is a fictional keeper of lighthouses."


def on(*headings: str, text: str = "") -> list[str]:
    """What is asked about a page with these headings, without the first question."""
    first, *rest = suggestions(chunks(("Introduction", text), *((one, "") for one in headings)), "Odile Maren", "en")
    assert first == "Who are you?"
    return rest


@pytest.mark.parametrize(
    ("heading", "question"),
    [
        ("Early life", "What was your childhood like?"),
        ("Early life in Brank", "What was your childhood like?"),
        ("Early life and family ancestry", "What was your childhood like?"),
        ("Last years and death", "How did you spend your last years?"),
        ("Assassination and funeral", "How did you die?"),
        ("Marriages and children", "Tell me about your marriage."),
        ("Religious and philosophical beliefs", "What are your views and beliefs?"),
        ("Diary", "Tell me about your diary."),
        ("Academic career", "Tell me about your academic career."),
        ("Schooling under Danish rule", "Tell me about your schooling under Danish rule."),
        ("Return and old age", "Tell me about your return and old age."),
        ("1921–1922: Travels abroad", "Tell me about your travels abroad."),
        ("On Gull Rock", "What did you do on Gull Rock?"),
        ("At the Sorbonne", "What did you do at the Sorbonne?"),
        ("Gettysburg Address (1963)", "What can you tell me about “Gettysburg Address (1963)”?"),
        ("Theory of relativity and E = mc²", "What can you tell me about “Theory of relativity and E = mc²”?"),
        ('Slavery and a "House Divided"', "What can you tell me about “Slavery and a ‘House Divided’”?"),
        ("Supporter of civil rights", "What can you tell me about “Supporter of civil rights”?"),
        ("Professor Moriarty", "What can you tell me about “Professor Moriarty”?"),
        ("Lamps and oil", "What can you tell me about “Lamps and oil”?"),
        ("Personal life", "What was your personal life like?"),
        ("Death", "How did you die?"),
        ("Career / Awards and honors", "What awards and honors did you receive?"),
        ("Meeting Tomas Brank", "How did you meet Tomas Brank?"),
        ("Marriage to Tomas", "Tell me about your marriage to Tomas."),
        ("Exile (1911–1920)", "What did you do between 1911 and 1920?"),
        ("Second World War", "What did you do in the Second World War?"),
        ("Powers and abilities", "What are your skills and abilities?"),
    ],
)
def test_a_heading_becomes_what_a_person_would_ask(heading, question):
    assert on(heading, text="Her marriage and her exile.") == [question]


def test_a_work_is_where_something_happened_only_to_a_fictional_person():
    assert on("The Long Night (1977)", text=FICTION) == ["What happened to you in The Long Night?"]


def test_headings_that_say_nothing_and_places_where_a_character_appears_are_not_asked_about():
    assert on("Part 1", "1920s", "Video games", "In other media", "x" * 70, "Things named after her") == []


def test_plain_questions_only_fill_up():
    good = ("Early life", "Career", "Death")
    assert on("Lamps", *good) == [
        "What was your childhood like?",
        "Tell me about your career.",
        "How did you die?",
    ]


def test_no_two_questions_are_alike_and_there_are_at_most_five():
    headings = ("Early life", "Childhood", "A (1901)", "B (1902)", "Death", "Legacy", "Family", "Travels", "Inventions")
    asked = on(*headings, text=FICTION)
    assert len(asked) == 4
    assert len({question[:16] for question in asked}) == 4


def test_who_is_often_named_is_asked_about_and_a_place_or_the_persona_is_not():
    text = "She met Greta Senn. Then Greta Senn left for New York. From Ely, New York she saw Odile Maren and Greta Senn. New York!"
    assert on(text=text) == ["Who was Greta Senn to you?"]


def test_a_page_in_another_language_is_asked_about_in_it():
    asked = suggestions(chunks(("Einleitung", ""), ("Leben", ""), ("Werk", "")), "Odile Maren", "de")
    assert asked[0] == "Wer sind Sie?"
    assert "Was können Sie mir über „Leben“ erzählen?" in asked


def test_a_page_without_headings_still_has_a_first_question():
    assert suggestions([], "Odile Maren", "en") == ["Who are you?"]
