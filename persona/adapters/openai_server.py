"""Any OpenAI-style server (llama.cpp's, vLLM, the built-in model's) through LlamaIndex's OpenAILike.

Knows that servers differ in what they understand: a field that one refuses by name is left out from then on. Knows
that a stream without a finish reason was broken off. Knows nothing of prompts or of what a reply means. Nothing is
imported or contacted before the first call.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing, contextmanager
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import urlsplit

import numpy as np

from persona.adapters.chat_log import counted, logged_chat
from persona.adapters.embedding import BATCH, MOST_TOKENS, estimate, languages_of, unit
from persona.adapters.openai_client import Loading, Server
from persona.adapters.thinking import NO_THINKING, hold_for, room_for, without_thinking
from persona.calls import logged
from persona.errors import EmbedderError, ModelError, ModelMissing, ModelUnreachable, ThoughtAloud
from persona.importing import IMPORTS
from persona.ports import Vectors
from persona.records import ChatRequest, Delta, ModelStatus, Usage

if TYPE_CHECKING:
    import httpx
    from llama_index.core.base.llms.types import ChatResponse
    from llama_index.llms.openai_like import OpenAILike

LOAD_SECONDS = 300.0  # how long a server may say that it is loading
_OPTIONAL = ("chat_template_kwargs", "response_format", "stream_options")

_log = logging.getLogger(__name__)


class OpenAIServerModel:
    """A chat model on an OpenAI-style server. `model` "" stands for the first that it serves."""

    def __init__(
        self, address: Callable[[], str], model: str, context_window: int, key: str = "", kind: str = "openai"
    ) -> None:
        self.context_window = context_window
        self._model = model
        self._kind = kind
        self._server = Server(address, key, kind)
        self._refused: frozenset[str] = frozenset()  # optional fields that the server does not know
        self._thinks_aloud = False

    @property
    def name(self) -> str:
        """The model's name; asked for once where none was given. Raises ModelError."""
        if not self._model:
            served = self._server.models()
            if not served:
                raise ModelMissing("The model server serves no model. Load one there, or set PERSONA_MODEL.")
            self._model = served[0]
        return self._model

    def chat(self, request: ChatRequest) -> Iterator[Delta]:
        """See ports.ChatModel."""
        own = None if self._thinks_aloud else hold_for(self.name)
        try:
            with closing(self._patiently(request)) as deltas:
                yield from without_thinking(deltas, own if request.stream else None, unopened=own is None)
        except ThoughtAloud:
            self._thinks_aloud = True
            raise

    def status(self) -> ModelStatus:
        """Whether it answers and serves the model; details list what it serves."""
        address = ""
        try:
            address = self._server.base()
            with logged(self._kind, "models", address=self._told(address)):
                served = self._server.models()
        except ModelError as error:
            return ModelStatus(self._kind, address, self._model, False, str(error), "Start the server.")
        details = {"models": served}
        model = self._model or next(iter(served), "")
        if model and model in served:
            return ModelStatus(self._kind, address, model, True, details=details)
        problem = f"The model server does not list the model {model}." if model else "The model server serves no model."
        remedy = f"Set PERSONA_MODEL to one of these: {', '.join(served)}." if served else "Load a model there."
        return ModelStatus(self._kind, address, model, False, problem, remedy, details)

    def _told(self, address: str) -> str:
        """What the log may hold of an address: the path of the built-in server's is its secret."""
        return address.removesuffix(urlsplit(address).path) if self._kind == "builtin" else address

    def _patiently(self, request: ChatRequest) -> Generator[Delta]:
        """`_negotiated`, once the server has loaded its model."""
        deadline = time.monotonic() + LOAD_SECONDS
        while True:
            try:
                yield from self._negotiated(request)
            except Loading:
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.3)
            else:
                return

    def _negotiated(self, request: ChatRequest) -> Generator[Delta]:
        """The reply; what the server refuses by name is left out, now and later."""
        with IMPORTS:
            import openai

        while True:
            try:
                with (
                    logged_chat(self._kind, self.name, request) as facts,
                    self._server.translated(self.name),
                    self._server.connection() as http,
                ):
                    llm = self._llm(request, http)
                    facts["address"] = self._told(llm.api_base)
                    yield from counted(self._deltas(request, llm), facts)
            except ModelError as error:
                cause = error.__cause__
                known = self._optional(request)
                refused = {field for field in known if field in str(cause)}
                if not isinstance(cause, openai.BadRequestError | openai.UnprocessableEntityError) or not refused:
                    raise
                _log.warning("%s does not know %s; left out from now on", self._model, ", ".join(refused))
                self._refused |= refused
            else:
                return

    def _deltas(self, request: ChatRequest, llm: OpenAILike) -> Generator[Delta]:
        with IMPORTS:
            from llama_index.core.base.llms.types import ChatMessage, MessageRole

        messages = [ChatMessage(role=MessageRole(m.role), content=m.text) for m in request.messages]
        fields = {"timeout": self._server.patience(), **self._fields(request)}
        if not request.stream:
            yield _delta(llm.chat(messages, **fields))
            return
        finished = False
        with closing(llm.stream_chat(messages, **fields)) as stream:
            for piece in stream:
                delta = _delta(piece, piece.delta or "")
                finished = finished or bool(delta.finish)
                yield delta
        if not finished:
            raise ModelUnreachable(self._server.broke_off())

    def _optional(self, request: ChatRequest) -> dict[str, Any]:
        """The fields that not every server knows."""
        fields: dict[str, Any] = {"chat_template_kwargs": {"enable_thinking": False}}
        if request.schema:
            shape = {"name": "reply", "strict": True, "schema": dict(request.schema)}
            fields["response_format"] = {"type": "json_schema", "json_schema": shape}
        if request.stream:
            fields["stream_options"] = {"include_usage": True}
        return {name: value for name, value in fields.items() if name not in self._refused}

    def _fields(self, request: ChatRequest) -> dict[str, Any]:
        fields = self._optional(request)
        if "chat_template_kwargs" in fields:  # none of OpenAI's own, so the client takes it apart from the others
            fields["extra_body"] = {"chat_template_kwargs": fields.pop("chat_template_kwargs")}
        return {**fields, **({"stop": list(request.stop)} if request.stop else {})}

    def _llm(self, request: ChatRequest, http: httpx.Client) -> OpenAILike:
        with IMPORTS:
            from llama_index.llms.openai_like import OpenAILike

        return OpenAILike(
            model=self.name,
            api_base=self._server.base(),
            api_key=self._server.key,
            http_client=http,
            is_chat_model=True,
            context_window=self.context_window,
            max_tokens=room_for(self.name, request.max_tokens),
            temperature=request.temperature,
            max_retries=0,
        )


class OpenAIEmbedder:
    """An embedding model on an OpenAI-style server."""

    max_tokens = MOST_TOKENS * 9 // 10  # these servers do not tell; the usual least, with room since `count` estimates

    def __init__(self, address: Callable[[], str], model: str, key: str = "") -> None:
        self.name = f"openai:{model}"
        self.languages = languages_of(model)
        self._model = model
        self._server = Server(address, key, "openai")

    @cached_property
    def dimension(self) -> int:
        """Components of a vector, asked for once."""
        return int(self.embed(["dimension"]).shape[1])

    def count(self, text: str) -> int:
        """An estimate, rather too high."""
        return estimate(text)

    def embed(self, texts: Sequence[str]) -> Vectors:
        """See ports.Embedder."""
        if not texts:
            return np.zeros((0, self.dimension), dtype=np.float32)
        with self._errors():
            address = self._server.base()
        with logged("openai", "embed", address=address, model=self._model, texts=len(texts)), self._errors():
            return np.vstack([self._batch(texts[at : at + BATCH]) for at in range(0, len(texts), BATCH)])

    def _batch(self, texts: Sequence[str]) -> Vectors:
        reply = self._server.post("/embeddings", {"model": self._model, "input": list(texts)})
        rows = sorted(reply["data"], key=lambda row: int(row["index"]))
        return unit([row["embedding"] for row in rows], len(texts))

    @contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            with self._server.translated(self._model):
                yield
        except ModelError as error:
            raise EmbedderError(str(error)) from error


def _delta(response: ChatResponse, text: str | None = None) -> Delta:
    from llama_index.core.base.llms.types import TextBlock

    if text is None:
        text = "".join(block.text for block in response.message.blocks if isinstance(block, TextBlock))
    raw = response.raw
    choices = getattr(raw, "choices", None) or []
    reason = choices[0].finish_reason if choices else None
    finish: Literal["", "stop", "length"] = "length" if reason == "length" else "stop" if reason else ""
    apart = any(_thought_apart(choice) for choice in choices)
    return Delta(f"{NO_THINKING}{text}" if apart else text, _usage(raw), finish)


def _thought_apart(choice: object) -> bool:
    """Whether the server sent thinking in a field of its own, as llama.cpp and vLLM name it."""
    sent = getattr(choice, "delta", None) or getattr(choice, "message", None)
    return any((getattr(sent, "model_extra", None) or {}).get(field) for field in ("reasoning_content", "reasoning"))


def _usage(raw: object) -> Usage | None:
    """The server's count. What llama.cpp had read before stands in `timings`, elsewhere in the details of the usage."""
    usage = getattr(raw, "usage", None)
    if usage is None:
        return None
    details = usage.prompt_tokens_details
    timings = (getattr(raw, "model_extra", None) or {}).get("timings") or {}
    cached = (details.cached_tokens if details else None) or timings.get("cache_n") or 0
    return Usage(usage.prompt_tokens or 0, usage.completion_tokens or 0, int(cached))
