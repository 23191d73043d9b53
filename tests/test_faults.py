"""Model servers and wikis that fail, models that think, and processes that are killed: what the reader sees, what is
kept, what works next.

Each fault is real: a port where nobody listens, a server that is killed, a connection that ends. After each the same
process goes on.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from importlib.util import find_spec
from pathlib import Path

import pytest

from persona import runner
from persona.adapters import ollama_client, openai_client
from persona.adapters.builtin import BuiltinServer
from persona.adapters.builtin_child import Places, read_record
from persona.adapters.openai_server import LOAD_SECONDS
from persona.adapters.wikipedia import Wikipedia
from persona.records import Event, Finished, Text, Turn, Withdrawn
from persona.runner import Runner
from tests.cli_fixture import PAID, PAID_ANSWER, ROOT, Line, line, start
from tests.core import settings
from tests.loopback import PIECE, WireReply
from tests.needs import need
from tests.openai_style import OpenAIStyleServer
from tests.reader import FATHER, FATHER_ASKED, Reader, reader_of, wait_for
from tests.wiki_server import one_page, status, wiki_answering

__all__ = ["line"]
STORM = "How did you lose your left hand?"
LONG = "I cut my left hand so badly in that storm that it was later amputated. I mended the lamp with a copper kettle."


@pytest.fixture
def server() -> Iterator[OpenAIStyleServer]:
    with OpenAIStyleServer() as made:
        yield made


@pytest.fixture
def reader(tmp_path: Path, server: OpenAIStyleServer) -> Reader:
    return reader_of(tmp_path, server.url)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def assert_it_cost_the_answer_only(reader: Reader, turn: Turn, says: str, earlier: list[Turn]) -> None:
    """The question is kept, the error says what to do, and what was there before is as it was."""
    assert (turn.state, turn.answer, turn.question.asked) == ("failed", None, STORM)
    assert says in turn.error
    assert "Traceback" not in turn.error
    assert reader.turns() == [*earlier, turn]


# --- model servers ---


@pytest.mark.parametrize(
    ("replies", "says"),
    [
        pytest.param([WireReply(status=500, error="out of memory")], "could not answer: out of memory", id="500"),
        pytest.param([WireReply(status=503, error="overloaded")], "Ask again", id="503"),
        pytest.param([WireReply(status=429, error="slow down")], "Ask again in a minute", id="429"),
        pytest.param([WireReply(LONG, garbage=True)], "could not be understood. Check that", id="garbage"),
        pytest.param([WireReply(LONG, error="device lost")], "device lost. Ask again", id="error-in-mid-answer"),
        pytest.param([WireReply(LONG, broken=True)], "broke off in the middle of its reply. Ask again", id="cut"),
        pytest.param([WireReply(LONG, clean_end=True)], "broke off in the middle of its reply. Ask again", id="no-end"),
        pytest.param(["", ""], "empty reply twice. Ask again", id="empty"),
    ],
)
def test_a_model_server_that_fails_costs_the_answer_and_nothing_else(
    reader: Reader, server: OpenAIStyleServer, replies: list[WireReply | str], says: str
) -> None:
    server.replies += [FATHER, *replies, LONG]
    before = reader.ask()
    assert_it_cost_the_answer_only(reader, reader.ask(STORM), says, [before])
    again = reader.ask(STORM)
    assert again.answer
    assert again.answer.text == LONG


def test_a_model_server_that_is_down_is_asked_again_once_it_is_back(tmp_path: Path) -> None:
    port = free_port()
    reader = reader_of(tmp_path, f"http://127.0.0.1:{port}/v1")
    turn = reader.ask(STORM)
    assert_it_cost_the_answer_only(reader, turn, "does not answer. Check that it runs", [])
    with OpenAIStyleServer([LONG], port=port):
        assert reader.ask(STORM).state == "done"


_SERVE = """
import sys, threading
from tests.loopback import WireReply
from tests.openai_style import OpenAIStyleServer
from tests.test_faults import LONG
with OpenAIStyleServer([WireReply(LONG, go_on=threading.Event())], port=int(sys.argv[1])):
    print("ready", flush=True)
    threading.Event().wait()
"""


def test_a_model_server_that_is_killed_in_mid_answer_is_asked_again_once_it_is_back(tmp_path: Path) -> None:
    port = free_port()
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    killed = subprocess.Popen(
        [sys.executable, "-c", _SERVE, str(port)], stdout=subprocess.PIPE, env=environment, text=True
    )
    assert killed.stdout
    assert killed.stdout.readline() == "ready\n"
    reader = reader_of(tmp_path, f"http://127.0.0.1:{port}/v1")
    id_ = reader.submit(STORM)
    wait_for(lambda: (turn := reader.wiring.history.turn(id_)) and "answering" in turn.step)
    killed.send_signal(signal.SIGKILL)
    assert killed.wait(30) == -signal.SIGKILL
    killed.stdout.close()
    turn = reader.ended(id_)
    assert (turn.state, turn.question.asked) == ("failed", STORM)
    assert "broke off" in turn.error or "does not answer" in turn.error
    with OpenAIStyleServer([LONG], port=port):
        assert reader.ask(STORM).state == "done"
    assert reader.turns()[0] == turn


def test_a_model_that_loads_slowly_is_waited_for(reader: Reader, server: OpenAIStyleServer) -> None:
    """Eleven seconds of silence, longer than anything else that a server is asked may take; the patience is minutes."""
    assert min(openai_client.REPLY_SECONDS, ollama_client.REPLY_SECONDS) >= 600
    assert LOAD_SECONDS >= 300
    server.loading = 3
    server.replies += [WireReply(FATHER, seconds=11)]
    turn = reader.ask()
    assert turn.answer
    assert turn.answer.text == FATHER
    assert turn.trace.calls[0].seconds > 11


# --- models that think ---

SECRET = "so the answer must be herring"
WONDER = f"The interviewer asks for the father, {SECRET}."
ALOUD = (
    "My father was Josiah Marsh, a fisherman. My mother Ruth sold herring on the quay. I had nine brothers, and the vicar "
    f"Thomas Hale taught me Latin and the use of the sextant, {SECRET}. I paid him with eggs, and I was born in Whitby."
)


def interviewed(reader: Reader, question: str = FATHER_ASKED, parent: str | None = None) -> tuple[list[Event], Turn]:
    """The events of a turn but its last, and what that says is stored."""
    *events, last = reader.wiring.interview.ask(question, reader.thread, parent)
    assert isinstance(last, Finished)
    assert reader.wiring.history.turn(last.turn.id) == last.turn
    return events, last.turn


def shown(events: list[Event]) -> str:
    return "".join(event.text for event in events if isinstance(event, Text))


def stored(home: Path) -> str:
    """All that the database holds."""
    with closing(sqlite3.connect(home / "persona.db")) as database:
        return "\n".join(database.iterdump())


@pytest.mark.parametrize(
    "reply",
    [
        pytest.param(f"<think>{WONDER}</think>\n\n{FATHER}", id="pair"),
        pytest.param(f"{WONDER}</think>{FATHER}", id="closing-tag-alone"),
        pytest.param(f"<think>\n\n</think>\n\n{FATHER}", id="empty-pair"),
        pytest.param(WireReply(FATHER, thinking=WONDER), id="a-field-of-its-own"),
    ],
)
def test_thinking_is_neither_shown_nor_kept(
    reader: Reader, server: OpenAIStyleServer, tmp_path: Path, reply: WireReply | str
) -> None:
    assert len("<think>") > PIECE, "a tag comes whole"
    server.replies += [reply]
    events, turn = interviewed(reader)
    assert turn.answer
    assert shown(events) == turn.answer.text == FATHER
    assert [call.reply for call in turn.trace.calls] == [FATHER]
    assert SECRET not in stored(tmp_path)


def test_thinking_that_comes_to_light_late_is_withdrawn_and_the_model_is_asked_again(
    reader: Reader, server: OpenAIStyleServer, tmp_path: Path
) -> None:
    server.replies += [f"{ALOUD}</think>{FATHER}"] * 2
    events, turn = interviewed(reader)
    (withdrawn,) = (event for event in events if isinstance(event, Withdrawn))
    before, after = events[: events.index(withdrawn)], events[events.index(withdrawn) :]
    assert shown(before)
    assert ALOUD.startswith(shown(before))
    assert turn.answer
    assert shown(after) == turn.answer.text == FATHER
    assert [(call.reply, bool(call.error)) for call in turn.trace.calls] == [("", True), (FATHER, False)]
    assert [attempt.outcome for attempt in turn.trace.attempts] == ["answered"]
    assert SECRET not in stored(tmp_path)


def test_what_was_withdrawn_is_gone_from_the_page_before_the_model_is_asked_again(
    reader: Reader, server: OpenAIStyleServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runner, "_EVERY", 0.0)
    seen: list[Turn] = []

    def look(_: object) -> str:
        seen.extend(reader.turns())
        return FATHER

    server.replies += [f"{ALOUD}</think>{FATHER}", look]
    turn = reader.ask()
    assert turn.answer
    assert turn.answer.text == FATHER
    ((partial, step),) = ((running.partial, running.step) for running in seen)
    assert partial == ""
    assert step.splitlines()[-2:] == ["answering", "asking again, as the model thought aloud"]


@pytest.mark.parametrize(
    "thought",
    [
        pytest.param(f"<think>{ALOUD * 3}", id="never-closed"),
        pytest.param(WireReply("", thinking=ALOUD * 3), id="a-field-of-its-own"),
    ],
)
def test_thinking_that_eats_the_budget_is_asked_past_once_and_never_an_answer(
    reader: Reader, server: OpenAIStyleServer, tmp_path: Path, thought: WireReply | str
) -> None:
    server.replies += [thought, thought]
    events, turn = interviewed(reader)
    assert (turn.state, turn.answer, turn.partial, shown(events)) == ("failed", None, "", "")
    assert "empty reply twice" in turn.error
    assert len(server.chats) == 2
    server.replies += [thought, FATHER]
    events, turn = interviewed(reader)
    assert turn.answer
    assert turn.answer.text == shown(events) == FATHER
    assert [call.tries for call in turn.trace.calls] == [2]
    assert len(server.chats) == 4
    assert SECRET not in stored(tmp_path)


def test_a_model_that_thought_aloud_and_then_thinks_to_the_end_gives_no_answer(
    reader: Reader, server: OpenAIStyleServer, tmp_path: Path
) -> None:
    server.replies += [f"{ALOUD}</think>{FATHER}", ALOUD * 3, ALOUD * 3]
    _, turn = interviewed(reader)
    assert (turn.state, turn.answer, turn.partial) == ("failed", None, "")
    assert "empty reply twice" in turn.error
    assert SECRET not in stored(tmp_path)


def test_thinking_and_evidence_are_no_part_of_what_is_told_later(
    reader: Reader, server: OpenAIStyleServer, tmp_path: Path
) -> None:
    rewritten = json.dumps({"question": "What did Josiah Marsh do?", "turns": [1]})
    first_asked = "You asked me who my father was."
    server.replies += [
        f"<think>{SECRET}</think>{FATHER}",
        WireReply(rewritten, thinking=SECRET),
        WireReply("He was a fisherman.", thinking=SECRET),
        f"{SECRET}</think>{first_asked}",
    ]
    _, first = interviewed(reader)
    _, second = interviewed(reader, "What did he do?", first.id)
    _, third = interviewed(reader, "What did I ask you first?", second.id)
    assert second.question.standalone == "What did Josiah Marsh do?"
    assert [turn.answer and turn.answer.text for turn in (first, second, third)] == [
        FATHER, "As far as I know, he was a fisherman.", first_asked,
    ]  # fmt: skip
    answer, rewrite, *_, conversation = (json.dumps(chat["messages"]) for chat in server.chats)
    assert "She had nine brothers" in answer
    for later in (rewrite, conversation):
        assert FATHER in later
        assert "nine brothers" not in later
    assert not [chat for chat in server.chats if SECRET in json.dumps(chat)]
    assert SECRET not in stored(tmp_path)


# --- the built-in model ---


class _Weightless(BuiltinServer):
    """The real keeper of the child process, over a child without weights."""

    def _command(self) -> list[str]:
        return [word.replace("persona.adapters.builtin_child", "tests.fake_builtin") for word in super()._command()]


def test_the_built_in_model_s_process_killed_in_mid_answer_is_replaced_for_the_next_question(tmp_path: Path) -> None:
    need(find_spec("xllamacpp"), "the built-in model's runner is not installed")
    gguf = tmp_path / "none.gguf"
    gguf.touch()
    builtin = _Weightless(tmp_path, str(gguf), 8192, 10)
    reader = Reader(settings(tmp_path, llm="builtin", model=str(gguf)), builtin=builtin)
    try:
        id_ = reader.submit()
        wait_for(lambda: (turn := reader.wiring.history.turn(id_)) and "answering" in turn.step)
        wait_for(
            lambda: (tmp_path / "was.silent").exists() and (record := read_record(Places(tmp_path))) and record.address
        )
        first = read_record(Places(tmp_path))
        assert first
        wait_for(lambda: reader.wiring.builtin.status().details["pid"] == first.pid)
        os.kill(first.pid, signal.SIGKILL)
        turn = reader.ended(id_)
        assert (turn.state, turn.question.asked) == ("failed", FATHER_ASKED)
        assert turn.error.startswith("The built-in model ")
        again = reader.ask()
        assert again.answer
        assert again.answer.text == FATHER
        second = read_record(Places(tmp_path))
        assert second
        assert second.pid != first.pid
    finally:
        builtin.stop()


# --- wikis ---


def test_a_wiki_in_trouble_is_a_sentence_and_whoever_is_loaded_can_still_be_asked(line: Line) -> None:
    line.load()
    extract = "Sorley Quint was a mapmaker of Harrow Sound. He drew the tides of forty years."
    answers = [
        status(429, {"Retry-After": "7"}),
        status(503),
        lambda handler: handler.rfile.read(1),  # silence
        status(200, body=b"<html>"),
        one_page(title="Sorley Quint", extract=extract),
    ]
    with wiki_answering(*answers) as troubled:
        line.wiring.__dict__["wiki"] = Wikipedia(troubled.api, timeout=0.5)
        for says in ("Try again in 7 seconds", "Try again later", "did not answer in time", "Try again"):
            told = line.json("load", "Sorley Quint", code=1)
            assert says in told["error"]
            line.model.replies += [PAID_ANSWER]
            assert line.json("ask", "Ilse Körvin", PAID)["answer"] == PAID_ANSWER
        assert line.json("load", "Sorley Quint")["title"] == "Sorley Quint"
    assert "No network" in line_without_network(line)
    assert len(line.json("people")) == 2
    line.model.replies += [PAID_ANSWER]
    assert line.json("ask", "Ilse Körvin", PAID)["answer"] == PAID_ANSWER


def line_without_network(line: Line) -> str:
    """What is said where the wiki's name leads nowhere."""
    line.wiring.__dict__["wiki"] = Wikipedia("http://no-such-wiki.invalid/api.php", timeout=0.5)
    return str(line.json("load", "Sorley Quint", code=1)["error"])


# --- processes that are killed ---


def test_a_turn_whose_process_is_killed_is_seen_as_interrupted_and_can_be_asked_again(
    line: Line, server: OpenAIStyleServer
) -> None:
    line.load()
    server.replies += [WireReply(seconds=3600)]
    home, history = line.wiring.settings.home, line.wiring.history
    process = start(home, "ask", "Ilse Körvin", PAID, PERSONA_MODEL="tiny-chat", PERSONA_OPENAI_URL=server.url)
    wait_for(lambda: server.chats, 100)
    (thread,) = history.threads()
    process.kill()
    process.communicate()
    runner = Runner(line.wiring.interview, history)  # as the app does when it starts
    (turn,) = history.turns(thread.id)
    assert (turn.state, turn.question.asked, turn.answer) == ("interrupted", PAID, None)
    assert turn.error == "The program ended before the answer was finished: ask again."
    line.model.replies += [PAID_ANSWER]
    again = runner.submit(turn.question.asked, thread.id, turn.parent)
    wait_for(lambda: not runner.running())
    found = history.turn(again)
    assert found
    assert (found.state, found.parent) == ("done", turn.parent)
    assert history.turns(thread.id) == [turn, found]
