"""How an answer came about, in words: rewrite, gate, stages with their passages, calls with their messages."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from persona.cli.output import line
from persona.records import PATH_SEPARATOR, Attempt, ModelCall, Turn
from persona.stages import stage_seconds

_SHOWN = 160  # characters of a passage


def show_trace(turn: Turn, write: Callable[[str], None]) -> None:
    """All that was kept of a turn, a line at a time."""
    for text in trace_lines(turn):
        write(text)


def trace_lines(turn: Turn) -> Iterator[str]:
    """The trace from the question to the last call."""
    trace = turn.trace
    yield f"\nTrace of turn {turn.id} ({turn.state})"
    yield f"  asked     {line(turn.question.asked)}"
    rewritten = turn.question.standalone != turn.question.asked
    yield f"  rewritten {line(turn.question.standalone) if rewritten else '(not)'}"
    if turn.question.turns:
        yield f"  leans on  {', '.join(turn.question.turns)}"
    if trace.gate:
        yield f"  gate      {_pairs(trace.gate)}"
    for attempt, seconds in zip(trace.attempts, stage_seconds(trace), strict=True):
        yield from _stage(attempt, seconds)
    if trace.dropped:
        yield f"  dropped   {len(trace.dropped)} passages that did not fit the context: {', '.join(trace.dropped)}"
    yield f"  seconds   {_pairs(trace.timings)}"
    yield f"  settings  {', '.join(f'{name} {value}' for name, value in trace.settings.items())}"
    for number, call in enumerate(trace.calls, 1):
        yield from _call(number, call)


def _stage(attempt: Attempt, seconds: float) -> Iterator[str]:
    detail = f" ({line(attempt.detail)})" if attempt.detail else ""
    yield f"  {attempt.stage:9} {line(attempt.outcome)}{detail}, {seconds:.2f} s of model calls"
    for evidence in attempt.evidence:
        text = line(evidence.chunk.text)[:_SHOWN]
        yield f"            {evidence.score:.2f}  {line(PATH_SEPARATOR.join(evidence.chunk.path))}: {text}"


def _call(number: int, call: ModelCall) -> Iterator[str]:
    yield (
        f"\n  call {number}: {call.step} by {line(call.model)}, prompt {call.prompt}, {call.prompt_tokens} tokens read "
        f"({call.cached_tokens} of them cached), {call.output_tokens} written, {call.seconds:.2f} s, {call.tries} tries"
    )
    for message in call.messages:
        yield f"    {message.role}:"
        yield from (f"      {part}" for part in message.text.splitlines())
    yield "    reply:"
    yield from (f"      {part}" for part in call.reply.splitlines() or ["(nothing)"])
    if call.error:
        yield f"    error: {line(call.error)}"


def _pairs(values: Mapping[str, float]) -> str:
    return ", ".join(f"{name} {value:.3f}" for name, value in values.items())
