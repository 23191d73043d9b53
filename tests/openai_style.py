"""A scripted OpenAI-style server in a thread, for the faults that a real one does not show on demand.

Field by field as llama.cpp's server answers: `timings` beside `usage`, errors as {"error": {"code", "message", "type"}},
an error in mid-stream as a `data:` line. `unknown` names fields that it refuses, as OpenAI's own service does.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any

import pytest

from tests.loopback import Exchange, LoopbackServer, Script, WireReply, generate, tokens


class OpenAIStyleServer(LoopbackServer):
    """Replies to /v1/chat/completions come from `replies`, in order."""

    def __init__(
        self, replies: Iterable[Script] = (), models: Iterable[str] = ("tiny-chat",), key: str = "", port: int = 0
    ) -> None:
        super().__init__(replies, port)
        self.models = list(models)
        self.key = key
        self.unknown: set[str] = set()
        self.usage_details = True  # whether `usage` tells what was read before; else only `timings` does
        self.loading = 0  # this many chats are answered by "Loading model"
        self.context_window = 8192
        self.routes = {
            "GET /v1/models": self._list,
            "POST /v1/chat/completions": self._chat,
            "POST /v1/embeddings": self._embed,
        }

    @property
    def url(self) -> str:
        """The address with /v1."""
        return f"{self.address}/v1"

    @property
    def chats(self) -> list[dict[str, Any]]:
        """The bodies sent to /v1/chat/completions."""
        return self.bodies("/v1/chat/completions")

    def _list(self, exchange: Exchange) -> None:
        if self._may(exchange):
            exchange.json(200, {"object": "list", "data": [{"id": name, "object": "model"} for name in self.models]})

    def _chat(self, exchange: Exchange) -> None:
        if not self._may(exchange):
            return
        body = exchange.body
        if self.loading:
            self.loading -= 1
            _refuse(exchange, 503, "Loading model", "unavailable_error")
        elif strange := sorted(self.unknown & body.keys()):
            _refuse(exchange, 400, f"Unrecognized request argument supplied: {strange[0]}", "invalid_request_error")
        elif body["model"] not in self.models:
            _refuse(exchange, 404, f"The model `{body['model']}` does not exist.", "NotFoundError")
        elif sum(tokens(m["content"]) for m in body["messages"]) > self.context_window:
            _refuse(exchange, 400, "the request exceeds the available context size", "exceed_context_size_error")
        else:
            self._reply(exchange, self.next_reply(body))

    def _reply(self, exchange: Exchange, reply: WireReply) -> None:
        if reply.status != 200:
            _refuse(exchange, reply.status, reply.error, "server_error")
        elif exchange.body.get("stream"):
            self._stream(exchange, reply)
        elif reply.error:
            _refuse(exchange, 500, reply.error, "server_error")
        elif reply.broken or reply.clean_end:
            exchange.hang_up()
        elif reply.garbage:
            exchange.text(200, "<html>", "text/html")
        else:
            self._whole(exchange, reply)

    def _whole(self, exchange: Exchange, reply: WireReply) -> None:
        pieces, finish = self._pieces(exchange.body, reply)
        message = {"role": "assistant", "content": "".join(pieces)}
        if reply.thinking:
            message["reasoning_content"] = reply.thinking
        choice = {"index": 0, "message": message, "finish_reason": finish}
        spent = self._spent(exchange.body, reply, len(pieces))
        exchange.json(200, {**_head(exchange.body, "chat.completion"), "choices": [choice], **spent})

    def _stream(self, exchange: Exchange, reply: WireReply) -> None:
        pieces, finish = self._pieces(exchange.body, reply)
        head = _head(exchange.body, "chat.completion.chunk")
        deltas = [{"reasoning_content": reply.thinking}] if reply.thinking else []
        deltas += [{"content": piece} for piece in pieces]
        exchange.begin("text/event-stream")
        exchange.chunk(_event({**head, "choices": [_choice({"role": "assistant", "content": None})]}))
        for number, delta in enumerate(deltas):
            so_far = self._spent(exchange.body, reply, number + 1)["timings"]
            timed = {"timings": so_far} if exchange.body.get("timings_per_token") else {}
            exchange.chunk(_event({**head, "choices": [_choice(delta)], **timed}))
            if number == 0 and reply.go_on:
                reply.go_on.wait(60)
        if reply.broken:
            exchange.hang_up()
            return
        if reply.garbage:
            exchange.chunk("data: <html>\n\n")
        elif reply.error:
            exchange.chunk(_event({"error": {"code": 500, "message": reply.error, "type": "server_error"}}))
        elif not reply.clean_end:
            exchange.chunk(_event({**head, "choices": [_choice({}, finish)]}))
            if exchange.body.get("stream_options", {}).get("include_usage"):
                exchange.chunk(_event({**head, "choices": [], **self._spent(exchange.body, reply, len(pieces))}))
            exchange.chunk("data: [DONE]\n\n")
        exchange.end()

    def _pieces(self, body: dict[str, Any], reply: WireReply) -> tuple[list[str], str]:
        return generate(reply.text, body.get("max_tokens"), body.get("stop") or ())

    def _spent(self, body: dict[str, Any], reply: WireReply, written: int) -> dict[str, Any]:
        counted = sum(tokens(m["content"]) for m in body["messages"])
        read = counted if reply.prompt_tokens is None else reply.prompt_tokens
        usage: dict[str, Any] = {"prompt_tokens": read, "completion_tokens": written, "total_tokens": read + written}
        if self.usage_details:
            usage["prompt_tokens_details"] = {"cached_tokens": reply.cached_tokens}
        timings = {"cache_n": reply.cached_tokens, "prompt_n": read - reply.cached_tokens, "predicted_n": written}
        return {"usage": usage, "timings": timings}

    def _embed(self, exchange: Exchange) -> None:
        if not self._may(exchange):
            return
        if exchange.body["model"] not in self.models:
            _refuse(exchange, 404, f"The model `{exchange.body['model']}` does not exist.", "NotFoundError")
            return
        rows = [
            {"object": "embedding", "index": number, "embedding": [float(len(text)), 1.0, 0.0]}
            for number, text in enumerate(exchange.body["input"])
        ]
        exchange.json(200, {"object": "list", "model": exchange.body["model"], "data": rows[::-1]})

    def _may(self, exchange: Exchange) -> bool:
        if not self.key or exchange.headers.get("authorization") == f"Bearer {self.key}":
            return True
        _refuse(exchange, 401, "Invalid API Key", "authentication_error")
        return False


@pytest.fixture
def openai_server() -> Iterator[OpenAIStyleServer]:
    """A server that fails the test unless it was asked for exactly the replies of its script."""
    with OpenAIStyleServer() as server:
        yield server


def _refuse(exchange: Exchange, status: int, message: str, kind: str) -> None:
    exchange.json(status, {"error": {"code": status, "message": message, "type": kind}})


def _head(body: dict[str, Any], kind: str) -> dict[str, Any]:
    return {"id": "chatcmpl-1", "object": kind, "created": 1, "model": body["model"]}


def _choice(delta: dict[str, Any], finish: str | None = None) -> dict[str, Any]:
    return {"index": 0, "delta": delta, "finish_reason": finish}


def _event(value: dict[str, Any]) -> str:
    return f"data: {json.dumps(value)}\n\n"
