"""What answers, whether it fits the card, and what would be better: in words, and what one button could do about it.

Works on what model servers said of themselves; asks none and knows no screen. Sizes are in bytes, and what a model
needs is its file and its cache at 16 bit, by calculation.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from persona.records import ModelStatus

WANTED = "qwen3:8b"  # the model that everything is meant for
_SMALLER = "qwen3:4b"
_CARD = 8 * 2**30  # of video memory
_BESIDE = 2**30  # for the computation itself and for the screen
ROOM = _CARD - _BESIDE
_KNOWN = {WANTED: 5.2e9, _SMALLER: 2.6e9}  # files at Q4_K_M
_TOKEN = 144 * 2**10  # of cache, of both
_GB = 1e9


@dataclass(frozen=True, slots=True)
class Fit:
    """Whether a model with its cache fits a card of 8 GB, or the card that it was seen to fill."""

    model: str
    window: int
    weights: int
    cache: int
    fits: bool
    seen: str = ""  # where it is now, if it is loaded

    @property
    def needed(self) -> int:
        """All it takes."""
        return self.weights + self.cache

    @property
    def words(self) -> str:
        """What it needs, without a full stop."""
        needs = f"{self.model} with a context of {self.window} tokens needs {gb(self.weights)} and {gb(self.cache)} of cache"
        return f"{needs}; {self.seen}" if self.seen else needs


@dataclass(frozen=True, slots=True)
class Offer:
    """Something better, or a way out: a sentence or two, and what a button does, about which model."""

    words: str
    action: Literal["pull", "choose", "look"]
    kind: str = ""
    model: str = ""


@dataclass(frozen=True, slots=True)
class Health:
    """What answers; what else could (all of them ready); and what to offer."""

    answers: ModelStatus
    there: tuple[ModelStatus, ...]
    offer: Offer | None = None


def gb(size: float) -> str:
    """As in "5.2 GB"."""
    return f"{size / _GB:.1f} GB"


def fit(status: ModelStatus, window: int) -> Fit:
    """Of the model that was asked about; where Ollama does not tell, of the one that everything is meant for."""
    found = status.details
    model = status.model if found.get("weights_bytes") or status.model in _KNOWN else WANTED
    weights = int(found.get("weights_bytes") or _KNOWN[model])
    cache = int(found.get("cache_bytes") or _TOKEN * window)
    loaded, in_video = found.get("loaded_bytes") or 0, found.get("loaded_video_bytes") or 0
    seen = f"{gb(in_video)} of {gb(loaded)} are in video memory now" if found.get("loaded") else ""
    fits = weights + cache <= ROOM
    if found.get("loaded") and loaded:
        fits = in_video >= loaded  # what was seen counts for more than what was calculated
    return Fit(model, window, weights, cache, fits, seen)


def instead(there: Sequence[ModelStatus], window: int) -> str:
    """The largest chat model that Ollama has and that fits, else one to get; empty if even that does not fit."""
    fitting = [one for one in (fit(status, window) for status in _on_ollama(there)) if one.fits]
    if fitting:
        return max(fitting, key=lambda one: one.weights).model
    return _SMALLER if _KNOWN[_SMALLER] + _TOKEN * window <= ROOM else ""


def health(answers: ModelStatus, ollama: ModelStatus, there: Sequence[ModelStatus], window: int) -> Health:
    """`ollama` is its word on the model that is wanted of it, `there` are all that could answer."""
    others = [one for one in there if (one.kind, one.model) != (answers.kind, answers.model) and not _is_cloud(one)]
    if not answers.ready:
        offer: Offer | None = _way_out(answers, others)
    elif answers.kind == "builtin":
        offer = _better(ollama, window)
    elif answers.kind == "ollama" and answers.details.get("weights_bytes"):
        offer = _lighter(fit(answers, window), others)
    else:
        offer = None
    return Health(answers, tuple(there), offer)


def named(status: ModelStatus) -> str:
    """The model and where it is, as the middle of a sentence."""
    if status.kind == "builtin":
        return f"the built-in model ({status.model.removesuffix('.gguf')})"
    if status.kind == "ollama":
        return f"{status.model} on Ollama"
    return f"{status.model} on {status.address}" if status.model else f"the server at {status.address}"


def _way_out(answers: ModelStatus, others: Sequence[ModelStatus]) -> Offer:
    """Nothing answers: what is wrong, and who could answer instead."""
    if answers.details.get("missing"):
        size = _KNOWN.get(answers.model)
        words = f"Ollama does not have the model {answers.model} yet{f' ({gb(size)} to download)' if size else ''}."
        return Offer(words, "pull", "ollama", answers.model)
    if answers.kind == "ollama":
        words = f"Ollama does not answer at {answers.address}. Open the Ollama app, or run “ollama serve”."
    else:
        words = " ".join(filter(None, (_ended(answers.problem), _ended(answers.remedy)))) or "No model answers."
    for kind in ("ollama", "openai", "builtin"):
        if found := next((one for one in others if one.kind == kind), None):
            return Offer(f"{words} Or let {named(found)} answer.", "choose", found.kind, found.model)
    return Offer(words, "look")


def _better(ollama: ModelStatus, window: int) -> Offer | None:
    """The built-in model answers: how to have the one that everything is meant for."""
    why = "The built-in model is small: its answers are short and plain."
    if ollama.ready:
        return None
    if not ollama.details.get("missing"):
        words = (
            f"{why} {ollama.model} on Ollama answers better. Get Ollama from ollama.com and open it, or run "
            "“ollama serve”; it is noticed here by itself."
        )
        return Offer(words, "look")
    wanted = fit(ollama, window)
    model = ollama.model if wanted.fits else instead((), window) or ollama.model
    size = f" ({gb(_KNOWN[model])} to download)" if model in _KNOWN else ""
    return Offer(f"{why} Ollama is running, and with {model}{size} it answers better.", "pull", "ollama", model)


def _lighter(found: Fit, others: Sequence[ModelStatus]) -> Offer | None:
    """A model on Ollama answers: what to take instead if it does not fit the card."""
    if found.fits:
        return None
    trouble = f"{found.words}: too much for the card" if found.seen else f"{found.words}: too much for a card of 8 GB"
    lighter = instead(others, found.window)
    if not lighter or lighter == found.model:
        return Offer(f"{trouble}. Set PERSONA_CONTEXT_WINDOW lower.", "look")
    size = f" ({gb(_KNOWN[lighter])} to download)" if lighter in _KNOWN else ""
    if any(one.model == lighter for one in _on_ollama(others)):
        return Offer(f"{trouble}. {lighter} fits.", "choose", "ollama", lighter)
    return Offer(f"{trouble}. {lighter}{size} fits.", "pull", "ollama", lighter)


def _on_ollama(there: Sequence[ModelStatus]) -> list[ModelStatus]:
    ollama = (one for one in there if one.kind == "ollama" and not _is_cloud(one))
    return [one for one in ollama if one.details.get("weights_bytes")]


def _is_cloud(status: ModelStatus) -> bool:
    """Whether Ollama only passes on to its maker's servers: that can be chosen, but is never offered."""
    return status.kind == "ollama" and status.model.endswith((":cloud", "-cloud"))


def _ended(text: str) -> str:
    return text if not text or text.endswith(".") else f"{text}."
