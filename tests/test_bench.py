"""The contest of tests/bench: what is metered, what each contender does, and the command as a whole."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from xml.etree import ElementTree

import httpx
import pytest

from persona.adapters.minilm import MiniLM
from persona.adapters.openai_server import OpenAIServerModel
from persona.cases import Case
from persona.records import ChatRequest, Message, Page
from persona.wiring import Wiring
from tests.bench import __main__ as command
from tests.bench import contest, loading, report
from tests.bench.contender import Pages
from tests.bench.engine import Engine
from tests.bench.meter import Meter
from tests.bench.plain import Plain
from tests.core import page
from tests.loopback import WireReply
from tests.openai_style import OpenAIStyleServer
from tests.scripted import ScriptedModel

LIGHTHOUSE = page(
    "Edda Quill",
    {
        "Introduction": "Edda Quill was a diver from Harn. She is known for raising the bell of the Marigold.",
        "Youth": "She was born in a mill. Her father Bram ground barley, and her mother Ilse kept bees.",
        **{f"Dive {n}": f"The {n}th dive brought up {n + 3} bronze nails and a jar of salt." for n in range(12)},
    },
)


def ask(question: str, **fields: object) -> Case:
    return Case("c1", "Edda Quill", question, **fields)  # type: ignore[arg-type]


def only(_: str) -> Page:
    return LIGHTHOUSE


# --- the meter ---


@pytest.fixture
def meter(openai_server: OpenAIStyleServer) -> Iterator[Meter]:
    with Meter(lambda: openai_server.url) as made:
        yield made


def chat(meter: Meter, *, stream: bool) -> Iterator[str]:
    model = OpenAIServerModel(lambda: meter.url, "", 8192)
    for delta in model.chat(ChatRequest((Message("user", "What is a fathom, in feet?"),), 60, stream=stream)):
        yield delta.text


@pytest.mark.parametrize("stream", [True, False])
def test_the_meter_tells_what_was_sent_read_and_written(meter: Meter, openai_server: OpenAIStyleServer, stream: bool):
    openai_server.replies = [WireReply("Six feet.", prompt_tokens=40, cached_tokens=30)]
    assert "".join(chat(meter, stream=stream)) == "Six feet."
    (call,) = meter.take()
    assert (call.sent, call.read, call.written) == (40, 10, 3)
    assert call.seconds > 0
    assert meter.take() == []


def test_a_call_that_is_given_up_in_the_middle_is_counted(meter: Meter, openai_server: OpenAIStyleServer):
    openai_server.replies = [WireReply("A fathom has " + "very many " * 200, prompt_tokens=50, cached_tokens=8)]
    pieces = chat(meter, stream=True)
    while not next(pieces):
        pass
    pieces.close()  # type: ignore[attr-defined]
    (call,) = meter.take()
    assert (call.sent, call.read) == (50, 42)
    assert call.written > 0


def test_what_the_server_refuses_is_passed_on_and_costs_no_tokens(meter: Meter, openai_server: OpenAIStyleServer):
    openai_server.replies = [WireReply(status=500, error="out of oil")]
    reply = httpx.post(f"{meter.url}/chat/completions", json={"model": "tiny-chat", "messages": []})
    assert reply.status_code == 500
    assert "out of oil" in reply.text
    assert [(call.sent, call.written) for call in meter.take()] == [(0, 0)]


# --- the plain pipeline ---


def plainly(minilm: MiniLM, case: Case, *replies: str | Callable[[ChatRequest], str]):
    model = ScriptedModel(replies)
    outcome = Plain(model, minilm, only).ask(case)
    model.assert_done()
    return outcome, [request.messages[-1].text for request in model.requests]


def test_plain_answers_from_the_section_that_the_model_names(minilm: MiniLM):
    case = ask("Who was your father?", answers=("Bram",))
    outcome, sent = plainly(minilm, case, "Youth", "My father was Bram.")
    assert (outcome.right, outcome.found, outcome.stage) == (True, True, "category")
    assert "Youth" in sent[0]
    assert "ground barley" in sent[1]
    assert "bronze" not in sent[1]


def test_plain_scores_ten_whole_sections_one_by_one_and_answers_from_the_best(minilm: MiniLM):
    case = ask("Who was your father?", answers=("Bram",))

    def scored(request: ChatRequest) -> str:
        return "8/10" if "ground barley" in request.messages[-1].text else "2"

    outcome, sent = plainly(minilm, case, "Family", *[scored] * 10, "My father was Bram.")
    assert (outcome.right, outcome.stage) == (True, "ranked")
    assert len(set(sent[1:11])) == 10
    assert "ground barley" in sent[11]


def test_plain_tries_ngrams_last_and_then_refuses(minilm: MiniLM):
    case = ask("How many nails did the 11th dive bring up?", answerable=False)
    outcome, sent = plainly(minilm, case, "Dive 2", "NOT FOUND", *["9"] * 10, "not found.", "NOT FOUND")
    assert (outcome.found, outcome.refused_right, outcome.right) == (False, True, None)
    assert len(sent) == 14
    assert "The 11th dive" in sent[-1]


def test_plain_rewrites_a_follow_up(minilm: MiniLM):
    case = ask("And your mother?", history=(("user", "Who was your father?"), ("persona", "Bram.")), answers=("Ilse",))
    outcome, sent = plainly(minilm, case, "Who was Edda Quill's mother?", "Youth", "My mother was Ilse.")
    assert outcome.right
    assert "Who was your father?" in sent[0]
    assert all("Who was Edda Quill's mother?" in text for text in sent[1:])


# --- LlamaIndex's engine ---


def engine(minilm: MiniLM, server: OpenAIStyleServer) -> Engine:
    return Engine(server.url, "tiny-chat", minilm, only)


def test_the_engine_streams_an_answer_from_the_nearest_four_in_one_call(
    minilm: MiniLM, openai_server: OpenAIStyleServer
):
    rest = threading.Event()

    def halting(_: dict) -> WireReply:
        threading.Timer(0.3, rest.set).start()
        return WireReply("My father was Bram.", go_on=rest)

    openai_server.replies = [halting]
    outcome = engine(minilm, openai_server).ask(ask("Who was your father?", answers=("Bram",)))
    (sent,) = openai_server.chats
    text = "\n".join(message["content"] for message in sent["messages"])
    assert sent["stream"]
    assert "You are Edda Quill" in text
    assert text.count("section:") == 4
    assert "ground barley" in text
    assert outcome.right
    assert outcome.first_token < outcome.seconds - 0.1  # it was heard before the rest came


def test_the_engine_condenses_a_follow_up_and_its_refusal_is_one(minilm: MiniLM, openai_server: OpenAIStyleServer):
    openai_server.replies = ["How deep was the dive?", "NOT FOUND"]
    history = (("user", "Where did you dive?"), ("persona", "Off Harn."))
    outcome = engine(minilm, openai_server).ask(ask("How deep?", history=history, answerable=False))
    condensing, answering = openai_server.chats
    assert "Off Harn." in condensing["messages"][-1]["content"]
    assert answering["messages"][-1]["content"].endswith("How deep?")
    assert outcome.refused_right


# --- the command ---

CASES = [
    {"id": "q1", "question": "Where were you born?", "answers": ["mill"]},
    {"id": "q2", "question": "Why is the sky blue?", "answerable": False, "tags": ["off-topic"]},
    {
        "id": "q3",
        "question": "And your mother?",
        "answers": ["Ilse"],
        "history": [["user", "Who was your father?"], ["persona", "My father was Bram."]],
    },
]


class Quill:
    """A wiki with one page."""

    def fetch(self, title: str, language: str) -> Page:
        assert (title, language) == (LIGHTHOUSE.title, "en")
        return LIGHTHOUSE


class Obliging(OpenAIStyleServer):
    """Has a reply for whatever the contenders ask, and half of each prompt in its cache."""

    def next_reply(self, body: dict) -> WireReply:
        text = body["messages"][-1]["content"]
        sent = sum(len(message["content"]) for message in body["messages"]) // 4
        return WireReply(self._words(text, body), prompt_tokens=sent, cached_tokens=sent // 2)

    def _words(self, text: str, body: dict) -> str:
        if "response_format" in body:
            return json.dumps({"question": "Who was Edda Quill's mother?", "turns": [1]})
        if text.rstrip().endswith("Standalone question:"):
            return "Who was Edda Quill's mother?"
        if text.endswith("Section:"):
            return "None of them"
        if text.endswith("Score:"):
            return "7"
        return "I was born in a mill, and my mother was Ilse." if "sky" not in text else "NOT FOUND"


@pytest.fixture
def obliging() -> Iterator[Obliging]:
    with Obliging() as server:
        yield server


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, obliging: Obliging, minilm: MiniLM) -> Callable[..., int]:
    for name in ("LLM", "MODEL", "OPENAI_URL", "EMBEDDER", "DATABASE", "CHROMA", "PROMPTS"):
        monkeypatch.delenv(f"PERSONA_{name}", raising=False)
    monkeypatch.setenv("PERSONA_HOME", str(tmp_path / "home"))
    monkeypatch.setattr(command, "Wiring", lambda: Wiring(embedder=minilm, wiki=Quill()))
    lines = [json.dumps({"page": "Edda Quill", **case}) for case in CASES]
    (tmp_path / "cases.jsonl").write_text("\n".join(lines))
    places = [str(tmp_path / "cases.jsonl"), str(tmp_path / "out.json")]
    return lambda *given: command.main([*places, "--server", obliging.url, *given])


def test_the_command_measures_all_contenders_and_writes_ratios_and_a_plot(run: Callable[..., int], tmp_path: Path):
    assert run("--plain-calls", "8-13") == 0
    written = json.loads((tmp_path / "out.json").read_text())
    assert written["complete"]
    ours, plain = (written["contenders"][name] for name in ("ours", "plain"))
    assert ours["right"] == plain["right"] == {"n": 2, "of": 2}
    assert ours["refused"] == {"n": 1, "of": 1}
    calls = [turn["calls"] for turn in ours["turns"]]
    assert calls == [1, 0, 2]  # a first question, one that the gate refuses, a follow-up
    assert [turn["calls"] for turn in plain["turns"]] == [12, 12, 13]
    assert ours["mean"]["prompt_tokens_read"] <= ours["mean"]["prompt_tokens_sent"] / 2 + 1
    ratios = written["ratios"]
    assert ratios["plain"]["calls"] == pytest.approx(3 / 37, abs=1e-3)
    assert ratios["llamaindex"]["calls"] == pytest.approx(3 / 4, abs=1e-3)
    assert set(ratios["plain"]) == {"calls", "prompt_tokens_sent", "prompt_tokens_read", "seconds", "first_token"}
    assert {"rewrite", "search", "gate", "answer", "own"} <= set(ours["parts"])
    drawing = ElementTree.fromstring((tmp_path / "out.svg").read_text())
    assert "2 of 2" in "".join(drawing.itertext())


def test_a_plain_pipeline_out_of_its_limits_is_no_yardstick(
    run: Callable[..., int], capsys: pytest.CaptureFixture[str]
):
    assert run("--against", "plain", "--plain-calls", "2-5", "--plain-tokens", "1-99") == 1
    told = capsys.readouterr().err
    assert "12.3 calls a turn, not 2 to 5" in told
    assert "prompt tokens sent a turn, not 1 to 99" in told


def test_an_interrupted_run_goes_on_where_it_was(
    run: Callable[..., int],
    tmp_path: Path,
    obliging: Obliging,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
):
    usual = Plain.ask

    def interrupted(self: Plain, case: Case):
        if case.id == "q2":
            raise KeyboardInterrupt
        return usual(self, case)

    monkeypatch.setattr(Plain, "ask", interrupted)
    assert run("--against", "plain") == 130
    assert "goes on there" in capsys.readouterr().err
    monkeypatch.setattr(Plain, "ask", usual)
    obliging.received.clear()
    assert run("--against", "plain") == 0
    assert len(obliging.chats) == 25  # the two that were left, and nothing of ours
    written = json.loads((tmp_path / "out.json").read_text())
    assert [turn["id"] for turn in written["contenders"]["plain"]["turns"]] == ["q1", "q2", "q3"]


def test_who_was_changed_is_measured_anew_and_the_others_are_kept(
    run: Callable[..., int], obliging: Obliging, monkeypatch: pytest.MonkeyPatch
):
    assert run("--against", "llamaindex") == 0
    usual = contest._digest
    changed = contest._CODE["llamaindex"]
    monkeypatch.setattr(contest, "_digest", lambda files: usual(files) + ("!" if set(changed) <= set(files) else ""))
    obliging.received.clear()
    assert run("--against", "llamaindex") == 0
    assert len(obliging.chats) == 4  # the engine's


def test_a_contender_that_fails_ends_the_run_and_says_where(
    run: Callable[..., int], obliging: Obliging, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    def broken(_: dict) -> WireReply:
        return WireReply(status=500, error="out of memory")

    monkeypatch.setattr(obliging, "next_reply", broken)
    assert run() == 1
    assert "ours failed at q1" in capsys.readouterr().err


@pytest.mark.parametrize(("given", "told"), [(("--against", "rags"), "rags"), (("--plain-calls", "many"), "LOW-HIGH")])
def test_wrong_options_are_told(run: Callable[..., int], capsys: pytest.CaptureFixture[str], given, told: str):
    assert run(*given) == 1
    assert told in capsys.readouterr().err


def test_a_file_that_is_no_report_is_not_overwritten(
    run: Callable[..., int], tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    (tmp_path / "out.json").write_text('{"shopping": ["salt"]}')
    assert run() == 1
    assert "Name another OUT" in capsys.readouterr().err
    assert "salt" in (tmp_path / "out.json").read_text()


# --- loading ---


def test_loading_is_timed_beside_chroma_s_own_add_of_the_same_texts(tmp_path: Path):
    sections = {
        "Introduction": "Edda Quill was a diver from Harn.",
        "Youth": "Her mother Ilse kept bees. Her father ground barley.",
    }
    compared = loading.compared(page("Edda Quill", sections), tmp_path)
    assert (compared["passages"], compared["texts"]) == (2, 4)  # each passage has one window
    assert compared["embedded_again"] == 1  # the section that was edited
    assert min(compared["load"], compared["chroma"], compared["chroma_passages"], compared["reload"]) > 0


def test_chroma_is_given_our_model_and_makes_the_same_vectors(tmp_path: Path, minilm: MiniLM):
    text = "Her father Bram ground barley, and her mother Ilse kept bees."
    (theirs,) = loading._own_function(tmp_path)([text])
    assert theirs @ minilm.embed([text])[0] > 0.99


def test_limits_are_read() -> None:
    assert report.Limits.read("4500-5700") == report.Limits(4500, 5700)
    assert report.Limits.read("") is None


_: Pages = only
