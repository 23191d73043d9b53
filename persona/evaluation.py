"""Cases in, figures out, over any Interview.

Knows how a case is put to an interview and what is counted; how an answer is judged stands in `judging`, where pages
come from in `wiring`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from persona.cases import Case
from persona.errors import InputError
from persona.figures import Figures, count, counted, mean, middle
from persona.interview import Interview
from persona.judging import answered_right, fault, first_person, is_fragment, right_chunks
from persona.ports import History
from persona.records import PATH_SEPARATOR, Finished, Text, Trace, Turn

_TOLD = 160  # characters of what came of a case
_SHOWN = 5  # passages of a search that are kept to be looked at


@dataclass(frozen=True, slots=True)
class Passage:
    """A passage as the search ranked it; `right` is None where the case does not say."""

    section: str
    text: str
    score: float
    right: bool | None = None


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
    stage: str = ""  # empty where no turn was answered: of a search alone, or a turn that failed
    reason: str = ""
    error: str = ""
    right: bool | None = None
    fault: str = ""  # why an answer is not right
    refused_right: bool | None = None
    first_person: bool | None = None
    fragment: bool | None = None
    right_first: bool | None = None
    right_top3: bool | None = None
    right_sent: bool | None = None
    gate: float | None = None
    threshold: float | None = None
    kept: bool | None = None
    features: Mapping[str, float] = field(default_factory=dict)
    passages: tuple[Passage, ...] = ()
    warnings: tuple[str, ...] = ()
    calls: int = 0
    answer_calls: int = 0
    prompt_tokens: int = 0
    read_tokens: int = 0
    output_tokens: int = 0
    seconds: float = 0.0
    first_token: float | None = None
    trace: Trace | None = None

    @property
    def asked(self) -> bool:
        """Whether there was a turn, and not a search alone."""
        return bool(self.stage or self.reason or self.error)

    @property
    def failed(self) -> bool:
        """Whether the case went wrong in what matters most."""
        if self.asked:
            return self.right is False or self.refused_right is False or bool(self.error)
        gated = self.kept if self.off_topic else self.kept is False and self.answerable
        return self.right_top3 is False or bool(gated)

    @property
    def worth(self) -> tuple[int, ...]:
        """The higher the better, to be compared with the same case in another run."""
        return (not self.failed,) if self.asked else (not self.failed, bool(self.right_first))

    @property
    def said(self) -> str:
        """What came of it, in words."""
        return self.error or self.answer or self.reason or " | ".join(passage.section for passage in self.passages[:3])

    @property
    def told(self) -> str:
        """The same in a line, with where it came from and what is wrong with it."""
        where = f"[{self.stage}] " if self.stage else ""
        return f"{where}{self.said[:_TOLD]}{f' ({self.fault})' if self.found and self.fault else ''}"


class Examiner:
    """Puts cases to an interview. `person` finds the id of a case's page, loading it if need be."""

    def __init__(self, interview: Interview, history: History, person: Callable[[str], str]) -> None:
        self._interview, self._history, self._person = interview, history, person

    def search(self, case: Case) -> Outcome:
        """Search and gate only; no model is asked."""
        return self._searched(case, Outcome(case.id, case.question, case.tags, case.answerable, case.off_topic))

    def ask(self, case: Case) -> Outcome:
        """The whole turn, in a thread of its own that holds the case's history."""
        outcome = self.search(case)
        first: float | None = None
        turn: Turn | None = None
        thread, parent = self._thread(case)
        began = time.monotonic()
        try:
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
        return _judged(case, outcome, turn, time.monotonic() - began, first)

    def _thread(self, case: Case) -> tuple[str, str | None]:
        thread = self._history.start(self._person(case.page)).id
        past = case.past(thread)
        for turn in past:
            self._history.add(replace(turn, state="running", answer=None))
            self._history.finish(turn)
        return thread, past[-1].id if past else None

    def _searched(self, case: Case, outcome: Outcome) -> Outcome:
        if "in-conversation" in case.tags or not any(c.isalnum() for c in case.question):
            return outcome
        searcher = self._interview.subject(self._person(case.page)).searcher
        found = searcher.search(case.alone)
        known = case.answerable and bool(case.section or case.passage)
        right = right_chunks(case, searcher.index.chunks) if known else frozenset()
        top = [c.chunk.id in right for c in found.candidates[:3]]
        return replace(
            outcome,
            gate=searcher.gate.score(found.features),
            threshold=searcher.gate.threshold,
            kept=searcher.gate.passes(found.features),
            features=found.features,
            passages=tuple(
                Passage(
                    PATH_SEPARATOR.join(c.chunk.path), c.chunk.text, c.score, c.chunk.id in right if known else None
                )
                for c in found.candidates[:_SHOWN]
            ),
            right_first=any(top[:1]) if known else None,
            right_top3=any(top) if known else None,
        )


def _judged(case: Case, outcome: Outcome, turn: Turn, seconds: float, first: float | None) -> Outcome:
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
        fault=fault(case, answer) if case.answerable else "",
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
        trace=replace(turn.trace, settings={}),  # the run has them
    )


def figures(outcomes: Sequence[Outcome]) -> Figures:
    """Counts as {"n", "of"}, medians and means as numbers; what no case speaks of is left out."""
    answered = [o for o in outcomes if o.found]
    counts = {
        "answered_right": count(o.right for o in outcomes),
        "refused_right": count(o.refused_right for o in outcomes),
        "refused_wrongly": count(not o.found if o.answerable and o.stage else None for o in outcomes),
        "right_first": count(o.right_first for o in outcomes),
        "right_top3": count(o.right_top3 for o in outcomes),
        "right_sent": count(o.right_sent for o in outcomes),
        "own_kept": count(o.kept if o.answerable else None for o in outcomes),
        "off_topic_refused": count(_refused(o) for o in outcomes),
        "off_topic_answer_calls": count(o.answer_calls > 0 if o.off_topic and o.stage else None for o in outcomes),
        "first_person": count(o.first_person for o in answered),
        "fragments": count(o.fragment for o in answered),
        "unsupported": count(any("no source" in w for w in o.warnings) for o in answered),
    }
    return counted(counts) | dict(_costs([o for o in outcomes if o.stage or o.error]))


def _costs(asked: Sequence[Outcome]) -> Iterator[tuple[str, float]]:
    if not asked:
        return
    yield "calls_per_turn", mean([o.calls for o in asked])
    yield "prompt_tokens_per_turn", mean([o.prompt_tokens for o in asked])
    yield "read_tokens_per_turn", mean([o.read_tokens for o in asked])
    yield "seconds_median", middle(o.seconds for o in asked)
    streamed = [o.first_token for o in asked if o.first_token is not None]
    if streamed:
        yield "first_token_median", middle(streamed)


def _refused(outcome: Outcome) -> bool | None:
    """By the turn where there was one, else by the gate."""
    if not outcome.off_topic:
        return None
    return not outcome.found if outcome.stage else (None if outcome.kept is None else not outcome.kept)
