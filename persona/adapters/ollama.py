"""Ollama: chat through LlamaIndex's class, embeddings and downloads through Ollama's own client.

Knows that another num_ctx from call to call makes Ollama load the model anew, so every call sends the same; that
`think: false` is no error for models that cannot think (the server refuses only `true`); and that a reply which ends
without `done`, or a download without `success`, was broken off. Knows nothing of prompts or of what a reply means.
Nothing is imported or contacted before the first call.
"""

from __future__ import annotations

import logging
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from persona.adapters.chat_log import counted, logged_chat
from persona.adapters.embedding import BATCH, MOST_TOKENS, estimate, languages_of, unit
from persona.adapters.ollama_client import Server, is_too_long
from persona.adapters.thinking import hold_for, room_for, without_thinking
from persona.calls import logged
from persona.errors import ModelError, ModelMissing, ModelUnreachable, ThoughtAloud
from persona.importing import IMPORTS
from persona.ports import Vectors
from persona.records import ChatRequest, Delta, ModelStatus, Usage

if TYPE_CHECKING:
    from llama_index.core.base.llms.types import ChatResponse
    from llama_index.llms.ollama import Ollama

KEEP_ALIVE = "30m"  # an interviewer thinks longer than Ollama's five minutes

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class PullProgress:
    """How far a download has come. A model is several layers, one `digest` after another; bytes are of that layer."""

    status: str
    digest: str = ""
    completed: int | None = None
    total: int | None = None


class OllamaModel:
    """A chat model on Ollama."""

    def __init__(self, host: str, model: str, context_window: int) -> None:
        self.name = model
        self.context_window = context_window
        self._server = Server(host)
        self._thinks_aloud = False  # though it is told not to

    def chat(self, request: ChatRequest) -> Iterator[Delta]:
        """See ports.ChatModel."""
        hold = None if self._thinks_aloud or not request.stream else hold_for(self.name)
        try:
            with (
                logged_chat("ollama", self.name, request, address=self._server.host) as facts,
                self._server.translated(self.name),
                closing(self._deltas(request)) as deltas,
            ):
                yield from without_thinking(counted(deltas, facts), hold, unopened=self._thinks_aloud)
        except ThoughtAloud:
            self._thinks_aloud = True
            raise

    def status(self) -> ModelStatus:
        """Whether it can be used, without loading it; details say what it needs and where it runs."""
        try:
            with (
                logged("ollama", "look", address=self._server.host, model=self.name),
                self._server.translated(self.name),
            ):
                details = self._server.look(self.name, self.context_window)
        except ModelMissing as error:
            return self._status(str(error), f"Run `ollama pull {self.name}`.", {"missing": True})
        except ModelError as error:
            return self._status(problem=str(error), remedy="Run `ollama serve`, or set PERSONA_LLM=builtin.")
        return self._seen(details)

    def _seen(self, details: Mapping[str, Any]) -> ModelStatus:
        """What follows from what the server knows of it."""
        if "completion" not in (details["capabilities"] or ["completion"]):
            return self._status(f"{self.name} cannot chat.", "Set PERSONA_MODEL to a chat model.", details)
        if details["partly_on_cpu"]:
            problem = f"{self.name} does not fit the video memory: a part runs on the processor, slowly."
            remedy = "Set PERSONA_CONTEXT_WINDOW lower, or PERSONA_MODEL to a smaller model."
            return self._status(problem, remedy, details, ready=True)
        return self._status(details=details, ready=True)

    def there(self) -> list[ModelStatus]:
        """The chat models that its server has, this one or others; none where it does not answer."""
        try:
            with logged("ollama", "look at all", address=self._server.host), self._server.translated(self.name):
                found = self._server.look_at_all(self.context_window)
        except ModelError:
            return []
        models = {name: OllamaModel(self._server.host, name, self.context_window) for name in found}
        statuses = [model._seen(found[name]) for name, model in models.items()]
        return [status for status in statuses if status.ready]

    def pull(self) -> Iterator[PullProgress]:
        """Download the model. Closing the iterator ends the download; Ollama goes on from there the next time."""
        with logged("ollama", "pull", address=self._server.host, model=self.name), self._server.translated(self.name):
            done = False
            for step in self._server.client.pull(self.name, stream=True):
                done = done or step.status == "success"
                yield PullProgress(step.status or "", step.digest or "", step.completed, step.total)
            if not done:
                raise ModelUnreachable(
                    f"The download of {self.name} broke off. Begin it again: Ollama goes on where it ended."
                )

    def _status(
        self, problem: str = "", remedy: str = "", details: Mapping[str, Any] | None = None, *, ready: bool = False
    ) -> ModelStatus:
        return ModelStatus("ollama", self._server.host, self.name, ready, problem, remedy, details or {})

    def _deltas(self, request: ChatRequest) -> Generator[Delta]:
        with IMPORTS:
            from llama_index.core.base.llms.types import ChatMessage, MessageRole

        llm = self._llm(request)
        messages = [ChatMessage(role=MessageRole(m.role), content=m.text) for m in request.messages]
        extra = {"format": dict(request.schema)} if request.schema else {}
        if not request.stream:
            yield _delta(llm.chat(messages, **extra))
            return
        done = False
        with closing(llm.stream_chat(messages, **extra)) as stream:
            for piece in stream:
                done = done or bool(_raw(piece).get("done"))
                yield _delta(piece, piece.delta or "")
        if not done:
            raise ModelUnreachable(self._server.broke_off())

    def _llm(self, request: ChatRequest) -> Ollama:
        with IMPORTS:
            from llama_index.llms.ollama import Ollama

        return Ollama(
            model=self.name,
            base_url=self._server.host,
            client=self._server.client,
            temperature=request.temperature,
            context_window=self.context_window,
            additional_kwargs={
                "num_predict": room_for(self.name, request.max_tokens),
                **({"stop": list(request.stop)} if request.stop else {}),
            },
            keep_alive=KEEP_ALIVE,
            thinking="low" if "gpt-oss" in self.name else False,  # which knows levels alone
        )


class OllamaEmbedder:
    """An embedding model on Ollama."""

    def __init__(self, host: str, model: str) -> None:
        self.name = f"ollama:{model.removesuffix(':latest')}"
        self.languages = languages_of(model)
        self._model = model
        self._server = Server(host)

    @cached_property
    def dimension(self) -> int:
        """Components of a vector, asked for once."""
        return int(self.embed(["dimension"]).shape[1])

    @cached_property
    def max_tokens(self) -> int:
        """What the model can read, but at most a good chunk's length; some is kept back since `count` estimates."""
        with self._server.embedding(self._model):
            info = self._server.client.show(self._model).modelinfo or {}
        length = next((int(value) for key, value in info.items() if key.endswith(".context_length")), MOST_TOKENS)
        return min(MOST_TOKENS, length * 9 // 10)

    def count(self, text: str) -> int:
        """An estimate, rather too high."""
        return estimate(text)

    def embed(self, texts: Sequence[str]) -> Vectors:
        """See ports.Embedder."""
        if not texts:
            return np.zeros((0, self.dimension), dtype=np.float32)
        with (
            logged("ollama", "embed", address=self._server.host, model=self._model, texts=len(texts)),
            self._server.embedding(self._model),
        ):
            return np.vstack([self._batch(texts[at : at + BATCH]) for at in range(0, len(texts), BATCH)])

    def _batch(self, texts: Sequence[str]) -> Vectors:
        """Nothing is cut unless the estimate of its length was too low; then the end of a vector's text is lost."""
        with IMPORTS:
            import ollama

        client = self._server.client
        try:
            reply = client.embed(self._model, list(texts), truncate=False, keep_alive=KEEP_ALIVE)
        except ollama.ResponseError as error:
            if not is_too_long(error.error):
                raise
            _log.warning("%s cannot read a text to its end; its vector is made of what comes first", self._model)
            reply = client.embed(self._model, list(texts), truncate=True, keep_alive=KEEP_ALIVE)
        return unit(reply.embeddings, len(texts))


def _raw(response: ChatResponse) -> Mapping[str, Any]:
    return response.raw or {}


def _delta(response: ChatResponse, text: str | None = None) -> Delta:
    from llama_index.core.base.llms.types import TextBlock

    if text is None:
        text = "".join(block.text for block in response.message.blocks if isinstance(block, TextBlock))
    raw = _raw(response)
    if not raw.get("done"):
        return Delta(text)
    finish: Literal["stop", "length"] = "length" if raw.get("done_reason") == "length" else "stop"
    return Delta(text, Usage(raw.get("prompt_eval_count") or 0, raw.get("eval_count") or 0), finish)
