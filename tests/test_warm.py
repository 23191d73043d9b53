"""What is made ready while the greeting is read, so that the first question does not wait for it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from itertools import takewhile
from urllib.parse import quote

import pytest

from persona.adapters.minilm import MiniLM
from persona.answering import Health
from persona.errors import ModelUnreachable, StoreError
from persona.records import ModelStatus
from persona.settings import Settings
from persona.ui import state
from persona.ui.state import Engine
from persona.wiring import Wiring
from tests.core import ADA, Place, Talk, page
from tests.scripted import ScriptedModel


def test_what_is_warmed_is_the_front_of_the_first_prompt_with_the_introduction(own_ada: Talk):
    own_ada.model.scripts["answer"] += ["I"]
    own_ada.wiring.interview.warm(own_ada.person, model=True)
    (warmed,) = own_ada.model.requests
    assert warmed.max_tokens == 1
    own_ada.ask("Who are you?", "I was the keeper of the lighthouse of Saltwick.")
    sent = own_ada.model.requests[-1]
    both = zip(warmed.messages[0].text, sent.messages[0].text, strict=False)
    front = "".join(one for one, other in takewhile(lambda pair: pair[0] == pair[1], both))
    assert ADA["Introduction"] in front
    assert len(front) > len(sent.messages[0].text) / 3


def test_warming_stores_nothing_and_leaves_the_model_alone_unless_told(own_ada: Talk):
    own_ada.wiring.interview.warm(own_ada.person, model=False)
    assert own_ada.model.requests == []
    assert own_ada.wiring.history.threads() == []


def test_the_first_question_embeds_no_passage_any_more(own_ada: Talk, minilm: MiniLM, monkeypatch: pytest.MonkeyPatch):
    own_ada.wiring.interview.warm(own_ada.person, model=False)
    seen: list[str] = []
    for way in ("embed", "embed_tokens"):
        _note(monkeypatch, minilm, way, seen)
    own_ada.ask("Who was your father?", "My father was Josiah Marsh, a fisherman.")
    assert seen
    assert all(len(text) < 50 for text in seen), seen


def _note(monkeypatch: pytest.MonkeyPatch, minilm: MiniLM, way: str, seen: list[str]) -> None:
    does = getattr(minilm, way)
    monkeypatch.setattr(minilm, way, lambda texts: seen.extend(texts) or does(texts))


def test_a_question_is_embedded_once(own_ada: Talk, minilm: MiniLM, monkeypatch: pytest.MonkeyPatch):
    own_ada.wiring.interview.warm(own_ada.person, model=False)
    seen: list[str] = []
    for way in ("embed", "embed_tokens"):
        _note(monkeypatch, minilm, way, seen)
    own_ada.ask("Who was your father?", "My father was Josiah Marsh, a fisherman.")
    assert seen == ["Who was Ada Marsh's father?", "Who was your father?"]  # with the name and without


def test_what_is_made_ready_waits_while_a_question_is_answered_and_nothing_is_made_twice(
    own_ada: Talk, minilm: MiniLM, monkeypatch: pytest.MonkeyPatch
):
    interview, seen = own_ada.wiring.interview, list[str]()
    _note(monkeypatch, minilm, "embed_tokens", seen)
    own_ada.model.scripts["answer"] += ["My father was Josiah Marsh, a fisherman."]
    events = interview.ask("Who was your father?", own_ada.thread())
    next(events)  # it stands in line now
    warming = threading.Thread(target=interview.warm, args=(own_ada.person, False))
    warming.start()
    warming.join(0.5)
    assert warming.is_alive()
    *_, _end = events
    warming.join(60)
    assert not warming.is_alive()
    texts = interview.subject(own_ada.person).searcher.index.texts.values()
    assert {seen.count(text) for text in texts} == {1}


# --- the engine of the pages ---

Make = Callable[..., Engine]


@pytest.fixture
def model() -> ScriptedModel:
    return ScriptedModel()


@pytest.fixture
def make(place: Place, model: ScriptedModel, monkeypatch: pytest.MonkeyPatch) -> Iterator[Make]:
    """Engines that heard that a server of that kind answers; its client, which takes seconds to import, is not needed."""
    made: list[Wiring] = []

    def engine(kind: str, **given: object) -> Engine:
        parts = {"embedder": place.embedder, "model": model, "rewrite_model": model, "kind": kind}
        made.append(Wiring(Settings(home=place.folder, llm=kind, **given), **parts))  # type: ignore[arg-type]
        new = Engine(made[-1])
        monkeypatch.setattr(new, "_check", lambda: None)
        new._health = Health(ModelStatus(kind, "", model.name, ready=True), ())
        return new

    monkeypatch.setattr(state, "_CLIENTS", {"ollama": (), "openai": ()})
    place.load(page("Ada Marsh", ADA))
    yield engine
    for wiring in made:
        wiring.database.close()


def greeted(engine: Engine, times: int = 1) -> None:
    """Greet the one person who is there, and wait until all that this began has ended."""
    for _ in range(times):
        engine.greet(engine.library.people()[0])
    for thread in threading.enumerate():
        if thread.name in {"warm", "greet"}:
            thread.join(120)


def test_a_greeting_warms_the_local_model_once(make: Make, model: ScriptedModel):
    engine = make("ollama")
    greeted(engine)
    assert not model.requests  # where nothing is warmed, as by a command, nobody is greeted
    model.replies = ["I"]
    engine.warm()
    greeted(engine, times=3)
    model.assert_done()
    (sent,) = model.requests
    assert sent.max_tokens == 1
    assert ADA["Introduction"] in sent.messages[0].text


@pytest.mark.parametrize(("kind", "public"), [("ollama", True), ("openai", False)])
def test_no_model_is_warmed_for_strangers_or_where_a_call_may_cost_money(
    make: Make, model: ScriptedModel, kind: str, public: bool
):
    engine = make(kind, public=public)
    engine.warm()
    greeted(engine)
    assert not model.requests


def test_a_database_that_can_only_be_read_is_shown(make: Make, place: Place):
    file = place.folder / "persona.db"
    engine = make("openai", database=f"sqlite:///file:{quote(str(file))}?mode=ro&uri=true")
    engine.warm()
    assert [person.title for person in engine.library.people()] == ["Ada Marsh"]
    with pytest.raises(StoreError, match="may only be read"):
        engine.history.start(engine.library.people()[0].id)
    greeted(engine)


def test_a_model_that_cannot_be_warmed_is_no_error_of_the_page(make: Make, model: ScriptedModel):
    model.replies = [ModelUnreachable("The model server does not answer. Start it.")]
    engine = make("ollama")
    engine.warm()
    greeted(engine)
    model.assert_done()
