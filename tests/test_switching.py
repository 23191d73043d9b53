"""Another model while the program runs: chosen by the reader, or noticed because Ollama came or went."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from persona.jobs import Job
from persona.records import Finished
from persona.settings import Settings
from persona.ui.state import Engine
from persona.wiring import Wiring
from tests.core import ADA, WordEmbedder, page
from tests.ollama_server import LLAMA, QWEN3, OllamaServer

SEAL = "What was your tame seal called?"
ANSWER = "My tame seal was called Bartholomew, and it ate at my table."


@pytest.fixture
def ollama() -> Iterator[OllamaServer]:
    with OllamaServer(models=()) as server:
        yield server


@pytest.fixture
def wiring(tmp_path: Path, ollama: OllamaServer, monkeypatch: pytest.MonkeyPatch) -> Iterator[Wiring]:
    for name in ("PERSONA_LLM", "PERSONA_MODEL"):
        monkeypatch.delenv(name, raising=False)
    made = Wiring(Settings(home=tmp_path, ollama_host=ollama.address), embedder=WordEmbedder())
    yield made
    made.database.close()


def look(wiring: Wiring) -> None:
    wiring.follow(wiring.ollama_status())


def ask(wiring: Wiring, ada: str) -> Finished:
    thread = wiring.history.start(ada).id
    *_, last = wiring.interview.ask(SEAL, thread)
    assert isinstance(last, Finished)
    return last


def ended(engine: Engine, job: Job) -> Job:
    deadline = time.monotonic() + 60
    while (now := engine.jobs.get(job.id)) is None or now.ended is None:
        assert time.monotonic() < deadline
        time.sleep(0.02)
    return now


@pytest.fixture
def ada(wiring: Wiring) -> str:
    *_, loaded = wiring.ingest.load(page("Ada Marsh", ADA))
    return loaded.person.id


def test_ollama_is_noticed_when_its_model_comes_and_when_it_goes(wiring: Wiring, ollama: OllamaServer) -> None:
    assert wiring.kind == "builtin"
    ollama.models = {QWEN3.name: QWEN3}
    look(wiring)
    assert (wiring.kind, wiring.model.name) == ("ollama", "qwen3:8b")
    ollama.models = {}
    look(wiring)
    assert wiring.kind == "builtin"


def test_the_next_question_goes_to_the_model_that_was_chosen(wiring: Wiring, ollama: OllamaServer, ada: str) -> None:
    ollama.models = {QWEN3.name: QWEN3, LLAMA.name: LLAMA}
    ollama.replies += [ANSWER, ANSWER]
    first = ask(wiring, ada)
    wiring.answer_with("ollama", "llama3.2")
    second = ask(wiring, ada)

    assert [chat["model"] for chat in ollama.chats] == ["qwen3:8b", "llama3.2"]
    assert first.turn.trace.settings["model"] == "qwen3:8b"
    assert second.turn.trace.settings["model"] == "llama3.2"


def test_a_turn_ends_with_the_model_it_began_with(wiring: Wiring, ollama: OllamaServer, ada: str) -> None:
    ollama.models = {QWEN3.name: QWEN3, LLAMA.name: LLAMA}
    ollama.replies.append(ANSWER)
    events = wiring.interview.ask(SEAL, wiring.history.start(ada).id)
    next(events)
    next(events)
    wiring.answer_with("ollama", "llama3.2")
    *_, last = events

    assert [chat["model"] for chat in ollama.chats] == ["qwen3:8b"]
    assert last.turn.trace.settings["model"] == "qwen3:8b"  # type: ignore[union-attr]


def test_what_is_chosen_is_not_left_for_ollama(wiring: Wiring, ollama: OllamaServer) -> None:
    wiring.answer_with("builtin", "")
    ollama.models = {QWEN3.name: QWEN3}
    look(wiring)
    assert wiring.kind == "builtin"
    wiring.answer_with("auto", "")
    assert wiring.kind == "ollama"


def test_automatic_takes_again_the_models_that_were_set_for_it(
    wiring: Wiring, ollama: OllamaServer, tmp_path: Path
) -> None:
    ollama.models = {LLAMA.name: LLAMA}
    given = Settings(home=tmp_path, ollama_host=ollama.address, model="llama3.2", rewrite_model="qwen3:0.6b")
    other = Wiring(given, embedder=WordEmbedder())
    assert (other.kind, other.model.name) == ("ollama", "llama3.2")
    other.answer_with("builtin", "")
    assert other.kind == "builtin"
    other.answer_with("auto", "")
    assert (other.kind, other.model.name, other.rewrite_model.name) == ("ollama", "llama3.2", "qwen3:0.6b")


def test_all_that_could_answer_is_listed_without_what_cannot_chat(wiring: Wiring, ollama: OllamaServer) -> None:
    with OllamaServer() as full:
        listed = Wiring(Settings(home=wiring.settings.home, ollama_host=full.address), embedder=WordEmbedder()).there()
    assert [one.model for one in listed if one.kind == "ollama"] == ["llama3.2", "qwen3:8b"]


def test_a_model_is_fetched_and_then_answers(wiring: Wiring, ollama: OllamaServer) -> None:
    engine = Engine(wiring)
    now = ended(engine, engine.pull("llama3.2"))
    assert now.error == ""
    assert now.latest == (LLAMA.size + 1_723, LLAMA.size + 1_723)
    assert (wiring.kind, wiring.model.name) == ("ollama", "llama3.2")
    assert engine.settings.llm == "ollama"


def test_the_usual_model_is_fetched_and_the_choice_stays_automatic(wiring: Wiring, ollama: OllamaServer) -> None:
    assert wiring.kind == "builtin"
    engine = Engine(wiring)
    ended(engine, engine.pull("qwen3:8b"))
    assert (engine.settings.llm, wiring.kind) == ("auto", "ollama")


def test_a_model_that_does_not_exist_is_an_error_of_the_job(wiring: Wiring, ollama: OllamaServer) -> None:
    engine = Engine(wiring)
    assert "nobody:1b" in ended(engine, engine.pull("nobody:1b")).error


def test_a_download_that_is_cancelled_ends_at_the_server_too_and_can_be_begun_again(
    wiring: Wiring, ollama: OllamaServer
) -> None:
    ollama.may_end.clear()
    engine = Engine(wiring)
    job = engine.pull("llama3.2")
    while not (engine.jobs.get(job.id) or job).latest:
        time.sleep(0.02)
    engine.cancel(job)
    assert ended(engine, job).cancelled
    deadline = time.monotonic() + 60
    while not ollama.left:
        assert time.monotonic() < deadline, "the download went on"
        time.sleep(0.02)
    assert ollama.models == {}
    assert wiring.kind == "builtin"
    ollama.may_end.set()
    assert ended(engine, engine.pull("llama3.2")).error == ""
    assert wiring.kind == "ollama"
