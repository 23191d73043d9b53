"""Why this answer: the turn's trace in simple tables, drawn only when it is opened."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from persona.records import PATH_SEPARATOR, Evidence, ModelCall, Trace, Turn
from persona.ui.text import count, marked, seconds, table

_STAGES = {
    "greeting": "small talk",
    "conversation": "conversation",
    "category": "section",
    "ranked": "ranked passages",
    "ngram": "n-grams",
    "refused": "refusal",
}
_EXCERPT = 140  # characters of a passage
_HASH = 12  # digits of a prompt's fingerprint


def why(turn: Turn) -> None:
    """An expander; what is in it is made when it is open."""
    box = st.expander("Why this answer", type="compact", key=f"why-{turn.id}", on_change="rerun")
    if box.open:
        with box:
            _draw(turn)


def _draw(turn: Turn) -> None:
    trace = turn.trace
    _question(turn)
    _gate(trace)
    _section(
        "Stages, in the order they were tried",
        ("stage", "outcome", "looked at", "passages"),
        [(_STAGES[a.stage], a.outcome, a.detail, str(len(a.evidence))) for a in trace.attempts],
    )
    _section(
        "Passages put forward",
        ("stage", "score", "section", "begins"),
        [_passage(item) for attempt in trace.attempts for item in attempt.evidence],
    )
    _section(
        "Model calls",
        ("step", "model", "prompt file", "tokens read", "tokens written", "time", "tries", "trouble"),
        [_call(call) for call in trace.calls],
    )
    _section("Time", ("part", "time"), [(part, seconds(spent)) for part, spent in trace.timings.items()])
    if trace.dropped:
        st.caption("Not sent, for want of room")
        st.html(marked("\n".join(trace.dropped)))
    _section("Settings", ("setting", "value"), list(trace.settings.items()))


def _question(turn: Turn) -> None:
    rows = [("asked", turn.question.asked)]
    if turn.question.standalone != turn.question.asked:
        rows.append(("searched as", turn.question.standalone))
    if turn.question.turns:
        rows.append(("leans on", count(len(turn.question.turns), "earlier turn")))
    _section("Question", ("", ""), rows)


def _gate(trace: Trace) -> None:
    if not trace.gate:
        return
    score, threshold = trace.gate.get("score", 0.0), trace.gate.get("threshold", 0.0)
    verdict = "passed" if score >= threshold else "not passed"
    rows = [("score", f"{score:.2f}"), ("needed", f"{threshold:.2f}"), ("verdict", verdict)]
    rest = sorted((name, f"{value:.2f}") for name, value in trace.gate.items() if name not in ("score", "threshold"))
    _section("Evidence gate: is the question about the page?", ("", ""), [*rows, *rest])


def _passage(item: Evidence) -> tuple[str, str, str, str]:
    text = item.chunk.text
    begins = text if len(text) <= _EXCERPT else f"{text[:_EXCERPT].rstrip()} …"
    return _STAGES[item.stage], f"{item.score:.2f}", PATH_SEPARATOR.join(item.chunk.path), begins


def _call(call: ModelCall) -> tuple[str, ...]:
    read = f"{call.prompt_tokens:,}" + (f" ({call.cached_tokens:,} from cache)" if call.cached_tokens else "")
    return (
        call.step,
        call.model,
        call.prompt[:_HASH],
        read,
        f"{call.output_tokens:,}",
        seconds(call.seconds),
        str(call.tries),
        call.error,
    )


def _section(title: str, head: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> None:
    if rows:
        st.caption(title)
        st.html(table(head, rows))
