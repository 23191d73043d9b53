"""llama.cpp's own server, by its address: what a scripted server can only claim."""

from __future__ import annotations

import json
import time
from contextlib import closing
from typing import Any

import pytest

from persona.adapters.openai_server import OpenAIServerModel
from persona.errors import ContextExceeded
from persona.records import ChatRequest, Message
from tests.needs import need

pytestmark = pytest.mark.builtin

FACT = (
    Message("system", "Answer in a few words from this text alone: Ada Byron was born in London in December 1815."),
    Message("user", "In which city was she born?"),
)


@pytest.fixture(scope="module")
def llama(request: pytest.FixtureRequest) -> OpenAIServerModel:
    """The built-in model as any server with an address."""
    try:
        address: str = request.getfixturevalue("builtin_address")
    except pytest.FixtureLookupError:
        need(False, "the built-in model is not installed")
        raise
    return OpenAIServerModel(lambda: address, "", 4096, kind="builtin")


def ask(model: OpenAIServerModel, messages: tuple[Message, ...] = FACT, max_tokens: int = 24, **fields: Any) -> str:
    return "".join(delta.text for delta in model.chat(ChatRequest(messages, max_tokens, **fields)))


def test_it_is_ready_and_names_its_model(llama: OpenAIServerModel) -> None:
    status = llama.status()
    assert status.ready, status
    assert llama.name in status.details["models"]


def test_streamed_or_not_the_reply_is_the_same(llama: OpenAIServerModel) -> None:
    whole, streamed = ask(llama), ask(llama, stream=True)
    assert whole == streamed
    assert "London" in whole


def test_the_second_time_the_prompt_is_not_read_anew(llama: OpenAIServerModel) -> None:
    ask(llama)
    *_, last = llama.chat(ChatRequest(FACT, 8, stream=True))
    assert last.usage
    assert last.usage.prompt_tokens > 30
    assert last.usage.cached_tokens >= last.usage.prompt_tokens - 8
    assert 0 < last.usage.output_tokens <= 8


def test_a_reply_cut_off_for_its_length_says_so(llama: OpenAIServerModel) -> None:
    messages = (Message("user", "Count from one to one hundred in words."),)
    *_, last = llama.chat(ChatRequest(messages, 5, stream=True))
    assert last.finish == "length"
    assert last.usage
    assert last.usage.output_tokens == 5


def test_the_reply_ends_before_a_stop_text(llama: OpenAIServerModel) -> None:
    assert "ondon" not in ask(llama, stop=("ondon",))


def test_a_schema_binds_the_reply(llama: OpenAIServerModel) -> None:
    section = {"type": "integer", "enum": [0, 1, 2]}
    schema = {
        "type": "object",
        "properties": {"section": section},
        "required": ["section"],
        "additionalProperties": False,
    }
    for stream in (True, False):
        reply = ask(llama, (Message("user", "Tell me a story."),), schema=schema, stream=stream)
        assert json.loads(reply)["section"] in (0, 1, 2)


def test_a_request_beyond_the_window_is_refused_in_words(llama: OpenAIServerModel) -> None:
    for stream in (True, False):
        with pytest.raises(ContextExceeded, match="PERSONA_CONTEXT_WINDOW"):
            ask(llama, (Message("user", "word " * 20_000),), stream=stream)


def test_closing_the_iterator_frees_the_model_for_the_next_call(llama: OpenAIServerModel) -> None:
    long = ChatRequest((Message("user", "Count from one to two thousand in words."),), 2000, stream=True)
    with closing(llama.chat(long)) as deltas:  # type: ignore[type-var]
        next(deltas)
    began = time.monotonic()
    ask(llama, max_tokens=4)
    assert time.monotonic() - began < 30  # the whole of the first would take minutes
