"""A whole interview with the real built-in model: a sample, a follow-up, what it cannot know, what was said."""

from __future__ import annotations

from pathlib import Path

import pytest

from persona.judging import first_person
from persona.records import Finished, Turn
from persona.wiring import Wiring
from tests.core import settings, wikitext_page
from tests.mediawiki import GERMAN_PAGE

pytestmark = pytest.mark.builtin
TITLE = "Marie Curie"


class Talking:
    """One thread with somebody who is loaded."""

    def __init__(self, wiring: Wiring, title: str) -> None:
        self._wiring = wiring
        person = next(person for person in wiring.library.people() if person.title == title)
        self.thread = wiring.history.start(person.id).id
        self._last: str | None = None

    def ask(self, question: str) -> Turn:
        *_, end = self._wiring.interview.ask(question, self.thread, self._last)
        assert isinstance(end, Finished)
        assert end.turn.state == "done", end.turn.error
        self._last = end.turn.id
        return end.turn


@pytest.fixture(scope="module")
def wiring(builtin_home: Path, builtin_address: str) -> Wiring:
    return Wiring(settings(builtin_home, llm="builtin"))


@pytest.fixture(scope="module")
def talking(wiring: Wiring) -> Talking:
    for _ in wiring.loader.samples():
        pass
    return Talking(wiring, TITLE)


def test_a_question_is_answered_in_the_first_person_from_the_page_with_sources(talking: Talking):
    turn = talking.ask("Where were you born?")
    assert turn.answer
    assert turn.answer.found
    assert "Warsaw" in turn.answer.text
    assert first_person(turn.answer.text, TITLE)
    assert any("Warsaw" in source.text for source in turn.answer.sources)
    assert [source.number for source in turn.answer.sources] == list(range(1, len(turn.answer.sources) + 1))


def test_what_the_page_does_not_hold_is_refused_without_an_answer_call(talking: Talking):
    turn = talking.ask("Why is the sky blue?")
    assert turn.answer
    assert not turn.answer.found
    assert turn.answer.reason
    assert not turn.answer.sources
    assert "answer" not in [call.step for call in turn.trace.calls]


def test_a_greeting_asks_no_model(talking: Talking):
    turn = talking.ask("Thank you!")
    assert turn.answer
    assert turn.answer.stage == "greeting"
    assert not turn.trace.calls


def test_a_follow_up_is_understood(talking: Talking):
    talking.ask("Who was your husband?")
    turn = talking.ask("How did he die?")
    assert "rewrite" in [call.step for call in turn.trace.calls]
    assert "Pierre" in turn.question.standalone or "husband" in turn.question.standalone
    assert turn.answer
    assert turn.answer.found


def test_a_german_page_asked_in_german_is_answered_in_german(wiring: Wiring):
    for _ in wiring.ingest.load(wikitext_page(GERMAN_PAGE, "de")):
        pass
    turn = Talking(wiring, GERMAN_PAGE).ask("Wer war Ihr Vater?")  # with the prompt as for English: "My father was …"
    assert turn.answer
    assert turn.answer.found
    assert turn.answer.text.startswith("Mein Vater")
    assert "Johann Brandwein" in turn.answer.text
    assert any("Johann Brandwein" in source.text for source in turn.answer.sources)
