"""A thread as a tree of turns: which path is read, and what stands beside a turn. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from persona.records import Turn


def path_to(turns: Sequence[Turn], last: str | None) -> list[Turn]:
    """From the root to that turn, both included; to the newest one where there is no such turn."""
    by_id = {turn.id: turn for turn in turns}
    at = by_id.get(last or "") or (turns[-1] if turns else None)
    path: list[Turn] = []
    while at is not None:
        path.append(at)
        at = by_id.get(at.parent or "")
    return path[::-1]


def beside(turns: Sequence[Turn], turn: Turn) -> list[Turn]:
    """The turns that follow the same one, this one among them, oldest first: edits, other answers and branches."""
    return [other for other in turns if other.parent == turn.parent]


def newest_below(turns: Sequence[Turn], turn: Turn) -> Turn:
    """Where the path through a turn ends: its newest turn that has none after it. `turns` are oldest first."""
    below = {turn.id}
    newest = turn
    for other in turns:
        if other.parent in below:
            below.add(other.id)
            newest = other
    return newest


def after(turns: Sequence[Turn], turn: Turn) -> int:
    """How many turns follow this one, in all branches."""
    below = {turn.id}
    for other in turns:
        if other.parent in below:
            below.add(other.id)
    return len(below) - 1
