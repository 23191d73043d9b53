"""This program as a contender: the real wiring over a data folder of its own, its model behind the meter."""

from __future__ import annotations

from pathlib import Path

from persona.adapters.openai_server import OpenAIServerModel
from persona.cases import Case
from persona.evaluation import Examiner
from persona.ports import Embedder
from persona.records import Loaded, Trace
from persona.settings import Settings
from persona.wiring import Wiring
from tests.bench.contender import Measured, Pages


class Ours:
    """Implements Contender."""

    def __init__(
        self, model: OpenAIServerModel, embedder: Embedder, settings: Settings, home: Path, pages: Pages
    ) -> None:
        # where the model is was settled already; nobody is to ask Ollama
        kept = settings.model_copy(update={"home": home, "llm": "builtin", "database": "", "chroma": ""})
        self._wiring = Wiring(kept, model=model, rewrite_model=model, embedder=embedder)
        self._pages = pages
        self._known: dict[str, str] = {}
        self._examiner = Examiner(self._wiring.interview, self._wiring.history, self._person)

    def ask(self, case: Case) -> Measured:
        """See Contender."""
        outcome = self._examiner.ask(case)
        if outcome.error:
            raise RuntimeError(outcome.error)
        return Measured(
            id=case.id,
            answer=outcome.answer,
            stage=outcome.stage,
            found=outcome.found,
            right=outcome.right,
            refused_right=outcome.refused_right,
            seconds=outcome.seconds,
            first_token=outcome.seconds if outcome.first_token is None else outcome.first_token,
            parts=_parts(outcome.trace) if outcome.trace else {},
        )

    def _person(self, title: str) -> str:
        if title not in self._known:
            *_, loaded = self._wiring.ingest.load(self._pages(title))
            if not isinstance(loaded, Loaded):  # pragma: no cover - load's promise
                raise TypeError(loaded)
            self._known[title] = loaded.person.id
        return self._known[title]


def _parts(trace: Trace) -> dict[str, float]:
    """The turn's timings; choosing a section counts as ranking, and "own" is all but the model calls."""
    parts = dict(trace.timings)
    if "categorize" in parts:
        parts["rank"] = parts.get("rank", 0.0) + parts.pop("categorize")
    if "total" in parts:
        parts["own"] = parts["total"] - sum(call.seconds for call in trace.calls)
    return {part: round(seconds, 4) for part, seconds in parts.items()}
