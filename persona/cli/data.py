"""Records as the JSON that the commands print. The keys are a promise to scripts. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from persona.records import PATH_SEPARATOR, Build, Choice, LeftOut, Loaded, Page, Person, Turn

_STAGES = {"leader": "ranked", "nearest": "ranked"}  # passages ranked without the model are ranked all the same
_WITHOUT_MODEL = frozenset({"greeting", "refused"})


def person_data(person: Person, build: Build) -> dict[str, Any]:
    """An entry of `people --json`."""
    return {
        "id": person.id,
        "title": person.title,
        "language": person.language,
        "sections": len(build.sections),
        "chunks": build.chunks,
        "revision": person.revision,
        "left_out": left_out_data(build.left_out),
    }


def loaded_data(page: Page, asked_for: str, loaded: Loaded, seconds: float) -> dict[str, Any]:
    """What `load --json` prints."""
    return {
        "person": loaded.person.id,
        "title": loaded.person.title,
        "asked_for": asked_for,
        "language": loaded.person.language,
        "revision": loaded.person.revision,
        "sections": len(loaded.build.sections),
        "chunks": loaded.build.chunks,
        "embedded": loaded.embedded,
        "reused": loaded.reused,
        "left_out": left_out_data(page.left_out),
        "seconds": round(seconds, 3),
        "advice": loaded.advice,
    }


def left_out_data(left_out: Sequence[LeftOut]) -> list[dict[str, str]]:
    """Sections that are not indexed."""
    return [{"path": PATH_SEPARATOR.join(section.path), "reason": section.reason} for section in left_out]


def choice_data(choice: Choice) -> dict[str, Any]:
    """What `load --json` prints when there is no such page."""
    return {"choice": {"reason": choice.reason, "asked_for": choice.asked_for, "options": list(choice.options)}}


def turn_data(turn: Turn, seconds: float, first_text: float | None) -> dict[str, Any]:
    """What `ask --json` prints. The first token is null where no model wrote what was shown."""
    answer = turn.answer
    stage = answer.stage if answer else None
    first = None if first_text is None or stage in _WITHOUT_MODEL else round(first_text, 3)
    return {
        "question": turn.question.asked,
        "standalone": turn.question.standalone,
        "answer": answer.text if answer else turn.partial,
        "found": bool(answer and answer.found),
        "stage": _STAGES.get(stage, stage) if stage else None,
        "reason": answer.reason if answer else "",
        "sources": _sources(turn),
        "warnings": list(answer.warnings) if answer else [],
        "thread": turn.thread,
        "turn": turn.id,
        "model": turn.trace.settings.get("model", ""),
        "calls": _calls(turn),
        "seconds": round(seconds, 3),
        "first_token_seconds": first,
    }


def _sources(turn: Turn) -> list[dict[str, Any]]:
    return [
        {
            "number": source.number,
            "section": source.section,
            "url": source.url,
            "revision": source.revision,
            "text": source.text,
            "score": source.score,
        }
        for source in (turn.answer.sources if turn.answer else ())
    ]


def _calls(turn: Turn) -> list[dict[str, Any]]:
    return [
        {
            "step": call.step,
            "model": call.model,
            "prompt": call.prompt,
            "prompt_tokens": call.prompt_tokens,
            "output_tokens": call.output_tokens,
            "seconds": round(call.seconds, 3),
            "tries": call.tries,
        }
        for call in turn.trace.calls
    ]
