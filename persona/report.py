"""A run of `eval` as one HTML page that needs nothing else: figures, plots, and each case with how it came about.

The words and the looks are in templates/; here is what goes into them. Every text of a page, a person or a model is
escaped by the template engine. Knows nothing of how the cases were run or where the page is put.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape

from persona.cases import Case
from persona.evaluation import Outcome
from persona.figures import Figures, amount, level, share
from persona.judging import right_chunks
from persona.plots import Axis, Series, mirrored, stacked
from persona.records import Attempt, now
from persona.rewriting import RewriteOutcome

_TEMPLATES = Path(__file__).parent / "templates"
_FARTHEST = 6.0  # log-odds at the ends of the plot of gate scores: 0.0025 and 0.9975
_LONGEST = 3.0  # times the human's length at the end of that plot
_TICKS = (0.005, 0.02, 0.1, 0.3, 0.5, 0.7, 0.9, 0.98, 0.995)
_LOWER_IS_BETTER = frozenset(
    {"refused_wrongly", "off_topic_answer_calls", "fragments", "unsupported", "invented", "unparsable", "rejected", "length_median",
     "calls_per_turn", "prompt_tokens_per_turn", "read_tokens_per_turn", "seconds_median", "first_token_median"}
)  # fmt: skip
_STAGES = ("greeting", "conversation", "leader", "nearest", "category", "ranked", "ngram", "refused", "no answer")
_KINDS = ("right", "refused-rightly", "near", "wrong", "refused-wrongly", "answered-wrongly", "error")
_GOOD, _BAD, _QUIET = "good", "bad", "quiet"
Made = Sequence[Outcome] | Sequence[RewriteOutcome]


@dataclass(frozen=True, slots=True)
class Results:
    """What a report is made of. `earlier` and `before` are the cases and figures of the run it is compared with."""

    run: Mapping[str, Any]
    made: Made
    figures: Mapping[str, Figures]
    cases: Sequence[Case]
    earlier: Mapping[str, Outcome] | Mapping[str, RewriteOutcome] = field(default_factory=dict)
    before: Figures = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Row:
    """A figure as it is shown; `width` is its share in percent, `trend` "good" or "bad" against the run before."""

    name: str
    amount: str
    share: str
    width: float | None
    plain: str
    before: str
    trend: str


@dataclass(frozen=True, slots=True)
class Shown:
    """A case as it is shown: what came of it in a word, and whether that is good, bad or neither."""

    one: Any  # an outcome of either kind
    case: Case
    verdict: str
    kind: str
    change: str  # "better", "worse", "changed" or nothing
    was: str  # what the run before said, where it said something else


def as_html(results: Results) -> str:
    """The whole page."""
    environment = Environment(
        loader=FileSystemLoader(_TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["marked"] = marked
    environment.globals["rightly_sent"] = rightly_sent
    cases = {case.id: case for case in results.cases}
    shown = sorted((_shown(one, cases[one.id], results) for one in results.made), key=lambda item: not item.one.failed)
    rewriting = any(isinstance(one, RewriteOutcome) for one in results.made)
    plots = _rewrite_plots(results.made) if rewriting else _turn_plots(results.made)
    return environment.get_template("report.html").render(
        results=results,
        at=f"{now():%-d %B %Y, %H:%M} UTC",
        rewriting=rewriting,
        rows=[_row(name, value, results) for name, value in results.figures["figures"].items()],
        plots={title: (note, Markup(svg)) for title, note, svg in plots},  # noqa: S704 - made by `plots`, which escapes
        shown=shown,
        failed=sum(one.one.failed for one in shown),
        facts=list(_facts(results.run)),
        verdicts=Counter(one.verdict for one in shown),
        tags=sorted({tag for one in shown for tag in one.one.tags}),
    )


# --- figures ---


def _row(name: str, value: Any, results: Results) -> Row:  # noqa: ANN401 - a count or a number
    plain, before = results.figures.get("plain", {}).get(name), results.before.get(name)
    step = level(value) - level(before) if before is not None else 0.0
    better = step < 0 if name in _LOWER_IS_BETTER else step > 0
    return Row(
        name=name.replace("_", " "),
        amount=amount(value),
        share=share(value),
        width=100 * level(value) if isinstance(value, dict) else None,
        plain=f"{amount(plain)}\u2002{share(plain)}".strip(),
        before=f"{amount(before)}\u2002{share(before)}".strip(),
        trend="" if abs(step) < 1e-9 else _GOOD if better else _BAD,
    )


def _facts(run: Mapping[str, Any]) -> list[tuple[str, str]]:
    """What the run records, flat."""
    facts: list[tuple[str, str]] = []
    for name, value in run.items():
        if isinstance(value, Mapping):
            facts += [(f"{name} {key}", str(one)) for key, one in value.items()]
        elif value:
            facts.append((name.replace("_", " "), ", ".join(value) if isinstance(value, list) else str(value)))
    return facts


# --- cases ---


def _shown(one: Outcome | RewriteOutcome, case: Case, results: Results) -> Shown:
    verdict, kind = _rewritten(one) if isinstance(one, RewriteOutcome) else _verdict(one)
    was: Any = results.earlier.get(one.id)
    change = ""
    if was is not None and (was.worth, was.said) != (one.worth, one.said):
        change = "better" if one.worth > was.worth else "worse" if one.worth < was.worth else "changed"
    return Shown(one, case, verdict, kind, change, was.said if change else "")


def _verdict(one: Outcome) -> tuple[str, str]:
    if one.error:
        return "error", _BAD
    if not one.asked:
        return _searched(one)
    if one.answerable:
        return ("right", _GOOD) if one.right else ("wrong" if one.found else "refused wrongly", _BAD)
    return ("refused rightly", _GOOD) if one.refused_right else ("answered wrongly", _BAD)


def _searched(one: Outcome) -> tuple[str, str]:
    if one.off_topic and one.kept is not None:
        return ("let through", _BAD) if one.kept else ("kept out", _GOOD)
    if one.answerable and one.kept is False:
        return "kept out wrongly", _BAD
    if one.right_top3 is None:
        return "not judged", _QUIET
    return ("first", _GOOD) if one.right_first else ("in the top 3", _GOOD) if one.right_top3 else ("missed", _BAD)


def _rewritten(one: RewriteOutcome) -> tuple[str, str]:
    ours = one.ours
    if one.error or ours.unparsable:
        return ("error" if one.error else "unparsable"), _BAD
    if ours.kept is not None:
        return ("kept", _GOOD) if ours.kept else ("bent", _BAD)
    if ours.invented:
        return "invented", _BAD
    if not ours.held and not ours.missed:
        return "no name to add", _QUIET
    return ("no name held", _BAD) if not ours.held else ("some names held" if ours.missed else "all names held", _GOOD)


def rightly_sent(case: Case, attempt: Attempt) -> frozenset[str]:
    """The ids of the passages of a stage that hold the answer."""
    return right_chunks(case, [item.chunk for item in attempt.evidence]) if case.answerable else frozenset()


def marked(text: str, wanted: Sequence[str]) -> Markup:
    """The text, escaped, with each of the accepted answers in it marked."""
    found = [re.escape(one) for one in sorted(wanted, key=len, reverse=True) if one.strip()]
    if not found:
        return escape(text)
    parts = re.split(rf"({'|'.join(found)})", text, flags=re.IGNORECASE)
    return Markup("").join(
        Markup("<mark>{}</mark>").format(part) if number % 2 else escape(part) for number, part in enumerate(parts)
    )


# --- plots ---


def _turn_plots(made: Sequence[Any]) -> list[tuple[str, str, str]]:
    plots: list[tuple[str, str, str]] = []
    gated: list[Outcome] = [one for one in made if one.gate is not None]
    if gated:
        own = Series("own questions", "own", [one.gate or 0.0 for one in gated if one.answerable])
        off = Series("off-topic questions", "off", [one.gate or 0.0 for one in gated if one.off_topic])
        bounds = {f"threshold {one.threshold:.3f}": one.threshold for one in gated if one.threshold is not None}
        note = "What is right of the line passes. The axis is in log-odds, so that both ends can be read."
        plots.append(("The gate’s scores", note, mirrored(own, off, _odds(), bounds)))
    if any(one.asked for one in made):
        rows = {stage: Counter[str]() for stage in _STAGES}
        for one in made:
            rows[one.stage or "no answer"][_verdict(one)[0].replace(" ", "-")] += 1
        note = "Where each question ended, and what became of it there."
        plots.append(("Stage by outcome", note, stacked(_filled(rows), "stage by outcome")))
    ranked: list[Outcome] = [one for one in made if one.right_first is not None]
    if ranked:
        counts = Counter(map(_place, ranked))
        rows = {place: Counter({kind: counts[place]}) for place, kind in _PLACES.items()}
        note = "Where the search put the first passage that holds the answer."
        plots.append(("Rank of the right passage", note, stacked(rows, "rank of the right passage")))
    return plots


_PLACES = {"first": "right", "second": "near", "third": "near", "4th or 5th": "wrong", "further down": "wrong"}


def _place(one: Outcome) -> str:
    at = next((number for number, passage in enumerate(one.passages) if passage.right), 5)
    return ("first", "second", "third", "4th or 5th", "4th or 5th", "further down")[at]


def _rewrite_plots(made: Sequence[Any]) -> list[tuple[str, str, str]]:
    plots: list[tuple[str, str, str]] = []
    asked: list[RewriteOutcome] = [one for one in made if one.ours.held or one.ours.missed]
    if asked:
        rows = {"ours": _names(one.ours for one in asked), "plain prompt": _names(one.plain for one in asked)}
        note = "Cases by how many of the names that the human added are held: all, some, none."
        plots.append(("Names held", note, stacked(_filled(rows), "names held")))
    ours = Series("ours", "own", [one.ours.length for one in made if one.ours.length is not None])
    plain = Series("plain prompt", "off", [one.plain.length for one in made if one.plain.length is not None])
    ticks = [(n / 2, f"{n / 2:g}") for n in range(int(_LONGEST * 2) + 1)]
    axis = Axis(lambda value: value / _LONGEST, ticks, 30, "times the human’s length, in words")
    note = "Ours upwards, the plain prompt downwards; what is longer stands at the end."
    plots.append(("Length", note, mirrored(ours, plain, axis, {"as the human’s": 1.0})))
    return plots


def _names(made: Any) -> Counter[str]:  # noqa: ANN401 - any iterable of Rewritten
    return Counter("near" if one.held and one.missed else "right" if one.held else "wrong" for one in made)


def _filled(rows: Mapping[str, Counter[str]]) -> dict[str, Counter[str]]:
    return {label: _ordered(row) for label, row in rows.items() if row}


def _ordered(row: Counter[str]) -> Counter[str]:
    """The good first, so that bars can be compared."""
    return Counter({kind: row[kind] for kind in _KINDS if row[kind]})


def _odds() -> Axis:
    def place(score: float) -> float:
        score = min(max(score, 1e-6), 1 - 1e-6)
        return (math.log(score / (1 - score)) + _FARTHEST) / (2 * _FARTHEST)

    return Axis(place, [(value, f"{value:g}") for value in _TICKS], 36, "score")
