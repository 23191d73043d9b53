"""Figures: counts and numbers, how they are made, written and held to a bound. Pure; knows nothing of what is counted."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from statistics import median

Count = dict[str, int]  # {"n": …, "of": …}
Figure = Count | float
Figures = dict[str, Figure]


def count(values: Iterable[bool | None]) -> Count:
    """How many are true of those that are known."""
    known = [bool(value) for value in values if value is not None]
    return {"n": sum(known), "of": len(known)}


def mean(values: Sequence[float]) -> float:
    """The mean, to two digits."""
    return round(sum(values) / len(values), 2)


def middle(values: Iterable[float]) -> float:
    """The median, to two digits."""
    return round(median(values), 2)


def counted(counts: dict[str, Count]) -> Figures:
    """The counts that are of anything."""
    return {name: value for name, value in counts.items() if value["of"]}


def amount(figure: Figure | None) -> str:
    """“3 of 4”, or the number."""
    if figure is None:
        return ""
    return f"{figure['n']} of {figure['of']}" if isinstance(figure, dict) else f"{figure:g}"


def share(figure: Figure | None) -> str:
    """A count's share with three digits; empty for a number."""
    return f"{level(figure):.3f}" if isinstance(figure, dict) else ""


def level(figure: Figure) -> float:
    """What a bound is held to: a count's share, else the number."""
    return figure["n"] / figure["of"] if isinstance(figure, dict) else figure
