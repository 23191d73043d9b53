"""Settings become adapters and a ready Interview, here and nowhere else.

Each part is made when it is first needed, so that listing people loads no model. Every part can be replaced by keyword.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import timedelta
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from persona.answering import WANTED, Health, health
from persona.calls import show_texts
from persona.errors import PersonaError, SettingsError
from persona.gate import Gate, load_gate
from persona.ingest import Ingest
from persona.interview import Interview
from persona.line import Limits, Line
from persona.loading import Loader
from persona.lookup import Lookup
from persona.ports import ChatModel, ChunkStore, Embedder, History, Library, PageSource, Queue
from persona.prompts import Prompt, load_prompts
from persona.records import ModelStatus, Step
from persona.searching import knows
from persona.settings import Settings, load_settings
from persona.steps import VARIABLES, Steps

if TYPE_CHECKING:
    from persona.adapters.ollama import OllamaModel

# what a public demo takes from one network in ten minutes and from one visitor in a day, and how long it waits for one
# who left
_PUBLIC = (10, 50, timedelta(seconds=30))
_log = logging.getLogger(__name__)


class Wiring:
    """The parts of one process. `replacements` stand in for parts of the same name, as in tests."""

    def __init__(self, settings: Settings | None = None, **replacements: Any) -> None:  # noqa: ANN401
        self.settings = self._set = settings or load_settings()
        self._replaced = frozenset(replacements)
        self._gguf = self.settings.model if self.settings.model.endswith(".gguf") else ""
        logging.getLogger("httpx").setLevel(logging.WARNING)  # one line per outside call, and that is ours
        show_texts(self.settings.log_texts)
        for name, part in replacements.items():
            if not hasattr(type(self), name):
                raise TypeError(f"Wiring has no part named {name}.")
            self.__dict__[name] = part

    @cached_property
    def database(self) -> Any:  # noqa: ANN401 - Library and History in one
        """The database; opened, and migrated if need be."""
        from persona.adapters.database import Database

        return Database(self.settings.database_url)

    @cached_property
    def library(self) -> Library:
        """People, builds, chunks."""
        library: Library = self.database
        return library

    @cached_property
    def history(self) -> History:
        """Threads and turns."""
        history: History = self.database
        return history

    @cached_property
    def queue(self) -> Queue:
        """Places in line."""
        queue: Queue = self.database.queue
        return queue

    @cached_property
    def line(self) -> Line:
        """The line in front of the model, which all processes of the database stand in."""
        settings = self.settings
        of_one = _PUBLIC if settings.public else (0, 0, None)
        return Line(self.queue, Limits(settings.at_once, settings.waiting, *of_one))

    @cached_property
    def store(self) -> ChunkStore:
        """Vectors."""
        from persona.adapters.chroma import Chroma

        return Chroma(self.settings.chroma_location)

    @cached_property
    def embedder(self) -> Embedder:
        """The embedder that PERSONA_EMBEDDER names. Raises SettingsError if it names none."""
        kind, _, model = self.settings.embedder.partition(":")
        if kind == "ollama" and model:
            from persona.adapters.ollama import OllamaEmbedder

            return OllamaEmbedder(self.settings.ollama_address, model)
        if kind == "openai" and model:
            from persona.adapters.openai_server import OpenAIEmbedder

            return OpenAIEmbedder(lambda: self.settings.openai_url, model, self.settings.openai_key)
        if self.settings.embedder != "minilm":
            raise SettingsError(
                f"PERSONA_EMBEDDER is {self.settings.embedder!r}, which names no embedder. Take minilm, ollama:MODEL (for "
                "instance ollama:bge-m3) or openai:MODEL."
            )
        from persona.adapters.minilm import MiniLM

        return MiniLM()

    @cached_property
    def builtin(self) -> Any:  # noqa: ANN401 - BuiltinServer, imported late
        """The built-in model's server; nothing is started by making this."""
        from persona.adapters.builtin import BuiltinServer

        settings = self.settings
        return BuiltinServer(settings.home, self._gguf, settings.context_window, settings.idle_minutes)

    @cached_property
    def model(self) -> ChatModel:
        """The answering model."""
        return self._model(self.settings.model)

    @cached_property
    def rewrite_model(self) -> ChatModel:
        """The rewriting model; the answering one unless another is set."""
        name = self.settings.rewrite_model
        return self._model(name) if name and self.kind != "builtin" else self.model

    @cached_property
    def kind(self) -> str:
        """Which server answers: builtin, ollama or openai. With `auto`, Ollama where it has the model."""
        return self._kind(self.ollama_status)

    def _kind(self, ollama: Callable[[], ModelStatus]) -> str:
        if self.settings.llm != "auto":
            return self.settings.llm
        if self.settings.openai_url:
            return "openai"
        if self._gguf:
            return "builtin"
        return "ollama" if ollama().ready else "builtin"

    @cached_property
    def prompts(self) -> dict[Step, Prompt]:
        """The prompt files, checked."""
        return load_prompts(self.settings.prompts, VARIABLES)

    @cached_property
    def wiki(self) -> PageSource:
        """Wikipedia, or the MediaWiki that is set."""
        from persona.adapters.wikipedia import Wikipedia

        return Wikipedia(self.settings.wiki_api)

    @cached_property
    def lookup(self) -> Lookup:
        """Suggestions of the wiki, and portraits."""
        return Lookup(self.wiki, self.settings.wiki_api, self.settings.home)

    @cached_property
    def ingest(self) -> Ingest:
        """Loads pages."""
        return Ingest(self.library, self.store, self.embedder)

    @cached_property
    def steps(self) -> Steps:
        """The model calls of a turn."""
        return Steps(self.model, self.rewrite_model, self.prompts)

    @cached_property
    def gates(self) -> Path:
        """The folder with the gates that the user fitted."""
        return self.settings.home / "gates"

    @cached_property
    def loader(self) -> Loader:
        """Loads and deletes people."""
        return Loader(self.library, self.store, self.wiki, self.lookup, self.ingest)

    @cached_property
    def interview(self) -> Interview:
        """Answers questions."""
        return Interview(
            self.library,
            self.history,
            self.line,
            self.store,
            self.embedder,
            self.steps,
            self.gate,
            self.ingest.mend,
            self.recorded(),
            self.settings.stage_names,
        )

    def gate(self, language: str) -> Gate:
        """The gate for a page in that language: where the embedder does not know it, words alone decide."""
        embedder = self.embedder
        known = knows(embedder, language)
        gate = (load_gate(embedder.name, self.gates) if known else None) or load_gate("", self.gates)
        if gate is None:
            raise PersonaError("The gate's file is missing. Run `make install` again.")
        return gate

    def model_status(self) -> ModelStatus:
        """What answers, and what to do if nothing does. Starts nothing."""
        if self.kind == "builtin":
            status: ModelStatus = self.builtin.status()
            return status
        return self.model.status()

    def ollama_status(self) -> ModelStatus:
        """What Ollama says of the model that is set, whether it is used or not."""
        return self._ollama(self._ollama_model).status()

    def there(self) -> list[ModelStatus]:
        """Everything that could answer now: Ollama's chat models, the OpenAI-style server, the built-in model."""
        found: list[ModelStatus] = self._ollama("").there()
        if self.settings.openai_url:
            status = self._openai(self.settings.model if self.settings.llm == "openai" else "").status()
            found += [replace(status, model=name) for name in status.details.get("models", ())]
        builtin = self.builtin.status()
        return [*found, builtin] if builtin.ready else found

    def follow(self, ollama: ModelStatus) -> None:
        """Where the choice is `auto`, take or leave Ollama, which may have come or gone since. Waits for no server."""
        if "kind" not in self._replaced and self._kind(lambda: ollama) != self.kind:
            self._change()

    def health(self, ollama: ModelStatus) -> Health:
        """What answers and what would be better, given what `ollama_status` said."""
        return health(self.model_status(), ollama, self.there(), self.settings.context_window)

    def answer_with(self, kind: str, model: str) -> None:
        """From the next question on another model answers; turns that run end with the one they began with.

        `kind` "auto" takes again what is best of those that are there, by the models that were set for it.
        """
        chosen = {"llm": kind, "model": self._gguf if kind == "builtin" else model, "rewrite_model": ""}
        if kind == self._set.llm == "auto":
            chosen |= {"model": self._set.model, "rewrite_model": self._set.rewrite_model}
        self.settings = self.settings.model_copy(update=chosen)
        self._change()

    def pull(self, model: str) -> Iterator[tuple[int, int]]:
        """Have Ollama download a model: bytes done and in all, of the layers that are known so far."""
        layers: dict[str, tuple[int, int]] = {}
        for step in self._ollama(model).pull():
            if step.digest and step.total:
                layers[step.digest] = (step.completed or 0, step.total)
            yield sum(done for done, _ in layers.values()), sum(total for _, total in layers.values())

    def _change(self) -> None:
        """Make anew what goes by the choice of the model."""
        for part in ("kind", "model", "rewrite_model", "steps"):
            if part not in self._replaced:
                self.__dict__.pop(part, None)
        if made := self.__dict__.get("interview"):
            made.use(self.steps, self.recorded())

    def _model(self, name: str) -> ChatModel:
        if self.kind == "ollama":
            return self._ollama(name)
        if self.kind == "openai":
            return self._openai(name)
        from persona.adapters.openai_server import OpenAIServerModel

        window = self.settings.context_window
        return OpenAIServerModel(self.builtin.address, self.builtin.model.stem, window, kind="builtin")

    def _openai(self, name: str) -> ChatModel:
        from persona.adapters.openai_server import OpenAIServerModel

        settings = self.settings
        return OpenAIServerModel(lambda: settings.openai_url, name, settings.context_window, settings.openai_key)

    @property
    def _ollama_model(self) -> str:
        """The model that is set, if it is one of Ollama's; empty for the usual one."""
        settings = self.settings
        of_ollama = settings.llm == "ollama" or (settings.llm == "auto" and not settings.openai_url and not self._gguf)
        return settings.model if of_ollama else ""

    def _ollama(self, name: str) -> OllamaModel:
        from persona.adapters.ollama import OllamaModel

        return OllamaModel(self.settings.ollama_address, name or WANTED, self.settings.context_window)

    def _named(self, name: str) -> str:
        """The model's name without asking its server, which may be down."""
        if self.kind == "builtin":
            return str(self.builtin.model.stem)
        return name or (WANTED if self.kind == "ollama" else "the server's first")

    def recorded(self) -> dict[str, str]:
        """What a trace keeps of the settings."""
        return {
            "llm": self.kind,
            "model": self._named(self.settings.model),
            "rewrite_model": self._named(self.settings.rewrite_model or self.settings.model),
            "embedder": self.embedder.name,
            "context_window": str(self.settings.context_window),
            "stages": self.settings.stages,
        }
