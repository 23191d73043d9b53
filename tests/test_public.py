"""A public demo: visitors with cookies of their own at the real app, with a scripted model server."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from persona.adapters.tickets import INTERRUPTED
from persona.answering import Health
from persona.errors import InputError, StoreError
from persona.records import ModelCall, ModelStatus, Question, Rating, Trace, Turn, Visitor, new_id, now
from persona.ui import guard, state, threads, visitors
from persona.ui.own import OwnThreads
from persona.ui.state import PUBLIC, Engine
from persona.ui.text import JOINER
from tests.core import Talk, WordEmbedder, page, settings, talk_with
from tests.test_ui import APP

ODA = {
    "Introduction": "Oda Ferrant built kites on the roof of the mill of Lissing.",
    "Kites": "Her kite had nine tails.",
}


@pytest.fixture
def oda(tmp_path: Path) -> Talk:
    return talk_with(tmp_path, WordEmbedder(), page("Oda Ferrant", ODA))


@pytest.fixture
def engine(oda: Talk, monkeypatch: pytest.MonkeyPatch) -> Engine:
    """A public one; who looks at it is set in `visitor`."""
    oda.wiring.settings = settings(oda.wiring.settings.home, public=True)
    made = Engine(oda.wiring)
    monkeypatch.setattr(state, "engine", lambda: made)
    return made


def as_visitor(monkeypatch: pytest.MonkeyPatch, id_: str) -> None:
    monkeypatch.setattr(visitors, "current", lambda: Visitor(id_, "192.0.2.1"))


def asked(history: OwnThreads, thread: str, text: str = "What did you build?") -> Turn:
    turn = Turn(new_id(), thread, None, new_id(), Question(text, text), "running", now())
    return history.add(turn)


def test_a_visitor_sees_their_own_threads_and_no_others(oda: Talk):
    mine, other = (OwnThreads(oda.wiring.history, name) for name in ("mine", "other"))
    thread = mine.start(oda.person)
    turn = asked(mine, thread.id)
    mine.progress(turn.id, "I built", "answering")
    assert mine.finish(turn).state == "running"
    mine.rate(Rating(turn.id, True, "", now()))
    assert [one.id for one in mine.threads()] == [thread.id] == [one.id for one in mine.search("build")]
    assert mine.turns(thread.id) == mine.path(turn.id)
    assert len(mine.ratings(thread.id)) == 1

    assert (other.threads(), other.search("build"), other.thread(thread.id)) == ([], [], None)
    assert (other.turn(turn.id), other.turns(thread.id), other.path(turn.id)) == (None, [], [])
    assert other.ratings(thread.id) == []
    for attempt in (
        lambda: other.start(oda.person, thread.id),
        lambda: other.rename(thread.id, "Stolen"),
        lambda: other.remove(thread.id),
        lambda: other.show(thread.id, turn.id),
        lambda: asked(other, thread.id),
        lambda: other.finish(turn),
    ):
        with pytest.raises(InputError, match="no such thread of yours"):
            attempt()
    other.unrate(turn.id)
    other.progress(turn.id, "stolen", "stolen")
    assert len(mine.ratings(thread.id)) == 1
    assert mine.turns(thread.id)[0].partial != "stolen"


def test_a_removed_thread_is_brought_back_by_whose_it_is_alone(oda: Talk):
    mine, other = (OwnThreads(oda.wiring.history, name) for name in ("mine", "other"))
    thread = mine.start(oda.person).id
    mine.remove(thread)
    other.restore(thread)
    assert mine.thread(thread) is None
    mine.restore(thread)
    assert mine.thread(thread) is not None


def test_threads_from_before_the_demo_belong_to_nobody(engine: Engine, oda: Talk, monkeypatch: pytest.MonkeyPatch):
    before = oda.thread()
    monkeypatch.setattr(visitors, "current", lambda: None)
    assert (engine.history.threads(), engine.history.thread(before)) == ([], None)


def test_pages_and_people_are_not_for_visitors_to_change(engine: Engine):
    person = engine.library.people()[0]
    for attempt in (
        lambda: engine.load("Ada Lovelace", "en"),
        lambda: engine.reload(person),
        lambda: engine.delete(person),
        engine.add_samples,
    ):
        with pytest.raises(InputError, match="This is a public demo"):
            attempt()
    assert engine.library.people() == [person]
    assert engine.jobs.running() == []


def test_the_people_page_offers_interviews_alone(engine: Engine):
    at = AppTest.from_file(APP, default_timeout=60).run()
    assert not at.exception
    assert [button.label for button in at.button] == ["Interview"]
    assert not at.text_input
    assert PUBLIC in [caption.value for caption in at.caption]


def test_visitors_are_not_told_to_do_what_only_the_keeper_can(
    engine: Engine, oda: Talk, monkeypatch: pytest.MonkeyPatch
) -> None:
    as_visitor(monkeypatch, "me")
    monkeypatch.setattr(Engine, "embedder_name", "another-embedder")
    thread = engine.history.start(oda.person).id

    def told() -> str:
        at = AppTest.from_file(APP, default_timeout=60).run()
        kept = AppTest.from_string("from persona.ui import interview\ninterview.page()\n", default_timeout=60)
        kept.query_params["thread"] = thread
        with monkeypatch.context() as patch:
            patch.setattr(engine.library, "people", list)
            kept.run()
        return "\n".join(shown([*at.warning, *kept.info]))

    assert "Reload" not in told()
    assert "load the page" not in told()
    oda.wiring.settings = settings(oda.wiring.settings.home)
    assert "press Reload before you ask" in told()
    assert "load the page again to go on" in told()


def test_too_many_questions_are_one_sentence_and_the_question_is_kept(
    engine: Engine, oda: Talk, monkeypatch: pytest.MonkeyPatch
) -> None:
    as_visitor(monkeypatch, "me")
    for number in range(10):
        thread = engine.history.start(oda.person).id
        engine.runner.submit("Hello!", thread, request_id=f"hello-{number}")
    at = AppTest.from_string("from persona.ui import interview\ninterview.page()\n", default_timeout=60).run()
    at.chat_input[0].set_value("How many tails had your kite?").run()
    assert not at.exception
    (told,) = [warning.value for warning in at.warning if "network" in warning.value]
    assert "10 questions in 10 minutes came from your network" in told.replace("\\", "")
    assert "Try again in about 10 minutes" in told.replace("\\", "")
    assert at.chat_input[0].proto.value == "How many tails had your kite?"


def read(text: str) -> str:
    """As a reader sees what was escaped."""
    return text.replace("\\", "").replace(JOINER, "")


def shown(elements: Sequence[Any]) -> list[str]:
    return [read(element.value) for element in elements]


WHERE = "The model server at http://10.1.2.3:8000/v1 does not answer. Check that it runs, or see /srv/persona/log."


MODEL_FILE = "/srv/models/llama-3.gguf"  # as llama-server names its model


def test_why_an_answer_failed_is_for_the_keeper_and_visitors_are_told_no_address(
    engine: Engine, oda: Talk, monkeypatch: pytest.MonkeyPatch
) -> None:
    as_visitor(monkeypatch, "me")
    thread = engine.history.start(oda.person).id
    turn = asked(engine.history, thread)
    call = ModelCall("answer", MODEL_FILE, "", (), "", 0, 0, 0, 0.1, 1, error=WHERE)
    trace = Trace(calls=(call,), settings={"llm": "openai", "model": MODEL_FILE, "stages": "leader,nearest"})
    oda.wiring.history.finish(replace(turn, state="failed", error=WHERE, trace=trace))
    history = engine.history
    (seen,) = history.turns(thread)
    assert [seen] == history.path(turn.id) == [history.turn(turn.id)]
    assert (seen.state, seen.error, seen.trace.calls[0].error) == ("failed", guard.TROUBLE, "failed")
    assert seen.trace.calls[0].model == "llama-3.gguf"
    assert seen.trace.settings == {"llm": "openai", "model": "llama-3.gguf", "stages": "leader,nearest"}
    assert oda.wiring.history.turn(turn.id).error == WHERE, "it is kept"

    other = asked(history, history.start(oda.person).id)
    ended = oda.wiring.history.finish(replace(other, state="interrupted", error=INTERRUPTED))
    assert history.turn(ended.id).error == INTERRUPTED, "that tells of nothing here"

    def script(thread: str) -> None:
        import streamlit

        from persona.ui import interview

        streamlit.query_params["thread"] = thread
        interview.page()

    at = AppTest.from_function(script, default_timeout=60, args=(thread,)).run()
    assert not at.exception
    assert guard.TROUBLE in shown(at.error)
    assert "10.1.2.3" not in read(str(at))


def test_what_a_visitor_exports_does_not_say_where_the_keeper_s_files_lie(
    engine: Engine, oda: Talk, monkeypatch: pytest.MonkeyPatch
) -> None:
    as_visitor(monkeypatch, "me")
    list(oda.wiring.ingest.load(page("Rasmus Holt", ODA, source="markdown", origin="/srv/persona/holt.md")))
    (rasmus,) = (person for person in engine.library.people() if person.title == "Rasmus Holt")
    interview = threads._interview(engine, engine.history.start(rasmus.id))
    assert engine.library.build(rasmus.build).origin == "/srv/persona/holt.md"
    assert "/srv" not in threads._as_text(interview)


def test_a_store_in_trouble_is_told_without_its_address(
    engine: Engine, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    as_visitor(monkeypatch, "me")

    def broken(*_: object) -> None:
        raise StoreError(WHERE)

    monkeypatch.setattr(type(engine.library), "people", broken)
    script = "from persona.ui import interview, people\ninterview.page()\npeople.page()\n"
    at = AppTest.from_string(script, default_timeout=60).run()
    assert shown(at.error) == [WHERE] * 2, "whose computer it is may know"
    monkeypatch.setenv("PERSONA_PUBLIC", "1")
    at = AppTest.from_string(script, default_timeout=60).run()
    assert shown(at.error) == [guard.TROUBLE] * 2
    assert WHERE in caplog.text, "the keeper finds it"


def test_which_model_answers_is_told_without_where(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    answers = ModelStatus("openai", "http://10.1.2.3:8000/v1", "llama-3", ready=True)
    monkeypatch.setattr(engine, "health", lambda: Health(answers, ()))
    at = AppTest.from_file(APP, default_timeout=60).run()
    assert not at.exception
    assert "**Answers:** llama-3." in shown(at.caption)
    assert "10.1.2.3" not in read(str(at))


@pytest.fixture(autouse=True)
def _no_thread_is_left(oda: Talk) -> Iterator[None]:
    yield
    oda.wiring.database.close()
