"""What every chat model must do, scripted or real: the contract of ports.ChatModel."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing

import pytest

from persona.adapters.ollama import OllamaModel
from persona.adapters.openai_server import OpenAIServerModel
from persona.errors import ContextExceeded, ModelError, ModelGarbled, ModelMissing, ModelUnreachable, ThoughtAloud
from persona.ports import ChatModel
from persona.records import ChatRequest, Delta, Message, Usage
from tests.loopback import LoopbackServer, WireReply
from tests.ollama_server import OllamaServer
from tests.openai_style import OpenAIStyleServer
from tests.scripted import Reply, ScriptedModel

ANSWER = "I was born in Smiljan, in the year 1856. My father was a priest."


def request(*, stream: bool, max_tokens: int = 100, stop: tuple[str, ...] = ()) -> ChatRequest:
    messages = (Message("system", "You are he."), Message("user", "Where were you born?"))
    return ChatRequest(messages, max_tokens, stream=stream, stop=stop)


def text(deltas: list[Delta]) -> str:
    return "".join(delta.text for delta in deltas)


Made = tuple[ChatModel, LoopbackServer | ScriptedModel]


@pytest.fixture(params=["ollama", "openai"])
def served(request: pytest.FixtureRequest) -> Iterator[tuple[ChatModel, LoopbackServer]]:
    """An adapter and the scripted server behind it."""
    server: OllamaServer | OpenAIStyleServer
    if request.param == "ollama":
        with OllamaServer() as server:
            yield OllamaModel(server.address, "qwen3:8b", 8192), server
    else:
        with OpenAIStyleServer(models=["qwen3-8b"]) as server:
            yield OpenAIServerModel(lambda: server.url, "qwen3-8b", 8192), server


@pytest.fixture(params=["ollama", "openai", "scripted"])
def model_saying(request: pytest.FixtureRequest) -> Iterator[Callable[..., ChatModel]]:
    """Makes a model that gives these texts, one call after another; all must have been asked for in the end."""
    if request.param == "scripted":
        scripted: list[ScriptedModel] = []

        def script(*texts: str) -> ChatModel:
            scripted.append(ScriptedModel(texts))
            return scripted[-1]

        yield script
        for made in scripted:
            made.assert_done()
        return
    served: Made = request.getfixturevalue("_served_llama" if request.param == "ollama" else "_served_plain")
    model, server = served

    def say(*texts: str) -> ChatModel:
        server.replies.extend(texts)  # type: ignore[arg-type]
        return model

    yield say


@pytest.fixture
def _served_llama() -> Iterator[Made]:
    with OllamaServer() as server:
        yield OllamaModel(server.address, "llama3.2", 8192), server


@pytest.fixture
def _served_plain() -> Iterator[Made]:
    with OpenAIStyleServer(models=["llama-3.2"]) as server:
        yield OpenAIServerModel(lambda: server.url, "llama-3.2", 8192), server


# --- replies ---


def test_streamed_or_not_the_reply_is_the_same(model_saying: Callable[..., ChatModel]) -> None:
    model = model_saying(ANSWER, ANSWER)
    whole, pieces = list(model.chat(request(stream=False))), list(model.chat(request(stream=True)))
    assert len(whole) == 1
    assert len(pieces) > 5
    assert text(whole) == text(pieces) == ANSWER


@pytest.mark.parametrize("stream", [True, False])
def test_usage_and_finish_come_with_the_last_piece_alone(model_saying: Callable[..., ChatModel], stream: bool) -> None:
    *pieces, last = model_saying(ANSWER).chat(request(stream=stream))
    assert last.finish == "stop"
    assert last.usage
    assert last.usage.prompt_tokens > 0
    assert last.usage.output_tokens > 0
    assert all(piece.usage is None and piece.finish == "" for piece in pieces)


@pytest.mark.parametrize("stream", [True, False])
def test_the_reply_ends_before_a_stop_text(model_saying: Callable[..., ChatModel], stream: bool) -> None:
    deltas = list(model_saying(ANSWER).chat(request(stream=stream, stop=("never", ". My"))))
    assert text(deltas) == "I was born in Smiljan, in the year 1856"
    assert deltas[-1].finish == "stop"


@pytest.mark.parametrize("stream", [True, False])
def test_an_empty_reply_is_reported_as_it_is(model_saying: Callable[..., ChatModel], stream: bool) -> None:
    (last,) = model_saying("").chat(request(stream=stream))
    assert last.text == ""
    assert last.finish == "stop"
    assert last.usage is not None


def test_nothing_happens_before_the_first_piece_is_asked_for(model_saying: Callable[..., ChatModel]) -> None:
    model_saying().chat(request(stream=True))  # the script is empty: a call would be a failure


def test_a_model_tells_its_name_and_context_window(model_saying: Callable[..., ChatModel]) -> None:
    model = model_saying()
    assert model.name
    assert model.context_window == 8192
    assert model.status().ready


# --- what only servers can do ---


@pytest.mark.parametrize("stream", [True, False])
def test_a_reply_cut_off_for_its_length_says_so(served: tuple[ChatModel, LoopbackServer], stream: bool) -> None:
    model, server = served
    server.replies.append(ANSWER)
    deltas = list(model.chat(request(stream=stream, max_tokens=3)))
    assert text(deltas) == ANSWER[:12]
    assert deltas[-1].finish == "length"


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize(
    "reply",
    [
        WireReply("<think>Who asks?</think>\n\nHi"),
        WireReply("I greet back.</think>\n\nHi"),
        WireReply("<think>\n\n</think>\n\nHi"),
        WireReply("Hi", thinking="Who asks?"),
    ],
)
def test_thinking_is_no_part_of_the_reply(
    served: tuple[ChatModel, LoopbackServer], reply: WireReply, stream: bool
) -> None:
    model, server = served
    server.replies.append(reply)
    assert [delta.text for delta in model.chat(request(stream=stream)) if delta.text] == ["Hi"]


@pytest.mark.parametrize("stream", [True, False])
def test_a_reply_of_thinking_alone_is_empty(served: tuple[ChatModel, LoopbackServer], stream: bool) -> None:
    model, server = served
    server.replies.append("<think>I wonder and wonder and")
    deltas = list(model.chat(request(stream=stream, max_tokens=5)))
    assert text(deltas) == ""
    assert deltas[-1].finish == "length"


def test_after_a_model_thought_aloud_its_replies_are_held_back_whole(
    served: tuple[ChatModel, LoopbackServer],
) -> None:
    model, server = served
    long = "Let me see what the page says of it. " * 20 + "</think>Hi"
    server.replies += [long, long, long]
    with pytest.raises(ThoughtAloud, match="Ask again"):
        list(model.chat(request(stream=True, max_tokens=1000)))
    assert [delta.text for delta in model.chat(request(stream=True, max_tokens=1000))] == ["Hi"]
    assert text(list(model.chat(request(stream=True, max_tokens=100)))) == "", "cut before its thinking ended"


def test_closing_the_iterator_ends_the_request(served: tuple[ChatModel, LoopbackServer]) -> None:
    model, server = served
    go_on = threading.Event()
    server.replies.append(WireReply("word " * 200_000, go_on=go_on))
    go_on.set()
    with closing(model.chat(request(stream=True, max_tokens=1_000_000))) as deltas:  # type: ignore[type-var]
        assert next(deltas).text
    deadline = time.monotonic() + 5
    while not server.left and time.monotonic() < deadline:
        time.sleep(0.02)
    assert server.left == 1


def test_a_stopped_scripted_call_is_noted() -> None:
    model = ScriptedModel([ANSWER])
    with closing(model.chat(request(stream=True))) as deltas:  # type: ignore[type-var]
        next(deltas)
    assert model.closed == [0]


@pytest.mark.parametrize("stream", [True, False])
def test_a_slow_first_piece_is_waited_for(served: tuple[ChatModel, LoopbackServer], stream: bool) -> None:
    model, server = served
    server.replies.append(WireReply("Hi", seconds=1.0))
    assert text(list(model.chat(request(stream=stream)))) == "Hi"


def test_two_calls_at_once_do_not_mix(served: tuple[ChatModel, LoopbackServer]) -> None:
    model, server = served
    server.replies += [lambda body: body["messages"][-1]["content"][::-1]] * 8
    replies: dict[str, str] = {}

    def ask(question: str) -> None:
        deltas = list(model.chat(ChatRequest((Message("user", question),), 100, stream=True)))
        replies[question] = text(deltas)

    threads = [threading.Thread(target=ask, args=(f"question number {number}",)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(10)
    assert replies == {question: question[::-1] for question in (f"question number {number}" for number in range(8))}


# --- errors ---


@pytest.mark.parametrize("stream", [True, False])
def test_a_server_that_is_down_is_unreachable(stream: bool) -> None:
    server = OllamaServer()
    with server:
        pass
    for model in (
        OllamaModel(server.address, "qwen3:8b", 8192),
        OpenAIServerModel(lambda: f"{server.address}/v1", "qwen3-8b", 8192),
    ):
        with pytest.raises(ModelUnreachable, match=server.address):
            list(model.chat(request(stream=stream)))
        assert not model.status().ready
        assert model.status().problem
        assert model.status().remedy


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize(
    ("reply", "error", "says"),
    [
        (WireReply(status=500, error="llama runner process has terminated"), ModelError, "runner process"),
        (WireReply(ANSWER, error="an error was encountered"), ModelError, "an error was encountered"),
        (WireReply(ANSWER, broken=True), ModelUnreachable, "broke off"),
        (WireReply(ANSWER, clean_end=True), ModelUnreachable, "broke off"),
        (WireReply(ANSWER, garbage=True), ModelGarbled, "could not be understood"),
        (WireReply(status=400, error="the request exceeds the available context size"), ContextExceeded, "WINDOW"),
        (WireReply(status=429, error="slow down"), ModelError, "slow down"),
        (WireReply(status=503, error="server busy, please try again"), ModelError, "server busy"),
    ],
)
def test_each_fault_is_an_error_that_says_what_to_do(
    served: tuple[ChatModel, LoopbackServer], reply: WireReply, error: type[Exception], says: str, stream: bool
) -> None:
    model, server = served
    server.replies.append(reply)
    with pytest.raises(error, match=says) as raised:
        list(model.chat(request(stream=stream)))
    assert str(raised.value).count(". ") >= 1
    assert type(raised.value) is error
    assert raised.value.__cause__ is not None or reply.clean_end


def test_what_came_before_a_break_was_passed_on(served: tuple[ChatModel, LoopbackServer]) -> None:
    model, server = served
    told = "I was born in Smiljan. " * 20
    server.replies.append(WireReply(told, broken=True))
    got: list[str] = []
    with pytest.raises(ModelUnreachable):
        collect(model.chat(request(stream=True, max_tokens=1000)), got)
    assert "".join(got) == told


def collect(deltas: Iterator[Delta], into: list[str]) -> None:
    for delta in deltas:
        into.append(delta.text)  # one by one: what came before an error is wanted too


@pytest.mark.parametrize("stream", [True, False])
def test_a_model_that_the_server_does_not_have_is_missing(
    ollama_server: OllamaServer, openai_server: OpenAIStyleServer, stream: bool
) -> None:
    with pytest.raises(ModelMissing, match="`ollama pull nobody`"):
        list(OllamaModel(ollama_server.address, "nobody", 8192).chat(request(stream=stream)))
    with pytest.raises(ModelMissing, match="PERSONA_MODEL"):
        list(OpenAIServerModel(lambda: openai_server.url, "nobody", 8192).chat(request(stream=stream)))


# --- the scripted model itself ---


def test_a_call_beyond_the_script_fails_and_stays_a_failure() -> None:
    model = ScriptedModel()
    with pytest.raises(AssertionError, match="script is empty"):
        list(model.chat(request(stream=True)))
    with pytest.raises(AssertionError, match="1 calls beyond the script"):
        model.assert_done()


def test_an_unfinished_script_fails() -> None:
    with pytest.raises(AssertionError, match="not finished, 1 left"):
        ScriptedModel(["never asked for"]).assert_done()


def test_a_scripted_error_comes_after_its_text() -> None:
    model = ScriptedModel([Reply("Hi", error=ModelUnreachable("gone")), ModelMissing("no such model")])
    got: list[str] = []
    with pytest.raises(ModelUnreachable):
        collect(model.chat(request(stream=True)), got)
    assert "".join(got) == "Hi"
    with pytest.raises(ModelMissing):
        list(model.chat(request(stream=False)))


def test_a_scripted_reply_can_be_a_function_of_the_request() -> None:
    model = ScriptedModel([lambda asked: asked.messages[-1].text.upper()])
    assert text(list(model.chat(request(stream=True)))) == "WHERE WERE YOU BORN?"
    assert model.requests == [request(stream=True)]


def test_a_scripted_reply_can_name_its_usage_and_finish() -> None:
    model = ScriptedModel([Reply("Hi", finish="length", usage=Usage(7, 3, 2))])
    assert list(model.chat(request(stream=False))) == [Delta("Hi", Usage(7, 3, 2), "length")]


def test_an_unfinished_wire_script_fails() -> None:
    with pytest.raises(AssertionError, match="not finished"), OllamaServer(["never asked for"]):
        pass
    with pytest.raises(AssertionError, match="script is empty"), OllamaServer() as server, pytest.raises(ModelError):
        list(OllamaModel(server.address, "qwen3:8b", 8192).chat(request(stream=False)))
