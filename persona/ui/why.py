"""Why this answer: the turn's trace in simple tables, drawn only when it is opened."""

from __future__ import annotations

import html
from collections.abc import Iterator, Sequence

import streamlit as st

from persona.records import PATH_SEPARATOR, Attempt, Evidence, ModelCall, Trace, Turn
from persona.stages import stage_seconds
from persona.text import count
from persona.ui.text import marked, seconds, table

_STAGES = {
    "greeting": "small talk",
    "conversation": "conversation",
    "leader": "one passage that stands out",
    "nearest": "nearest passages",
    "category": "section",
    "ranked": "ranked passages",
    "ngram": "n-grams",
    "refused": "refusal",
}
_STAGE = ("stage", "outcome", "looked at", "passages", "time of model calls")
_PASSAGE = ("stage", "score", "sent", "section", "begins")
_CALL = ("step", "model", "prompt file", "tokens read", "tokens written", "time", "tries", "trouble")
_EXCERPT = 140  # characters of a passage


def why(turn: Turn) -> None:
    """An expander; what is in it is made when it is open."""
    box = st.expander("Why this answer", type="compact", key=f"why-{turn.id}", on_change="rerun")
    if box.open:
        with box:
            st.html("".join(_parts(turn)))


def _parts(turn: Turn) -> Iterator[str]:
    trace = turn.trace
    yield _section("Question", ("", ""), _question(turn))
    yield _section("Evidence gate: is the question about the page?", ("", ""), _gate(trace))
    tried = zip(trace.attempts, stage_seconds(trace), strict=True)
    yield _section("Stages, in the order they were tried", _STAGE, [_stage(*one) for one in tried])
    passages = [_passage(attempt, item) for attempt in trace.attempts for item in attempt.evidence]
    yield _section("Passages put forward", _PASSAGE, passages)
    if trace.dropped:
        yield _title("Not sent, for want of room") + marked("\n".join(trace.dropped))
    yield _section("Model calls", _CALL, [_call(call) for call in trace.calls])
    if trace.calls:
        yield _title("What was sent and what came, word for word")
        yield from (_messages(number, call) for number, call in enumerate(trace.calls, 1))
    yield _section("Time", ("part", "time"), [(part, seconds(spent)) for part, spent in trace.timings.items()])
    yield _section("Settings", ("setting", "value"), _settings(trace))


def _settings(trace: Trace) -> list[tuple[str, str]]:
    return [(name, value.replace(",", ", ")) for name, value in trace.settings.items()]


def _question(turn: Turn) -> list[tuple[str, str]]:
    rows = [("asked", turn.question.asked)]
    if turn.question.standalone != turn.question.asked:
        rows.append(("searched as", turn.question.standalone))
    elif thrown := next((call for call in turn.trace.calls if call.step == "rewrite" and call.error), None):
        rows.append(("rewrite", f"not used: {thrown.error}"))
    if turn.question.turns:
        rows.append(("leans on", count(len(turn.question.turns), "earlier turn")))
    return rows


def _gate(trace: Trace) -> list[tuple[str, str]]:
    if not trace.gate:
        return []
    score, threshold = trace.gate.get("score", 0.0), trace.gate.get("threshold", 0.0)
    verdict = "passed" if score >= threshold else "not passed"
    rest = sorted((name, f"{value:.2f}") for name, value in trace.gate.items() if name not in ("score", "threshold"))
    return [("score", f"{score:.2f}"), ("needed", f"{threshold:.2f}"), ("verdict", verdict), *rest]


def _stage(attempt: Attempt, spent: float) -> tuple[str, ...]:
    time = seconds(spent) if spent else ""
    return _STAGES[attempt.stage], attempt.outcome, attempt.detail, str(len(attempt.evidence)), time


def _passage(attempt: Attempt, item: Evidence) -> tuple[str, ...]:
    text = item.chunk.text
    begins = text if len(text) <= _EXCERPT else f"{text[:_EXCERPT].rstrip()} …"
    sent = "no" if attempt.outcome in {"nothing new to send", "no passage"} else "yes"
    return _STAGES[item.stage], f"{item.score:.2f}", sent, PATH_SEPARATOR.join(item.chunk.path), begins


def _call(call: ModelCall) -> tuple[str, ...]:
    read = f"{call.prompt_tokens:,}" + (f" ({call.cached_tokens:,} from cache)" if call.cached_tokens else "")
    return (
        call.step,
        call.model,
        f"{call.step}.md, {call.prompt}",
        read,
        f"{call.output_tokens:,}",
        seconds(call.seconds),
        str(call.tries),
        call.error,
    )


def _messages(number: int, call: ModelCall) -> str:
    """One call, opened in the browser: each message under its role, then the reply."""
    told = "".join(_title(message.role) + marked(message.text) for message in call.messages)
    summary = f"{number}. {html.escape(call.step)}: {count(len(call.messages), 'message')}"
    reply = _title("reply") + marked(call.reply or "(nothing)")
    return f'<details class="call"><summary>{summary}</summary>{told}{reply}</details>'


def _title(text: str) -> str:
    return f'<div class="title">{html.escape(text)}</div>'


def _section(title: str, head: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> str:
    return _title(title) + table(head, rows) if rows else ""
