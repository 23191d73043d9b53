"""A look at everything that an interview needs: what is set up, what is not, and what to do about it.

Each check is a function of the wiring that starts nothing but the embedder; whatever it raises becomes its result.
Only what leaves nobody to answer, or a store that cannot be used, is an error. Knows nothing of who asks.
"""

from __future__ import annotations

import platform
import shutil
import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from persona.answering import ROOM, fit, gb, instead
from persona.errors import PersonaError
from persona.records import ModelStatus
from persona.wiring import Wiring

_ROOM = 200e6  # bytes on the disk below which it is time to make room
_WIKI_SECONDS = 4.0
_Q8 = 17 / 32  # of the cache at 16 bit: 8 bits a value, and a scale for each 32


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that was looked at: "off" is something that is not set up and need not be."""

    name: str
    state: Literal["ok", "off", "warning", "error"]
    message: str
    remedy: str = ""
    details: Mapping[str, Any] = field(default_factory=dict)


def look(wiring: Wiring, names: Sequence[str] = ()) -> Iterator[Check]:
    """The checks of those names, or all, one after the other."""
    for name in names or CHECKS:
        yield _checked(name, CHECKS[name], wiring)


def is_sound(checks: Sequence[Check]) -> bool:
    """Whether somebody can answer and the stores can be used."""
    return all(check.state != "error" for check in checks)


def in_words(sound: bool) -> str:
    """The whole in one sentence."""
    return "Ready to interview." if sound else "Not ready: see what is wrong."


def _checked(name: str, check: Callable[[Wiring], Check], wiring: Wiring) -> Check:
    try:
        return check(wiring)
    except PersonaError as error:
        return Check(name, "error", str(error))
    except Exception as error:  # a doctor does not die of what it finds
        return Check(name, "error", f"It could not be checked ({type(error).__name__}: {error}).")


# --- what is looked at ---


def _programs(_: Wiring) -> Check:
    versions = {"python": platform.python_version(), "sqlite": sqlite3.sqlite_version}
    return Check("versions", "ok", f"Python {versions['python']}, SQLite {versions['sqlite']}", details=versions)


def _folder(wiring: Wiring) -> Check:
    home = wiring.settings.home
    home.mkdir(parents=True, exist_ok=True)
    free = shutil.disk_usage(home).free
    details = {"path": str(home), "free_bytes": free}
    if free < _ROOM:
        remedy = "Make room: when the disk is full, no question can be stored."
        return Check("data folder", "warning", f"{home} has {free / 1e6:.0f} MB of room left", remedy, details)
    return Check("data folder", "ok", str(home), details=details)


def _answering(wiring: Wiring) -> Check:
    """Without a model nothing can answer."""
    status = wiring.model_status()
    message = status.problem or f"{status.model} on {_server(status)} is what answers"
    state: Literal["ok", "warning", "error"] = "error" if not status.ready else "warning" if status.problem else "ok"
    return Check("model", state, message, status.remedy, _details(status))


def _server(status: ModelStatus) -> str:
    if status.kind == "builtin":  # its address is a secret
        return "the built-in server"
    names = {"ollama": "Ollama", "openai": "the OpenAI-style server"}
    return f"{names.get(status.kind, status.kind)}{f' at {status.address}' if status.address else ''}"


def _details(status: ModelStatus) -> dict[str, Any]:
    return {"kind": status.kind, "address": status.address, "model": status.model, **status.details}


def _ollama(wiring: Wiring) -> Check:
    status = wiring.ollama_status()
    if status.ready:
        used = "" if wiring.kind == "ollama" else " (it is not what answers)"
        return Check("Ollama", "ok", f"{status.address} has {status.model}{used}", details=_details(status))
    return Check("Ollama", "off", status.problem, status.remedy, _details(status))


def _fit(wiring: Wiring) -> Check:
    """Whether the model and its cache fit a card of 8 GB, by calculation, or where they are now."""
    found = fit(wiring.ollama_status(), wiring.settings.context_window)
    details = {"weights_bytes": found.weights, "cache_bytes": found.cache, "needed_bytes": found.needed}
    details |= {"context_window": found.window, "room_bytes": ROOM, "q8_cache_bytes": int(found.cache * _Q8)}
    smaller = _smaller_cache(found.cache)
    if found.fits:
        room = f"For more room: {smaller}"
        return Check("fit on the card", "ok", f"{found.words}: it fits a card of 8 GB", room, details)
    lighter = instead([one for one in wiring.there() if one.model != found.model], found.window)
    remedy = f"Set PERSONA_MODEL={lighter}, which fits. {smaller}" if lighter else smaller
    return Check("fit on the card", "warning", f"{found.words}: too much for a card of 8 GB", remedy, details)


def _smaller_cache(cache: int) -> str:
    return (
        "Start Ollama with OLLAMA_FLASH_ATTENTION=1 and OLLAMA_KV_CACHE_TYPE=q8_0, "
        f"with which the cache takes {gb(cache * _Q8)}, or set PERSONA_CONTEXT_WINDOW lower."
    )


def _rewriting(wiring: Wiring) -> Check:
    """A second model takes room beside the first."""
    name = wiring.settings.rewrite_model
    if not name or wiring.kind == "builtin":
        return Check("rewriting model", "ok", "the answering model rewrites, too")
    status = wiring.rewrite_model.status()
    if not status.ready:
        return Check("rewriting model", "error", status.problem, status.remedy, _details(status))
    both = sum(model.status().details.get("needed_bytes", 0) for model in (wiring.model, wiring.rewrite_model))
    if both > ROOM:
        remedy = "Unset PERSONA_REWRITE_MODEL: one model for both is faster than two that take turns on the card."
        return Check("rewriting model", "warning", f"both models need {gb(both)}, more than a card of 8 GB", remedy)
    return Check("rewriting model", "ok", f"{status.model} on {_server(status)}", details=_details(status))


def _builtin(wiring: Wiring) -> Check:
    status: ModelStatus = wiring.builtin.status()
    if not status.ready:
        return Check("built-in model", "off", status.problem, status.remedy, _details(status))
    joined = "joined" if status.details.get("joined") else "not joined yet; that is done when it is first needed"
    running = "running" if status.details.get("running") else "not running; it starts with the first question"
    return Check("built-in model", "ok", f"installed, {joined}, {running}", details=_details(status))


def _embedder(wiring: Wiring) -> Check:
    embedder = wiring.embedder
    size = int(embedder.embed(["word"]).shape[1])
    languages = sorted(embedder.languages)
    told = f"languages: {', '.join(languages)}" if languages else "any language"
    details = {"name": embedder.name, "dimension": size, "languages": languages}
    return Check("embedder", "ok", f"{embedder.name}, {size} dimensions, {told}", details=details)


def _gates(wiring: Wiring) -> Check:
    gate = wiring.gate(wiring.settings.language)
    return Check("evidence gate", "ok", f"for {gate.embedder or 'words alone'}, from {gate.threshold:.2f} on")


def _prompts(wiring: Wiring) -> Check:
    folder = str(wiring.settings.prompts)
    return Check("prompts", "ok", f"{len(wiring.prompts)} in {folder}", details={"path": folder})


def _database(wiring: Wiring) -> Check:
    """Opens it; an index of another embedder is found here, before a question fails."""
    people = wiring.library.people()
    wiring.database.check()
    details = {"people": len(people)}
    builds = [wiring.library.build(person.build) for person in people]
    other = [build.title for build in builds if build and build.embedder != wiring.embedder.name]
    if other:
        remedy = f"Load them again, or set PERSONA_EMBEDDER back: {', '.join(other)}."
        message = f"{len(other)} of {len(people)} people were indexed with another embedder than {wiring.embedder.name}"
        return Check("database", "warning", message, remedy, details)
    return Check("database", "ok", f"opens, {len(people)} people", details=details)


def _vectors(wiring: Wiring) -> Check:
    location = wiring.settings.chroma_location
    builds = len(wiring.store.builds())
    return Check(
        "vector store", "ok", f"{location} opens, {builds} indexes", details={"path": location, "builds": builds}
    )


def _indexes(wiring: Wiring) -> Check:
    """Whether everybody's is there."""
    people, builds = wiring.library.people(), set(wiring.store.builds())
    lost = [person.title for person in people if person.build not in builds]
    if lost:
        remedy = "They are made again from the database, each with the next question to that person."
        return Check("indexes", "warning", f"the vector store lacks those of {', '.join(lost)}", remedy)
    return Check("indexes", "ok", f"the vector store has those of all {len(people)} people")


def _wiki(wiring: Wiring) -> Check:
    """Only loading needs it."""
    from persona.adapters.wiki_client import WikiClient

    settings = wiring.settings
    address = settings.wiki_api or f"https://{settings.language}.wikipedia.org/w/api.php"
    try:
        with WikiClient(settings.wiki_api, settings.language, _WIKI_SECONDS) as wiki:
            wiki.query(meta="siteinfo")
    except PersonaError as error:
        remedy = "Only loading pages needs it; who is loaded can be interviewed, and Markdown files can be loaded."
        return Check("wiki", "warning", str(error), remedy, {"address": address})
    return Check("wiki", "ok", f"{address} answers", details={"address": address})


CHECKS: Mapping[str, Callable[[Wiring], Check]] = {
    "versions": _programs,
    "data folder": _folder,
    "model": _answering,
    "rewriting model": _rewriting,
    "Ollama": _ollama,
    "fit on the card": _fit,
    "built-in model": _builtin,
    "embedder": _embedder,
    "evidence gate": _gates,
    "prompts": _prompts,
    "database": _database,
    "vector store": _vectors,
    "indexes": _indexes,
    "wiki": _wiki,
}
