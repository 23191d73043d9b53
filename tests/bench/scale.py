"""A full library beside an empty one: 500 people and 10,000 turns, and 1 person and 10 turns.

Each library is made with the program's own parts, its vectors being drawn by lot since only their number matters here,
and is then measured in a process of its own: start, search, lists, what a turn costs beside its model (which is
scripted), and the memory that all this takes. A person is opened before they are asked, as in the app; what the first
turn costs where they were not, as with `persona ask`, is told too. The last line printed is JSON.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from datetime import timedelta
from functools import cached_property
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from persona.adapters.minilm import MiniLM
from persona.ports import Vectors
from persona.records import (
    INTRODUCTION,
    ChatRequest,
    Delta,
    Finished,
    Loaded,
    ModelStatus,
    Page,
    Person,
    Section,
    Turn,
    Usage,
    new_id,
    now,
)
from persona.settings import Settings
from persona.wiring import Wiring

FULL, EMPTY = (500, 10_000), (1, 10)  # people and turns
RATIOS = ("start", "search", "threads", "own")  # what may grow by half
MOST_GROWN = 1.5
MOST_OWN = 0.060  # seconds
_TURNS_A_THREAD = 5
_REPEATS = 40
_OTHERS = 8  # people who are asked once, opened before or not; as many as are kept ready
_SECTIONS, _SENTENCES = 16, 12  # of a page: some 25,000 characters
_WHO = "Person 0"
_QUESTION = "Who taught you the use of the sextant?"
_KNOWN = "The use of the sextant was taught to the young pilot by Enoch Pike, a keeper of lamps. They met in a storm."
_WORDS = [
    "harbor",
    "lamp",
    "winter",
    "brother",
    "sextant",
    "mill",
    "river",
    "council",
    "letter",
    "engine",
    "garden",
    "copper",
    "storm",
    "school",
    "choir",
    "ladder",
    "market",
    "vessel",
    "doctor",
    "island",
    "bridge",
    "painter",
    "treaty",
    "horse",
    "factory",
    "violin",
    "orchard",
    "ministry",
    "glacier",
    "printer",
    "judge",
    "caravan",
]


def main(arguments: Sequence[str] | None = None) -> int:
    """Make both libraries, measure them and compare; 1 where something grew too much."""
    options = _options(arguments)
    if options.measure:
        print(json.dumps(measured(Path(options.measure))))
        return 0
    with tempfile.TemporaryDirectory() as folder:
        sizes = {"full": (options.people, options.turns), "empty": EMPTY}
        figures = {}
        for name, (people, turns) in sizes.items():
            home = Path(folder) / name
            began = time.monotonic()
            fill(home, people, turns)
            _tell(f"{name}: {people} people and {turns} turns made in {time.monotonic() - began:.0f} s")
            figures[name] = _best([_in_a_process(home) for _ in range(options.runs)])
    report = compared(figures["full"], figures["empty"])
    for line in _lines(report):
        _tell(line)
    print(json.dumps(report))
    return 0 if report["holds"] else 1


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.scale", description=__doc__)
    parser.add_argument("--people", type=int, default=FULL[0])
    parser.add_argument("--turns", type=int, default=FULL[1])
    parser.add_argument("--runs", type=int, default=3, help="processes that measure each library; the quickest counts")
    parser.add_argument("--measure", default="", help=argparse.SUPPRESS)
    return parser.parse_args(arguments)


def _in_a_process(home: Path) -> dict[str, float]:
    command = [sys.executable, "-m", "tests.bench.scale", "--measure", str(home)]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    figures: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return figures


def _best(runs: Sequence[dict[str, float]]) -> dict[str, float]:
    """Of each figure the lowest: what else the machine did can only add to it."""
    return {name: min(run[name] for run in runs) for name in runs[0]}


def compared(full: dict[str, float], empty: dict[str, float]) -> dict[str, Any]:
    """Both, their ratios, and whether what is asked for holds."""
    ratios = {name: round(full[name] / empty[name], 2) for name in RATIOS}
    return {
        "full": full,
        "empty": empty,
        "ratios": ratios,
        "holds": max(ratios.values()) <= MOST_GROWN and max(full["own"], full["own_first"]) <= MOST_OWN,
    }


def _lines(report: dict[str, Any]) -> Iterator[str]:
    for name, full in report["full"].items():
        unit, scale = ("MB", 1) if name.startswith("memory") else ("ms", 1000)
        ratio = f"  {report['ratios'][name]:.2f}" if name in report["ratios"] else ""
        yield f"{name:<24}{full * scale:>9.1f} {unit}  beside {report['empty'][name] * scale:>8.1f}{ratio}"
    yield "It holds." if report["holds"] else f"It does not hold: at most {MOST_GROWN} times, and own {MOST_OWN} s."


# --- what is measured ---


def measured(home: Path) -> dict[str, float]:
    """Seconds, and megabytes of memory."""
    began = time.perf_counter()
    wiring = _wiring(home)
    people = wiring.library.people()
    who = next(person for person in people if person.title == _WHO)
    wiring.history.abandon()
    _search(wiring, who)
    figures = {"start": time.perf_counter() - began}
    figures["search"] = _median(lambda: _search(wiring, who))
    figures["threads"] = _median(lambda: wiring.history.threads(who.id))
    figures["people"] = _median(wiring.library.people)
    figures |= _own(wiring, [who] * _REPEATS, "own", opened=True)
    lot = random.Random(1).sample(people, min(2 * _OTHERS, len(people)))
    figures |= _own(wiring, lot[:_OTHERS], "own_first", opened=True)
    figures |= _own(wiring, lot[-_OTHERS:], "own_unopened", opened=False)
    figures["memory"] = _memory()
    return {name: round(value, 5) for name, value in figures.items()}


def _median(act: Callable[[], object]) -> float:
    times = []
    for _ in range(_REPEATS):
        began = time.perf_counter()
        act()
        times.append(time.perf_counter() - began)
    return median(times)


def _search(wiring: Wiring, who: Person) -> None:
    found = wiring.interview.subject(who.id).searcher.search(_QUESTION)
    _ = found.features, found.candidates


def _own(wiring: Wiring, people: Sequence[Person], name: str, opened: bool) -> dict[str, float]:
    """What a turn took beside its model calls, from the question to the stored answer, and of the processor alone."""
    spent, of_processor = [], []
    for who in dict.fromkeys(people) if opened else ():
        wiring.interview.warm(who.id, model=False)
    for who in people:
        thread = wiring.history.start(who.id).id
        began, worked = time.perf_counter(), time.process_time()
        *_, end = wiring.interview.ask(_QUESTION, thread)
        assert isinstance(end, Finished)
        assert end.turn.trace.calls, end.turn
        spent.append(time.perf_counter() - began - sum(call.seconds for call in end.turn.trace.calls))
        of_processor.append(time.process_time() - worked)
    return {name: median(spent), f"{name}_processor": median(of_processor)}


def _memory() -> float:
    """Megabytes that are resident now."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmRSS"):
            return int(line.split()[1]) / 1024
    return 0.0


class _Model:
    """Implements ports.ChatModel and answers at once."""

    name, context_window = "scripted", 8192

    def chat(self, request: ChatRequest) -> Iterator[Delta]:
        text = "I was taught by Enoch Pike, a keeper of lamps."
        yield Delta(text, Usage(400, 20), "stop")

    def status(self) -> ModelStatus:
        return ModelStatus("openai", "", self.name, ready=True)


def _wiring(home: Path, **parts: Any) -> Wiring:
    settings = Settings(home=home, llm="openai", openai_url="http://127.0.0.1:9/v1", model="scripted")
    model = _Model()
    return Wiring(settings, model=model, rewrite_model=model, **parts)


# --- what is filled in ---


class _ByLot(MiniLM):
    """Counts as MiniLM does, but draws its vectors, which takes no time; only what is asked for has its real one."""

    def embed(self, texts: Sequence[str]) -> Vectors:
        rows = self._drawn(texts)
        for row, text in enumerate(texts):
            if _KNOWN in text:
                rows[row] = self._known
        return rows

    @cached_property
    def _known(self) -> Vectors:
        vectors: Vectors = super().embed([_KNOWN])[0]
        return vectors

    def _drawn(self, texts: Sequence[str]) -> Vectors:
        rows = np.random.default_rng(len(texts)).normal(size=(len(texts), self.dimension)).astype(np.float32)
        return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True), dtype=np.float32)


def fill(home: Path, people: int, turns: int) -> None:
    """Load so many people and store so many turns of interviews with them."""
    wiring = _wiring(home, embedder=_ByLot())
    loaded = []
    for number in range(people):
        *_, last = wiring.ingest.load(_page(number))
        assert isinstance(last, Loaded)
        loaded.append(last.person)
    like = _turn(wiring, loaded[0])
    for number in range(turns // _TURNS_A_THREAD):
        _interview(wiring, loaded[number % people], like)
    wiring.database.close()


def _page(number: int) -> Page:
    lot = random.Random(number)
    headings = [INTRODUCTION, *(f"{lot.choice(_WORDS).title()} {n}" for n in range(_SECTIONS - 1))]
    texts = [_KNOWN, *(_text(lot) for _ in headings[1:])]
    sections = tuple(Section((heading,), text) for heading, text in zip(headings, texts, strict=True))
    url = f"https://wiki.test/wiki/Person_{number}"
    return Page(f"Person {number}", "en", "wikipedia", "", url, "1", now() - timedelta(days=1), sections)


def _text(lot: random.Random) -> str:
    def sentence() -> str:
        words = lot.choices(_WORDS, k=5)
        return f"In {lot.randint(1800, 1950)} the {words[0]} of the {words[1]} taught the {words[2]} to keep a {words[3]} by the {words[4]}."

    return " ".join(sentence() for _ in range(_SENTENCES))


def _turn(wiring: Wiring, who: Person) -> Turn:
    """One real turn, of which the others are copies."""
    *_, end = wiring.interview.ask(_QUESTION, wiring.history.start(who.id).id)
    assert isinstance(end, Finished)
    return end.turn


def _interview(wiring: Wiring, who: Person, like: Turn) -> None:
    thread, parent = wiring.history.start(who.id).id, None
    for _ in range(_TURNS_A_THREAD):
        turn = replace(like, id=new_id(), thread=thread, parent=parent, request_id=new_id(), created_at=now())
        wiring.history.add(replace(turn, state="running", answer=None))
        wiring.history.finish(turn)
        parent = turn.id


def _tell(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    os.environ["PYTHONPATH"] = os.pathsep.join([os.getcwd(), os.environ.get("PYTHONPATH", "")])
    sys.exit(main())
