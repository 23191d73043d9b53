from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from persona.adapters.openai_server import OpenAIEmbedder, OpenAIServerModel
from persona.errors import ContextExceeded, EmbedderError, ModelError, ModelMissing, ModelUnreachable
from persona.records import ChatRequest, Message, Usage
from tests.loopback import WireReply
from tests.openai_style import OpenAIStyleServer

SCHEMA = {
    "type": "object",
    "properties": {"section": {"type": "integer", "enum": [0, 1, 2]}},
    "required": ["section"],
    "additionalProperties": False,
}
QUESTION = (Message("system", "You are he."), Message("user", "Where were you born?"))


def made(server: OpenAIStyleServer, model: str = "tiny-chat", **more: Any) -> OpenAIServerModel:
    return OpenAIServerModel(lambda: server.url, model, 8192, **more)


def ask(model: OpenAIServerModel, **fields: Any) -> str:
    return "".join(delta.text for delta in model.chat(ChatRequest(QUESTION, 100, **fields)))


# --- what is sent ---


@pytest.mark.parametrize("stream", [True, False])
def test_a_request_holds_exactly_what_it_should(openai_server: OpenAIStyleServer, stream: bool) -> None:
    openai_server.replies.append('{"section": 1}')
    ask(made(openai_server), schema=SCHEMA, stop=("\n\n",), stream=stream, temperature=0.25)
    assert openai_server.chats == [
        {
            "model": "tiny-chat",
            "messages": [
                {"role": "system", "content": "You are he."},
                {"role": "user", "content": "Where were you born?"},
            ],
            "max_tokens": 100,
            "temperature": 0.25,
            "stop": ["\n\n"],
            "stream": stream,
            "response_format": {
                "type": "json_schema",
                "json_schema": {"name": "reply", "strict": True, "schema": SCHEMA},
            },
            "chat_template_kwargs": {"enable_thinking": False},
            **({"stream_options": {"include_usage": True}} if stream else {}),
        }
    ]


def test_what_was_not_asked_for_is_not_sent(openai_server: OpenAIStyleServer) -> None:
    openai_server.replies.append("Hi")
    ask(made(openai_server))
    assert openai_server.chats[0].keys() == {
        "model",
        "messages",
        "max_tokens",
        "temperature",
        "stream",
        "chat_template_kwargs",
    }


def test_what_cannot_be_kept_from_thinking_has_room_for_it(openai_server: OpenAIStyleServer) -> None:
    for model, tokens in [("gpt-oss-20b", 1124), ("deepseek-r1-8b", 1124), ("tiny-chat", 100)]:
        openai_server.models = (model,)
        openai_server.replies.append("Hi")
        ask(made(openai_server, model))
        assert openai_server.chats[-1]["max_tokens"] == tokens


@pytest.mark.parametrize("stream", [True, False])
def test_a_long_answer_is_kept_where_the_server_keeps_thinking_apart(
    openai_server: OpenAIStyleServer, stream: bool
) -> None:
    openai_server.models = ("deepseek-r1-8b",)
    openai_server.replies.append(WireReply("word " * 2000, thinking="Who asks?"))
    deltas = list(made(openai_server, "deepseek-r1-8b").chat(ChatRequest(QUESTION, 100, stream=stream)))
    assert "".join(delta.text for delta in deltas).startswith("word word")
    assert deltas[-1].finish == "length"


def test_fields_that_a_server_refuses_are_left_out_from_then_on(openai_server: OpenAIStyleServer) -> None:
    openai_server.unknown = {"chat_template_kwargs", "response_format", "stream_options"}
    openai_server.replies += ["Hi", "Hi"]
    model = made(openai_server)
    assert ask(model, schema=SCHEMA, stream=True) == "Hi"
    tries = len(openai_server.chats)
    assert tries == 4
    assert ask(model, schema=SCHEMA, stream=True) == "Hi"
    assert len(openai_server.chats) == tries + 1
    assert not openai_server.unknown & openai_server.chats[-1].keys()


def test_another_refusal_is_not_tried_again(openai_server: OpenAIStyleServer) -> None:
    openai_server.replies.append(WireReply(status=400, error="temperature must be positive"))
    with pytest.raises(ModelError, match="temperature must be positive"):
        ask(made(openai_server))
    assert len(openai_server.chats) == 1


def test_the_address_is_asked_for_with_every_call() -> None:
    with OpenAIStyleServer(["here"]) as first, OpenAIStyleServer(["there"]) as second:
        addresses = [first.url]
        model = OpenAIServerModel(lambda: addresses[-1], "tiny-chat", 8192)
        assert ask(model) == "here"
        addresses.append(second.url)
        assert ask(model) == "there"


def test_an_address_without_its_path_is_completed(openai_server: OpenAIStyleServer) -> None:
    openai_server.replies.append("Hi")
    assert ask(OpenAIServerModel(lambda: f"{openai_server.address}/", "tiny-chat", 8192)) == "Hi"


def test_no_model_named_means_the_first_that_is_served(openai_server: OpenAIStyleServer) -> None:
    openai_server.replies += ["Hi", "Hi"]
    openai_server.models = ["first", "second"]
    model = made(openai_server, "")
    ask(model)
    ask(model)
    assert model.name == "first"
    assert [body["model"] for body in openai_server.chats] == ["first", "first"]
    assert len(openai_server.bodies("/v1/models")) == 1


def test_a_server_without_models_says_so(openai_server: OpenAIStyleServer) -> None:
    openai_server.models = []
    with pytest.raises(ModelMissing, match="serves no model"):
        ask(made(openai_server, ""))


# --- what comes back ---


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize("details", [True, False])
def test_usage_tells_what_had_been_read_before(openai_server: OpenAIStyleServer, details: bool, stream: bool) -> None:
    openai_server.usage_details = details
    openai_server.replies.append(WireReply("12345678", prompt_tokens=300, cached_tokens=250))
    *_, last = made(openai_server).chat(ChatRequest(QUESTION, 100, stream=stream))
    assert last.usage == Usage(300, 2, 250)


def test_a_server_that_loads_its_model_is_waited_for(openai_server: OpenAIStyleServer) -> None:
    openai_server.loading = 3
    openai_server.replies.append("Hi")
    assert ask(made(openai_server), stream=True) == "Hi"
    assert len(openai_server.chats) == 4


def test_a_failure_is_not_tried_again(openai_server: OpenAIStyleServer) -> None:
    openai_server.replies.append(WireReply(status=500, error="out of memory"))
    with pytest.raises(ModelError, match="out of memory"):
        ask(made(openai_server))
    assert len(openai_server.chats) == 1


def test_a_request_beyond_the_servers_window_says_what_to_set(openai_server: OpenAIStyleServer) -> None:
    openai_server.context_window = 3
    with pytest.raises(ContextExceeded, match="PERSONA_CONTEXT_WINDOW"):
        ask(made(openai_server))


@pytest.mark.parametrize("stream", [True, False])
def test_a_wrong_key_says_what_to_set(stream: bool) -> None:
    with OpenAIStyleServer(["Hi"], key="secret") as server:
        with pytest.raises(ModelError, match="PERSONA_OPENAI_KEY") as raised:
            ask(made(server, key="wrong"), stream=stream)
        assert "secret" not in str(raised.value)
        assert "PERSONA_OPENAI_KEY" in made(server).status().problem
        assert ask(made(server, key="secret"), stream=stream) == "Hi"
        assert made(server, key="secret").status().ready


def test_no_address_says_what_to_set() -> None:
    model = OpenAIServerModel(lambda: "", "", 8192)
    assert "PERSONA_OPENAI_URL" in model.status().problem
    with pytest.raises(ModelUnreachable, match="No model server is named: set PERSONA_OPENAI_URL"):
        ask(model)
    with pytest.raises(EmbedderError, match="PERSONA_OPENAI_URL"):
        OpenAIEmbedder(lambda: "", "bge-m3").embed(["Hi"])


def test_a_wrong_path_says_what_to_check(openai_server: OpenAIStyleServer) -> None:
    with pytest.raises(ModelMissing, match="PERSONA_OPENAI_URL"):
        ask(OpenAIServerModel(lambda: f"{openai_server.address}/v2", "tiny-chat", 8192))


def test_of_the_built_in_model_no_address_is_spoken() -> None:
    model = OpenAIServerModel(lambda: "http://127.0.0.1:1/v1", "own", 8192, kind="builtin")
    with pytest.raises(ModelUnreachable, match=r"The built-in model does not answer. Run `persona doctor`"):
        ask(model)


def test_an_error_of_the_address_itself_is_passed_on() -> None:
    def gone() -> str:
        raise ModelUnreachable("The child died.")

    with pytest.raises(ModelUnreachable, match="The child died"):
        ask(OpenAIServerModel(gone, "own", 8192, kind="builtin"))
    assert OpenAIServerModel(gone, "own", 8192).status().problem == "The child died."


# --- status ---


def test_status_lists_what_is_served(openai_server: OpenAIStyleServer) -> None:
    status = made(openai_server).status()
    assert (status.kind, status.address, status.model) == ("openai", openai_server.url, "tiny-chat")
    assert status.ready
    assert status.details == {"models": ["tiny-chat"]}
    assert openai_server.chats == []


def test_status_of_a_model_that_is_not_served_names_those_that_are(openai_server: OpenAIStyleServer) -> None:
    status = made(openai_server, "other").status()
    assert not status.ready
    assert "other" in status.problem
    assert "tiny-chat" in status.remedy


def test_status_of_no_model_named_is_that_of_the_first(openai_server: OpenAIStyleServer) -> None:
    assert made(openai_server, "").status().model == "tiny-chat"
    openai_server.models = []
    assert not made(openai_server, "").status().ready


# --- embedder ---


def test_vectors_have_length_one_and_keep_their_order(openai_server: OpenAIStyleServer) -> None:
    openai_server.models = ["bge-m3"]
    embedder = OpenAIEmbedder(lambda: openai_server.url, "bge-m3")
    texts = ["x" * number for number in range(1, 101)]
    vectors = embedder.embed(texts)
    assert vectors.shape == (100, 3)
    assert vectors.dtype == np.float32
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-6)
    assert np.allclose(vectors[:, 0] / vectors[:, 1], range(1, 101))
    assert [len(body["input"]) for body in openai_server.bodies("/v1/embeddings")] == [64, 36]
    assert openai_server.bodies("/v1/embeddings")[0]["model"] == "bge-m3"


def test_the_dimension_is_asked_for_once(openai_server: OpenAIStyleServer) -> None:
    openai_server.models = ["bge-m3"]
    embedder = OpenAIEmbedder(lambda: openai_server.url, "bge-m3")
    assert openai_server.received == []
    assert (embedder.dimension, embedder.dimension) == (3, 3)
    assert embedder.embed([]).shape == (0, 3)
    assert len(openai_server.received) == 1
    assert embedder.name == "openai:bge-m3"
    assert embedder.languages == frozenset()
    assert 256 <= embedder.max_tokens <= 512


def test_embedding_errors_say_what_to_do(openai_server: OpenAIStyleServer) -> None:
    with pytest.raises(EmbedderError, match="nobody"):
        OpenAIEmbedder(lambda: openai_server.url, "nobody").embed(["Hi"])
    with pytest.raises(EmbedderError, match="PERSONA_OPENAI_URL"):
        OpenAIEmbedder(lambda: "http://127.0.0.1:1/v1", "bge-m3").embed(["Hi"])
    with OpenAIStyleServer(models=["m"], key="secret") as server:
        with pytest.raises(EmbedderError, match="PERSONA_OPENAI_KEY"):
            OpenAIEmbedder(lambda: server.url, "m").embed(["Hi"])
        assert OpenAIEmbedder(lambda: server.url, "m", "secret").embed(["Hi"]).shape == (1, 3)
