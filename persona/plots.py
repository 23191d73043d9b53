"""Plots as SVG text, colored by the classes of the page that they stand in. Pure; knows nothing of what is plotted."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from html import escape

_WIDE, _LEFT, _RIGHT = 960, 34, 12
_HALF, _TOP, _BOTTOM = 92, 22, 34  # of mirrored bars: the height of either side, and the room around both
_NARROW, _BAR, _GAP, _LABEL = 460, 24, 9, 112  # of stacked bars


@dataclass(frozen=True, slots=True)
class Axis:
    """Where values stand: `place` gives 0 to 1, `ticks` are value and label, `bins` how many bars there are."""

    place: Callable[[float], float]
    ticks: Sequence[tuple[float, str]]
    bins: int
    name: str


@dataclass(frozen=True, slots=True)
class Series:
    """Values under a name; `kind` is the class that colors them."""

    name: str
    kind: str
    values: Sequence[float]


def mirrored(up: Series, down: Series, axis: Axis, lines: Mapping[str, float]) -> str:
    """Two distributions over one axis, one upwards and one downwards, with lines across both."""
    counts = {series.name: _binned(series.values, axis) for series in (up, down)}
    most = max(1, *(n for bins in counts.values() for n in bins))
    height, middle = _TOP + 2 * _HALF + _BOTTOM, _TOP + _HALF
    parts = [_bars(up, counts[up.name], most, middle, -1), _bars(down, counts[down.name], most, middle, 1)]
    parts += [f'<line class="axis" x1="{_LEFT}" x2="{_WIDE - _RIGHT}" y1="{middle}" y2="{middle}"/>']
    for value, label in axis.ticks:
        parts.append(_text(_x(axis.place(value)), height - 18, label, "tick"))
    parts.append(_text(_x(0.5), height - 3, axis.name, "tick"))
    for name, value in lines.items():
        x, end = _x(axis.place(value)), _TOP + 2 * _HALF
        parts.append(f'<line class="bound" x1="{x:.1f}" x2="{x:.1f}" y1="{_TOP - 4}" y2="{end}"/>')
        parts.append(_text(x, _TOP - 9, name, "bound-name"))
    parts.append(_text(_LEFT - 4, _TOP + 8, f"{most}", "scale"))
    parts.append(_text(_LEFT - 4, _TOP + 2 * _HALF, f"{most}", "scale"))
    return _svg(_WIDE, height, parts, f"{up.name} upwards, {down.name} downwards, over {axis.name}")


def stacked(rows: Mapping[str, Mapping[str, int]], what: str) -> str:
    """A bar for each row, parted by kind; a kind is a class of the page, and its count stands in it where it fits."""
    most = max((sum(row.values()) for row in rows.values()), default=0) or 1
    room = _NARROW - _LABEL - 40
    parts: list[str] = []
    for number, (label, row) in enumerate(rows.items()):
        y, x = _GAP + number * (_BAR + _GAP), float(_LABEL)
        parts.append(_text(_LABEL - 10, y + _BAR * 0.7, label, "row"))
        for kind, n in row.items():
            width = room * n / most
            if n:
                parts.append(f'<rect class="{kind}" x="{x:.1f}" y="{y}" width="{width:.1f}" height="{_BAR}"/>')
            if width > 9 * len(str(n)) + 6:
                parts.append(_text(x + width / 2, y + _BAR * 0.7, str(n), "inside"))
            x += width
        parts.append(_text(x + 8, y + _BAR * 0.7, str(sum(row.values())), "sum"))
    return _svg(_NARROW, len(rows) * (_BAR + _GAP) + _GAP, parts, what)


def _binned(values: Sequence[float], axis: Axis) -> list[int]:
    bins = [0] * axis.bins
    for value in values:
        bins[min(int(min(max(axis.place(value), 0.0), 1.0) * axis.bins), axis.bins - 1)] += 1
    return bins


def _bars(series: Series, bins: Sequence[int], most: int, middle: float, side: int) -> str:
    width = (_WIDE - _LEFT - _RIGHT) / len(bins)
    made: list[str] = []
    for number, n in enumerate(bins):
        tall = _HALF * n / most
        top = middle - tall if side < 0 else middle
        x = _LEFT + number * width + 1
        if n:
            about = f"<title>{n} {escape(series.name)}</title>"
            made.append(
                f'<rect class="{series.kind}" x="{x:.1f}" y="{top:.1f}" width="{width - 2:.1f}" height="{tall:.1f}">{about}</rect>'
            )
    return "".join(made)


def _x(place: float) -> float:
    return _LEFT + min(max(place, 0.0), 1.0) * (_WIDE - _LEFT - _RIGHT)


def _text(x: float, y: float, text: str, kind: str) -> str:
    return f'<text class="{kind}" x="{x:.1f}" y="{y:.1f}">{escape(text)}</text>'


def _svg(width: float, height: float, parts: Sequence[str], what: str) -> str:
    return f'<svg role="img" aria-label="{escape(what)}" viewBox="0 0 {width} {height:.0f}">{"".join(parts)}</svg>'
