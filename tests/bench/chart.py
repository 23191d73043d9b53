"""The report's figures as a drawing: one small bar chart a figure, in one SVG file that needs nothing else."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from tests.bench.report import measured

_PANEL, _BAR, _GAP, _HEAD = 250, 22, 8, 34  # pixels
_LABEL = 86
_COLORS = {"ours": "#2f6f4f", "plain": "#b0b7c0", "llamaindex": "#8aa4c8"}
_MEANS = {
    "calls": ("Model calls a turn", "{:.1f}"),
    "prompt_tokens_read": ("Prompt tokens read a turn", "{:,.0f}"),
    "seconds": ("Seconds a turn", "{:.1f}"),
    "first_token": ("Seconds to the first words", "{:.1f}"),
}
_COUNTS = {"right": "Answered right", "refused": "Refused rightly"}
_COLUMNS = 3


def chart(report: Mapping[str, Any]) -> str:
    """The SVG's text. Shorter bars are better in the first four charts, longer ones in the last two."""
    contenders = {name: report["contenders"][name] for name in measured(report)}
    panels = [
        _panel(title, [(name, of["mean"][cost], form.format(of["mean"][cost])) for name, of in contenders.items()])
        for cost, (title, form) in _MEANS.items()
    ]
    for count, title in _COUNTS.items():
        rows = [
            (name, of[count]["n"] / max(of[count]["of"], 1), f"{of[count]['n']} of {of[count]['of']}")
            for name, of in contenders.items()
        ]
        panels.append(_panel(title, rows, longest=1.0))
    height = _HEAD + len(contenders) * (_BAR + _GAP) + 16
    lines = -(-len(panels) // _COLUMNS)
    placed = "\n".join(
        f'<g transform="translate({12 + (n % _COLUMNS) * (_PANEL + 24)},{8 + n // _COLUMNS * height})">{panel}</g>'
        for n, panel in enumerate(panels)
    )
    wide, high = _COLUMNS * (_PANEL + 24) + 4, lines * height + 12
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {wide} {high}" width="{wide}" height="{high}" '
        f'font-family="system-ui, sans-serif" font-size="12">\n<rect width="{wide}" height="{high}" fill="#fff"/>\n'
        f"{placed}\n</svg>\n"
    )


def _panel(title: str, rows: Sequence[tuple[str, float, str]], longest: float = 0.0) -> str:
    room = _PANEL - _LABEL - 62
    scale = room / (longest or max(value for _, value, _ in rows) or 1.0)
    bars = []
    for n, (name, value, told) in enumerate(rows):
        y, long = _HEAD - 6 + n * (_BAR + _GAP), max(value * scale, 1.0)
        middle = y + _BAR / 2 + 4
        bars.append(
            f'<text x="{_LABEL - 6}" y="{middle}" text-anchor="end" fill="#333">{escape(name)}</text>'
            f'<rect x="{_LABEL}" y="{y}" width="{long:.1f}" height="{_BAR}" fill="{_COLORS.get(name, "#999")}"/>'
            f'<text x="{_LABEL + long + 5:.1f}" y="{middle}" fill="#333">{escape(told)}</text>'
        )
    return f'<text x="0" y="14" font-weight="600" fill="#111">{escape(title)}</text>{"".join(bars)}'
