"""What a large library may cost: the yardstick itself, in small, and that no query of a turn reads whole tables."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from sqlalchemy import event, text
from sqlalchemy.engine import Engine

from tests.bench import scale
from tests.core import Talk

GROWING = "turns|threads|chunks|people|builds|ratings"  # with what is loaded and asked


@contextmanager
def statements() -> Iterator[list[tuple[str, object]]]:
    """What is executed meanwhile, on any database."""
    seen: list[tuple[str, object]] = []

    def note(_connection, _cursor, statement, parameters, _context, _many) -> None:
        seen.append((statement, parameters))

    event.listen(Engine, "before_cursor_execute", note)
    try:
        yield seen
    finally:
        event.remove(Engine, "before_cursor_execute", note)


def scans(talk: Talk, seen: list[tuple[str, object]]) -> list[str]:
    """The growing tables that are read from end to end, by SQLite's own plans."""
    found = []
    for statement, parameters in seen:
        if not re.match(r"(?:SELECT|UPDATE|DELETE|INSERT|WITH)\b", statement):
            continue
        with talk.wiring.history._reading() as connection:  # type: ignore[attr-defined]
            plan = connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {statement}", parameters)
            found += [f"{row.detail}: {statement}" for row in plan if re.match(rf"SCAN (?:{GROWING})$", row.detail)]
    return found


def test_no_query_of_a_turn_reads_a_whole_table(own_ada: Talk):
    thread = own_ada.thread()
    first = own_ada.ask("Who was your father?", "My father was Josiah Marsh.", thread=thread)
    rewritten = json.dumps({"question": "Was Josiah Marsh a fisherman?", "turns": [1]})
    own_ada.model.otherwise = "Josiah Marsh was one."
    with statements() as seen:
        own_ada.ask("Was he a fisherman?", thread=thread, parent=first.id, rewrite=[rewritten])
        own_ada.wiring.history.threads(own_ada.person)
        own_ada.wiring.history.turns(thread)
        own_ada.wiring.history.abandon()
    assert len(seen) > 10
    assert not scans(own_ada, seen)


def test_the_check_of_plans_sees_a_scan(own_ada: Talk):
    with statements() as seen, own_ada.wiring.history._reading() as connection:  # type: ignore[attr-defined]
        connection.execute(text("SELECT id FROM turns WHERE partial = 'x'"))
    assert scans(own_ada, seen)


def test_the_yardstick_measures_a_library_of_any_size(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(scale, "_REPEATS", 2)
    scale.fill(tmp_path, people=2, turns=10)
    figures = scale.measured(tmp_path)
    assert {"start", "search", "threads", "own", "own_first", "memory"} <= set(figures)
    assert all(value > 0 for value in figures.values())
    history = scale._wiring(tmp_path).history
    turns = [len(history.turns(thread.id)) for thread in history.threads()]
    assert turns.count(5) == 2  # beside the one that was copied, and those of the measuring


def test_what_grew_too_much_does_not_hold():
    small = {"start": 1.0, "search": 0.02, "threads": 0.001, "own": 0.03, "own_first": 0.03}
    assert scale.compared(small | {"start": 1.4}, small)["holds"]
    assert not scale.compared(small | {"search": 0.04}, small)["holds"]
    assert not scale.compared(small | {"own_first": 0.07}, small)["holds"]
