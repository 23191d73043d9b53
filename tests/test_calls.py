"""One log line for each call to the outside, and nothing of what was asked in it."""

from __future__ import annotations

import json
import logging
import re
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from persona import calls
from persona.adapters.chroma import Chroma
from persona.adapters.wikipedia import Wikipedia
from persona.errors import PageError, WikiBusy
from persona.records import ChatRequest, Message
from tests.loopback import WireReply
from tests.ollama_server import OllamaServer
from tests.openai_style import OpenAIStyleServer
from tests.reader import FATHER, FATHER_ASKED, Reader, reader_of
from tests.wiki_server import one_page, status, wiki_answering


@pytest.fixture
def told(caplog: pytest.LogCaptureFixture) -> Iterator[pytest.LogCaptureFixture]:
    caplog.set_level(logging.INFO, "persona.calls")
    yield caplog
    calls.serve()


def lines(told: pytest.LogCaptureFixture) -> list[dict[str, str]]:
    """The lines as name and value, read back as a program would."""
    texts = [record.getMessage() for record in told.records if record.name == "persona.calls"]
    assert not any("\n" in text for text in texts)
    pairs = [re.findall(r'(\w+)=("(?:[^"\\]|\\.)*"|\S+)', text) for text in texts]
    return [{name: json.loads(value) if value[0] == '"' else value for name, value in found} for found in pairs]


def test_a_turn_s_model_call_is_one_line_with_its_request_and_without_its_text(
    told: pytest.LogCaptureFixture, tmp_path: Path, openai_server: OpenAIStyleServer
) -> None:
    reader = reader_of(tmp_path, openai_server.url)
    told.clear()
    openai_server.replies += [FATHER]
    turn = reader.ask()
    (line,) = lines(told)
    assert line["request"] == turn.request_id
    assert (line["to"], line["call"], line["model"], line["outcome"]) == ("openai", "chat", "tiny-chat", "ok")
    assert line["address"] == openai_server.url
    assert int(line["read"]) > 0
    assert int(line["written"]) > 0
    assert float(line["first"]) <= float(line["seconds"])
    assert "father" not in told.text.lower()
    assert "josiah" not in told.text.lower()


def test_a_call_that_fails_says_how(
    told: pytest.LogCaptureFixture, tmp_path: Path, openai_server: OpenAIStyleServer
) -> None:
    reader = reader_of(tmp_path, openai_server.url)
    told.clear()
    openai_server.replies += [WireReply(FATHER, broken=True)]
    assert reader.ask().state == "failed"
    assert [line["outcome"] for line in lines(told)] == ["ModelUnreachable"]


def test_texts_are_told_only_when_asked_for(
    told: pytest.LogCaptureFixture, tmp_path: Path, openai_server: OpenAIStyleServer
) -> None:
    reader: Reader = reader_of(tmp_path, openai_server.url, log_texts=True)
    try:
        told.clear()
        openai_server.replies += [FATHER]
        reader.ask()
        (line,) = lines(told)
        assert FATHER_ASKED in line["text"]
    finally:
        calls.show_texts(False)


def test_the_wiki_is_told_of_call_by_call(told: pytest.LogCaptureFixture) -> None:
    calls.serve("load-1")
    with wiki_answering(status(503), one_page(title="Sorley Quint", extract="A mapmaker.")) as wiki:
        with pytest.raises(WikiBusy):
            Wikipedia(wiki.api).fetch("Sorley Quint", "en")
        Wikipedia(wiki.api).fetch("Sorley Quint", "en")
    assert [(line["to"], line["call"], line["outcome"], line["request"]) for line in lines(told)] == [
        ("wiki", "query", "WikiBusy", "load-1"),
        ("wiki", "query", "ok", "load-1"),
    ]
    assert "Sorley" not in told.text


def test_whose_picture_is_looked_for_is_not_told(told: pytest.LogCaptureFixture) -> None:
    with wiki_answering(status(404)) as server:
        address = server.api.replace("api.php", "Maud_Sorley.jpg")
        with pytest.raises(PageError):
            Wikipedia(server.api).picture(address)
    (line,) = lines(told)
    assert (line["call"], line["address"]) == ("picture", server.api.removesuffix("/some/where/api.php"))
    assert "Sorley" not in told.text


def test_ollama_is_told_of_call_by_call(told: pytest.LogCaptureFixture, tmp_path: Path) -> None:
    from persona.adapters.ollama import OllamaEmbedder, OllamaModel
    from tests.test_ollama import ask

    with OllamaServer([FATHER]) as server:
        model = OllamaModel(server.address, "qwen3:8b", 8192)
        model.status()
        ask(model)
        OllamaEmbedder(server.address, "bge-m3").embed(["a", "b"])
    assert [(line["to"], line["call"], line["outcome"]) for line in lines(told)] == [
        ("ollama", "look", "ok"),
        ("ollama", "chat", "ok"),
        ("ollama", "embed", "ok"),
    ]
    assert lines(told)[2]["texts"] == "2"


def test_a_chroma_server_is_told_of_and_a_folder_is_not(told: pytest.LogCaptureFixture, tmp_path: Path) -> None:
    vectors = np.eye(4, dtype=np.float32)

    def use(store: Chroma) -> None:
        store.create("b", ["a", "b", "c", "d"], vectors, [{"kind": "chunk"}] * 4)
        assert store.nearest("b", vectors[1], 1, {})[0].chunk == "b"
        assert len(store.vectors("b")) == 4
        assert store.builds() == ["b"]
        store.drop("b")

    use(Chroma(str(tmp_path / "folder")))
    assert lines(told) == []
    with chroma_server(tmp_path / "served") as address:
        use(Chroma(address))
    assert [(line["to"], line["call"], line["outcome"]) for line in lines(told)] == [
        ("chroma", what, "ok") for what in ("create", "query", "get", "list", "delete")
    ]
    assert {line["address"] for line in lines(told)} == {address}


class chroma_server:
    """`chroma run` on loopback."""

    def __init__(self, folder: Path) -> None:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = int(probe.getsockname()[1])
        self._folder = folder

    def __enter__(self) -> str:
        chroma = Path(sys.executable).with_name("chroma")
        command = [str(chroma), "run", "--path", str(self._folder), "--host", "127.0.0.1", "--port", str(self.port)]
        nowhere = subprocess.DEVNULL
        self._process = subprocess.Popen(command, stdout=nowhere, stderr=nowhere)
        until = time.monotonic() + 60
        while True:
            try:
                socket.create_connection(("127.0.0.1", self.port), 1).close()
            except OSError:
                assert time.monotonic() < until
                time.sleep(0.1)
            else:
                return f"http://127.0.0.1:{self.port}"

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.wait()


def test_neither_passwords_nor_the_built_in_server_s_secret_are_told(told: pytest.LogCaptureFixture) -> None:
    from persona.adapters.openai_server import OpenAIServerModel

    with calls.logged("wiki", "query", address="https://me:secret@wiki.test/api.php"):
        pass
    with OpenAIStyleServer([FATHER]) as server:
        server.routes = {name.replace("/v1", "/secret/v1"): route for name, route in server.routes.items()}
        model = OpenAIServerModel(lambda: f"{server.address}/secret/v1", "tiny-chat", 8192, kind="builtin")
        assert model.status().ready
        list(model.chat(ChatRequest((Message("user", "Who?"),), 100)))
        assert [line["address"] for line in lines(told)] == ["https://wiki.test/api.php", *[server.address] * 2]
    assert "secret" not in told.text


def test_no_value_can_forge_a_line(told: pytest.LogCaptureFixture) -> None:
    with calls.logged("wiki", 'que"ry', address="http://x\nto=nobody call=forged", note=""):
        pass
    (line,) = lines(told)
    assert (line["call"], line["address"], line["note"]) == ('que"ry', "http://x\nto=nobody call=forged", "")


def test_what_a_thread_serves_is_its_own_and_ends_with_the_turn(
    told: pytest.LogCaptureFixture, tmp_path: Path, openai_server: OpenAIStyleServer
) -> None:
    calls.serve("mine")
    reader = reader_of(tmp_path, openai_server.url)
    openai_server.replies += [FATHER]
    *_, _ended = reader.wiring.interview.ask(FATHER_ASKED, reader.thread, request_id="r-1")
    with calls.logged("wiki", "query"):
        pass
    assert [line["request"] for line in lines(told)][-2:] == ["r-1", "-"]
