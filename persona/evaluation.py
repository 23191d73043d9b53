"""Cases in, figures out, over any Interview.

Knows how a case is put to an interview and what is counted; how an answer is judged stands in `judging`, where pages
come from in `wiring`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from statistics import median
from typing import Any

from persona.cases import Case
from persona.errors import InputError
from persona.interview import Interview
from persona.judging import answered_right, first_person, is_fragment, right_chunks
from persona.ports import History
from persona.records import Answer, Finished, Question, Text, Turn, new_id, now

Count = dict[str, int]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one case came to. What does not apply is None."""

    id: str
    question: str
    tags: tuple[str, ...]
    answerable: bool
    off_topic: bool
    standalone: str = ""
    answer: str = ""
    found: bool = False
    stage: str = ""
    reason: str = ""
    error: str = ""
    right: bool | None = None
    refused_right: bool | None = None
    first_person: bool | None = None
    fragment: bool | None = None
    right_first: bool | None = None
    right_top3: bool | None = None
    right_sent: bool | None = None
    gate: float | None = None
    kept: bool | None = None
    warnings: tuple[str, ...] = ()
    calls: int = 0
    answer_calls: int = 0
    prompt_tokens: int = 0
    read_tokens: int = 0
    output_tokens: int = 0
    seconds: float = 0.0
    first_token: float | None = None
    attempts: tuple[str, ...] = ()


class Examiner:
    """Puts cases to an interview. `person` finds the id of a case's page, loading it if need be."""

    def __init__(self, interview: Interview, history: History, person: Callable[[str], str]) -> None:
        self._interview, self._history, self._person = interview, history, person

    def search(self, case: Case) -> Outcome:
        """Search and gate only; no model is asked."""
        return self._searched(case, Outcome(case.id, case.question, case.tags, case.answerable, case.off_topic))

    def ask(self, case: Case) -> Outcome:
        """The whole turn, in a thread of its own that holds the case's history."""
        began = time.monotonic()
        first: float | None = None
        turn: Turn | None = None
        outcome = self._searched(case, Outcome(case.id, case.question, case.tags, case.answerable, case.off_topic))
        began = time.monotonic()
        try:
            thread, parent = self._thread(case)
            for event in self._interview.ask(case.question, thread, parent):
                if isinstance(event, Text) and first is None:
                    first = time.monotonic() - began
                if isinstance(event, Finished):
                    turn = event.turn
        except InputError as error:  # a question that cannot be one is refused at the door
            return replace(
                outcome,
                reason=str(error),
                refused_right=None if case.answerable else True,
                right=False if case.answerable else None,
            )
        if turn is None:  # pragma: no cover - ask's promise
            raise RuntimeError("a turn ended without its last event")
        return self._judged(case, outcome, turn, time.monotonic() - began, first)

    def _thread(self, case: Case) -> tuple[str, str | None]:
        thread = self._history.start(self._person(case.page)).id
        parent: str | None = None
        for asked, told in case.exchanges:
            turn = Turn(new_id(), thread, parent, new_id(), Question(asked, asked), "running", now())
            self._history.add(turn)
            self._history.finish(replace(turn, state="done", answer=Answer(told, True, "ranked")))
            parent = turn.id
        return thread, parent

    def _searched(self, case: Case, outcome: Outcome) -> Outcome:
        if "in-conversation" in case.tags or not any(c.isalnum() for c in case.question):
            return outcome
        searcher = self._interview.subject(self._person(case.page)).searcher
        found = searcher.search(case.alone)
        right = right_chunks(case, searcher.index.chunks) if case.section or case.passage else None
        score = searcher.gate.score(found.features)
        outcome = replace(outcome, gate=score, kept=searcher.gate.passes(found.features))
        if right is None or not case.answerable:
            return outcome
        top = [c.chunk.id in right for c in found.candidates[:3]]
        return replace(outcome, right_first=any(top[:1]), right_top3=any(top))

    def _judged(self, case: Case, outcome: Outcome, turn: Turn, seconds: float, first: float | None) -> Outcome:
        answer, calls = turn.answer, turn.trace.calls
        found = bool(answer and answer.found)
        sent = [e.chunk for attempt in turn.trace.attempts for e in attempt.evidence]
        knows = bool(case.section or case.passage) and case.answerable
        return replace(
            outcome,
            standalone=turn.question.standalone,
            answer=answer.text if answer else "",
            found=found,
            stage=answer.stage if answer else "",
            reason=answer.reason if answer else "",
            error=turn.error,
            right=answered_right(case, answer) if case.answerable else None,
            refused_right=None if case.answerable else bool(answer and not answer.found),
            first_person=first_person(answer.text, case.page) if answer and found else None,
            fragment=is_fragment(answer.text) if answer and found else None,
            right_sent=bool(right_chunks(case, sent)) if knows else None,
            warnings=answer.warnings if answer else (),
            calls=sum(call.tries for call in calls),
            answer_calls=sum(call.step == "answer" for call in calls),
            prompt_tokens=sum(call.prompt_tokens for call in calls),
            read_tokens=sum(call.prompt_tokens - call.cached_tokens for call in calls),
            output_tokens=sum(call.output_tokens for call in calls),
            seconds=round(seconds, 3),
            first_token=round(first, 3) if first is not None else None,
            attempts=tuple(f"{a.stage}: {a.outcome}" for a in turn.trace.attempts),
        )


def figures(outcomes: Sequence[Outcome]) -> dict[str, Any]:
    """Counts as {"n", "of"}, medians and means as numbers; what no case speaks of is left out."""
    answered = [o for o in outcomes if o.found]
    counted: dict[str, Count] = {
        "answered_right": _count(o.right for o in outcomes),
        "refused_right": _count(o.refused_right for o in outcomes),
        "refused_wrongly": _count(not o.found if o.answerable and o.stage else None for o in outcomes),
        "right_first": _count(o.right_first for o in outcomes),
        "right_top3": _count(o.right_top3 for o in outcomes),
        "right_sent": _count(o.right_sent for o in outcomes),
        "own_kept": _count(o.kept if o.answerable else None for o in outcomes),
        "off_topic_refused": _count(_refused(o) for o in outcomes),
        "off_topic_answer_calls": _count(o.answer_calls > 0 if o.off_topic and o.stage else None for o in outcomes),
        "first_person": _count(o.first_person for o in answered),
        "fragments": _count(o.fragment for o in answered),
        "unsupported": _count(any("no source" in w for w in o.warnings) for o in answered),
    }
    asked = [o for o in outcomes if o.stage or o.error]
    numbers: dict[str, float] = {}
    if asked:
        numbers = {
            "calls_per_turn": _mean([o.calls for o in asked]),
            "prompt_tokens_per_turn": _mean([o.prompt_tokens for o in asked]),
            "read_tokens_per_turn": _mean([o.read_tokens for o in asked]),
            "seconds_median": round(median(o.seconds for o in asked), 2),
        }
        streamed = [o.first_token for o in asked if o.first_token is not None]
        if streamed:
            numbers["first_token_median"] = round(median(streamed), 2)
    return {name: count for name, count in counted.items() if count["of"]} | numbers


def failed(outcome: Outcome) -> bool:
    """Whether a case went wrong in what matters most."""
    return outcome.right is False or outcome.refused_right is False or bool(outcome.error)


def as_json(outcome: Outcome) -> dict[str, Any]:
    """The outcome as it is written; what does not apply is left out."""
    return {name: value for name, value in asdict(outcome).items() if value is not None}


def as_outcome(value: dict[str, Any]) -> Outcome:
    """Back from what `as_json` made."""
    lists = {name: tuple(given) for name, given in value.items() if isinstance(given, list)}
    return Outcome(**(value | lists))


def _refused(outcome: Outcome) -> bool | None:
    """By the turn where there was one, else by the gate."""
    if not outcome.off_topic:
        return None
    return not outcome.found if outcome.stage else (None if outcome.kept is None else not outcome.kept)


def _count(values: Any) -> Count:  # noqa: ANN401 - any iterable of bool | None
    known = [bool(value) for value in values if value is not None]
    return {"n": sum(known), "of": len(known)}


def _mean(values: Sequence[float]) -> float:
    return round(sum(values) / len(values), 2)
