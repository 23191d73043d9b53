"""What the contenders' turns come to: figures, ratios, a table, and whether the yardstick is what it should be. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import mean, median
from typing import Any

from persona.errors import InputError
from tests.bench.contender import Measured
from tests.bench.contest import OURS

RATIOS = ("calls", "prompt_tokens_sent", "prompt_tokens_read", "seconds", "first_token")
COSTS = (*RATIOS[:3], "output_tokens", *RATIOS[3:])  # what a turn costs, by the fields of its record
_STEPS = ("rewrite", "search", "gate", "rank", "answer")


@dataclass(frozen=True, slots=True)
class Limits:
    """From and to, both included."""

    low: float
    high: float

    @classmethod
    def read(cls, text: str) -> Limits | None:
        """From "11-13"; None from nothing. Raises InputError."""
        if not text:
            return None
        try:
            low, high = map(float, text.split("-"))
        except ValueError as error:
            raise InputError(f"Limits are written LOW-HIGH, as 11-13, and not {text!r}.") from error
        return cls(low, high)


def summary(turns: Mapping[str, Sequence[Measured]]) -> dict[str, Any]:
    """The report's figures: of each contender, and of ours against each other one."""
    others = [name for name in turns if name != OURS]
    paired = {name: _ratios(turns[OURS], turns[name]) for name in others if OURS in turns}
    return {
        "contenders": {name: _figures(of) for name, of in turns.items()},
        "ratios": {name: ratios for name, (ratios, _) in paired.items()},
        "ratios_of_medians": {name: ratios for name, (_, ratios) in paired.items()},
    }


def complaints(turns: Sequence[Measured], calls: Limits | None, tokens: Limits | None) -> list[str]:
    """Where the plain pipeline is not the yardstick that it should be."""
    found = []
    for what, limits in (("calls", calls), ("prompt_tokens_sent", tokens)):
        value = mean(_costs(turns, what))
        if limits and not limits.low <= value <= limits.high:
            words = what.replace("_", " ")
            found.append(f"the plain pipeline has {value:,.1f} {words} a turn, not {limits.low:,g} to {limits.high:,g}")
    return found


def measured(report: Mapping[str, Any]) -> list[str]:
    """The contenders that the report has figures of."""
    return [name for name, of in report["contenders"].items() if "mean" in of]


def table(report: Mapping[str, Any]) -> str:
    """The figures in Markdown, a contender a column."""
    names = measured(report)
    ratios = {name: report["ratios"].get(name, {}) for name in names}
    lines = [f"| a turn, mean (median) | {' | '.join(names)} |", f"|---|{'---|' * len(names)}"]
    for cost in COSTS:
        cells = []
        for name in names:
            of = report["contenders"][name]
            ratio = f", ours is {ratios[name][cost]:.2f} of it" if cost in ratios[name] else ""
            cells.append(f"{of['mean'][cost]:,.4g} ({of['median'][cost]:,.4g}){ratio}")
        lines.append(f"| {cost.replace('_', ' ')} | {' | '.join(cells)} |")
    for count in ("right", "refused"):
        cells = [
            f"{report['contenders'][name][count]['n']} of {report['contenders'][name][count]['of']}" for name in names
        ]
        lines.append(f"| {count} as it should be | {' | '.join(cells)} |")
    return "\n".join(lines)


def parts_table(report: Mapping[str, Any]) -> str:
    """Where our turn's seconds go."""
    parts = report["contenders"].get(OURS, {}).get("parts", {})
    rows = [f"| {part} | {of['mean']:.3f} | {of['median']:.3f} | {of['turns']} |" for part, of in parts.items()]
    return "\n".join(
        ["| part of our turn | mean s | median s where it was taken | turns |", "|---|---|---|---|", *rows]
    )


def _figures(turns: Sequence[Measured]) -> dict[str, Any]:
    return {
        "asked": len(turns),
        "right": _count(turn.right for turn in turns),
        "refused": _count(turn.refused_right for turn in turns),
        "mean": {cost: round(mean(_costs(turns, cost)), 3) for cost in COSTS},
        "median": {cost: round(median(_costs(turns, cost)), 3) for cost in COSTS},
        **({"parts": _parts(turns)} if any(turn.parts for turn in turns) else {}),
    }


def _costs(turns: Sequence[Measured], cost: str) -> list[float]:
    return [float(getattr(turn, cost)) for turn in turns]


def _count(values: Iterable[bool | None]) -> dict[str, int]:
    known = [value for value in values if value is not None]
    return {"n": sum(known), "of": len(known)}


def _ratios(ours: Sequence[Measured], theirs: Sequence[Measured]) -> tuple[dict[str, float], dict[str, float]]:
    """Of means and of medians, over the same cases."""
    pair: dict[str, dict[str, float]] = {"mean": {}, "median": {}}
    for cost in RATIOS:
        for kind, of in (("mean", mean), ("median", median)):
            below = of(_costs(theirs, cost))
            pair[kind][cost] = round(of(_costs(ours, cost)) / below, 4) if below else 0.0
    return pair["mean"], pair["median"]


def _parts(turns: Sequence[Measured]) -> dict[str, dict[str, float]]:
    """Seconds by part, the steps in their order."""
    spent: dict[str, list[float]] = {}
    for turn in turns:
        for part, seconds in turn.parts.items():
            spent.setdefault(part, []).append(seconds)
    order = [*(part for part in _STEPS if part in spent), *(part for part in spent if part not in _STEPS)]
    return {
        part: {
            "mean": round(sum(spent[part]) / len(turns), 4),
            "median": round(median(spent[part]), 4),
            "turns": len(spent[part]),
        }
        for part in order
    }
