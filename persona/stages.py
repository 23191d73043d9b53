"""How long each stage of a turn took, from its trace. Pure."""

from __future__ import annotations

from collections import deque

from persona.records import Attempt, ModelCall, Trace

_ASKED = frozenset({"answered", "not supported", "not found"})  # what came of an attempt that asked for an answer


def stage_seconds(trace: Trace) -> list[float]:
    """The seconds that the models took for each attempt: what chose or ranked for it, then the answer it sent for."""
    calls = deque(call for call in trace.calls if call.step != "rewrite")
    seconds: list[float] = []
    for attempt in trace.attempts:
        spent = 0.0
        while calls and calls[0].step != "answer" and _belongs(calls[0], attempt):
            spent += calls.popleft().seconds
        if attempt.outcome in _ASKED:
            spent += _answering(calls)
        seconds.append(spent)
    return seconds


def _answering(calls: deque[ModelCall]) -> float:
    """Of the next call for an answer, and of those before it in which the model only thought aloud."""
    spent = 0.0
    while calls and calls[0].step == "answer":
        call = calls.popleft()
        spent += call.seconds
        if not call.error:
            break
    return spent


def _belongs(call: ModelCall, attempt: Attempt) -> bool:
    return {"categorize": "category", "rank": "ranked"}.get(call.step) == attempt.stage
