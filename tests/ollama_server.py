"""Ollama's protocol, spoken by a scripted server in a thread.

As in Ollama's own server (server/routes.go, server/prompt.go, docs/api.md): `think: true` is refused for models that
cannot, names go with and without ":latest", a prompt longer than num_ctx loses its oldest messages without a word, a
changed num_ctx loads the model anew, errors in mid-stream are a line {"error": …} under status 200. Tokens are PIECE
characters long.
"""

from __future__ import annotations

import json
import threading
import time
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tests.loopback import Exchange, LoopbackServer, Script, WireReply, generate, tokens

DEFAULT_CONTEXT = 4096


@dataclass(frozen=True)
class Installed:
    """A model as the server has it on disk."""

    name: str  # with its tag
    size: int
    capabilities: tuple[str, ...]
    info: dict[str, Any]
    details: dict[str, Any] = field(
        default_factory=lambda: {"format": "gguf", "family": "", "quantization_level": "Q4_K_M"}
    )
    video_share: float = 1.0  # of the loaded model, in video memory


QWEN3 = Installed(
    "qwen3:8b",
    5_225_388_164,
    ("completion", "tools", "thinking"),
    {
        "general.architecture": "qwen3",
        "qwen3.attention.head_count": 32,
        "qwen3.attention.head_count_kv": 8,
        "qwen3.attention.key_length": 128,
        "qwen3.attention.value_length": 128,
        "qwen3.block_count": 36,
        "qwen3.context_length": 40960,
        "qwen3.embedding_length": 4096,
    },
)
LLAMA = Installed(
    "llama3.2:latest",
    2_019_393_189,
    ("completion", "tools"),
    {
        "general.architecture": "llama",
        "llama.attention.head_count": 24,
        "llama.attention.head_count_kv": 8,
        "llama.block_count": 28,
        "llama.context_length": 131072,
        "llama.embedding_length": 3072,
    },
)
BGE_M3 = Installed(
    "bge-m3:latest",
    1_157_672_605,
    ("embedding",),
    {"general.architecture": "bert", "bert.context_length": 8192, "bert.embedding_length": 64},
)
MINILM = Installed(
    "all-minilm:latest",
    45_960_996,
    ("embedding",),
    {"general.architecture": "bert", "bert.context_length": 256, "bert.embedding_length": 32},
)


class OllamaServer(LoopbackServer):
    """Replies to /api/chat come from `replies`, in order; the rest is answered by what is installed and loaded."""

    def __init__(
        self,
        replies: Iterable[Script] = (),
        models: Iterable[Installed] = (QWEN3, LLAMA, BGE_M3, MINILM),
        port: int = 0,
    ) -> None:
        super().__init__(replies, port)
        self.models = {model.name: model for model in models}
        self.library = {model.name: model for model in (QWEN3, LLAMA, BGE_M3, MINILM)}  # what can be pulled
        self.loads: list[tuple[str, int]] = []  # (name, num_ctx) of every load, so a change of num_ctx shows
        self.load_seconds = 0.0  # of a cold load
        self.may_end = threading.Event()  # until it is set, a download stays half done and says so again and again
        self.may_end.set()
        self._loaded: dict[str, int] = {}
        self.routes = {
            "GET /": lambda exchange: exchange.text(200, "Ollama is running", "text/plain; charset=utf-8"),
            "GET /api/version": lambda exchange: exchange.json(200, {"version": "0.12.6"}),
            "GET /api/tags": self._tags,
            "GET /api/ps": self._ps,
            "POST /api/show": self._show,
            "POST /api/chat": self._chat,
            "POST /api/pull": self._pull,
            "POST /api/embed": self._embed,
        }

    @property
    def chats(self) -> list[dict[str, Any]]:
        """The bodies sent to /api/chat."""
        return self.bodies("/api/chat")

    # --- chat ---

    def _chat(self, exchange: Exchange) -> None:
        body = exchange.body
        model = self._find(exchange)
        if not model:
            return
        if body.get("think") and "thinking" not in model.capabilities:
            exchange.json(400, {"error": f'"{body["model"]}" does not support thinking'})
        elif "completion" not in model.capabilities:
            exchange.json(400, {"error": f'"{body["model"]}" does not support chat'})
        else:
            loaded_in = self._load(model, (body.get("options") or {}).get("num_ctx", DEFAULT_CONTEXT))
            self._reply(exchange, self.next_reply(body), loaded_in)

    def _reply(self, exchange: Exchange, reply: WireReply, loaded_in: float) -> None:
        if reply.status != 200:
            exchange.json(reply.status, {"error": reply.error})
            return
        if exchange.body.get("stream", True):
            self._stream(exchange, reply, loaded_in)
        elif reply.error:
            exchange.json(500, {"error": reply.error})
        elif reply.broken or reply.clean_end:
            exchange.hang_up()
        elif reply.garbage:
            exchange.text(200, "<html>", "application/json; charset=utf-8")
        else:
            *pieces, last = self._parts(exchange.body, reply, loaded_in)
            message = {"role": "assistant", "content": "".join(part["message"]["content"] for part in pieces)}
            if thinking := "".join(part["message"].get("thinking", "") for part in pieces):
                message["thinking"] = thinking
            exchange.json(200, {**last, "message": message})

    def _stream(self, exchange: Exchange, reply: WireReply, loaded_in: float) -> None:
        exchange.begin("application/x-ndjson")
        *pieces, last = self._parts(exchange.body, reply, loaded_in)
        for number, part in enumerate(pieces):
            exchange.chunk(json.dumps(part) + "\n")
            if number == 0 and reply.go_on:
                reply.go_on.wait(60)
        if reply.broken:
            exchange.hang_up()
            return
        if reply.garbage:
            exchange.chunk("<html>\n")
        elif reply.error:
            exchange.chunk(json.dumps({"error": reply.error}) + "\n")
        elif not reply.clean_end:
            exchange.chunk(json.dumps(last) + "\n")
        exchange.end()

    def _parts(self, body: dict[str, Any], reply: WireReply, loaded_in: float) -> Iterator[dict[str, Any]]:
        options = body.get("options") or {}
        limit = options.get("num_predict", -1)
        thought, _ = generate(reply.thinking, limit, ())
        left = limit - len(thought) if limit >= 0 else None
        pieces, finish = generate(reply.text, left, options.get("stop", ()))
        start = {"model": body["model"], "created_at": _now()}
        for piece in thought:
            yield {**start, "message": {"role": "assistant", "content": "", "thinking": piece}, "done": False}
        for piece in pieces:
            yield {**start, "message": {"role": "assistant", "content": piece}, "done": False}
        read = sum(
            tokens(m.get("content", "")) for m in _kept(body["messages"], options.get("num_ctx", DEFAULT_CONTEXT))
        )
        yield {
            **start,
            "message": {"role": "assistant", "content": ""},
            "done": True,
            "done_reason": finish,
            "total_duration": int(loaded_in * 1e9) + 2_000_000,
            "load_duration": int(loaded_in * 1e9) + 1_000,
            "prompt_eval_count": read if reply.prompt_tokens is None else reply.prompt_tokens,
            "prompt_eval_duration": 1_000_000,
            "eval_count": len(thought) + len(pieces),
            "eval_duration": 900_000,
        }

    # --- models ---

    def _find(self, exchange: Exchange) -> Installed | None:
        asked = str(exchange.body.get("model", ""))
        name = (asked if ":" in asked else f"{asked}:latest").lower()
        if model := next((model for model in self.models.values() if model.name.lower() == name), None):
            return model
        exchange.json(404, {"error": f"model '{asked}' not found"})
        return None

    def _load(self, model: Installed, num_ctx: int) -> float:
        with self.lock:
            if self._loaded.get(model.name) == num_ctx:
                return 0.0
            self._loaded[model.name] = num_ctx
            self.loads.append((model.name, num_ctx))
        time.sleep(self.load_seconds)
        return self.load_seconds

    def _tags(self, exchange: Exchange) -> None:
        exchange.json(200, {"models": [_listed(model) for model in self.models.values()]})

    def _ps(self, exchange: Exchange) -> None:
        running = []
        for name, num_ctx in self._loaded.items():
            model = self.models[name]
            size = model.size + 147_456 * num_ctx
            entry = {**_listed(model), "size": size, "size_vram": int(size * model.video_share)}
            running.append({**entry, "expires_at": _now(minutes=30), "context_length": num_ctx})
        exchange.json(200, {"models": running})

    def _show(self, exchange: Exchange) -> None:
        if model := self._find(exchange):
            shown = {"modelfile": "", "template": "{{ .Prompt }}", "details": model.details, "model_info": model.info}
            exchange.json(200, {**shown, "capabilities": list(model.capabilities), "modified_at": _now()})

    def _pull(self, exchange: Exchange) -> None:
        name = str(exchange.body["model"])
        name = name if ":" in name else f"{name}:latest"
        exchange.begin("application/x-ndjson")
        for line in _pulled(self.library.get(name)):
            exchange.chunk(json.dumps(line) + "\n")
            while line.get("completed") and not self.may_end.wait(0.05):
                exchange.chunk(json.dumps(line) + "\n")
        if name in self.library:
            self.models[name] = self.library[name]
        exchange.end()

    def _embed(self, exchange: Exchange) -> None:
        model = self._find(exchange)
        if not model:
            return
        given = exchange.body.get("input", "")
        texts = [given] if isinstance(given, str) else given
        length = next(value for key, value in model.info.items() if key.endswith(".context_length"))
        if exchange.body.get("truncate") is False and any(tokens(text) > length for text in texts):
            exchange.json(400, {"error": "the input length exceeds the context length"})
            return
        loaded_in = self._load(model, DEFAULT_CONTEXT)
        dimension = next(value for key, value in model.info.items() if key.endswith(".embedding_length"))
        vectors = [_vector(text, dimension) for text in texts]
        spent = {"total_duration": 2_000_000, "load_duration": int(loaded_in * 1e9) + 1_000}
        exchange.json(200, {"model": exchange.body["model"], "embeddings": vectors, **spent, "prompt_eval_count": 1})


@pytest.fixture
def ollama_server() -> Iterator[OllamaServer]:
    """An Ollama that fails the test unless it was asked for exactly the replies of its script."""
    with OllamaServer() as server:
        yield server


def _kept(messages: list[dict[str, str]], num_ctx: int) -> list[dict[str, str]]:
    """What is left of the messages: the system's and as many of the newest as fit, always the last."""
    for start in range(len(messages)):
        kept = [m for m in messages[:start] if m["role"] == "system"] + messages[start:]
        if sum(tokens(m.get("content", "")) for m in kept) <= num_ctx or start == len(messages) - 1:
            return kept
    return messages


def _listed(model: Installed) -> dict[str, Any]:
    digest = f"{zlib.crc32(repr(model).encode()):064x}"  # of all that it is
    named = {"name": model.name, "model": model.name, "digest": digest}
    return {**named, "modified_at": _now(), "size": model.size, "details": model.details}


def _pulled(model: Installed | None) -> Iterator[dict[str, Any]]:
    yield {"status": "pulling manifest"}
    if model is None:
        yield {"error": "pull model manifest: file does not exist"}
        return
    for digest, total in (("sha256:a3de86cd1c13", model.size), ("sha256:ae370d884f10", 1_723)):
        layer = {"status": f"pulling {digest[7:]}", "digest": digest, "total": total}
        yield layer
        yield {**layer, "completed": total // 2}
        yield {**layer, "completed": total}
    yield {"status": "verifying sha256 digest"}
    yield {"status": "writing manifest"}
    yield {"status": "success"}


def _vector(text: str, dimension: int) -> list[float]:
    """Texts that share words are near each other. As long as it comes: older servers do not normalize."""
    vector = [0.0] * dimension
    for word in text.lower().split() or [""]:
        vector[zlib.crc32(word.encode()) % dimension] += 1.0
    return vector


def _now(minutes: int = 0) -> str:
    return (datetime.now(UTC) + timedelta(minutes=minutes)).isoformat().replace("+00:00", "Z")
