"""`make chaos N=200`: kill -9 at random moments of loads and turns, and look at what is left after each.

Prints a line a kill, and the figures as JSON on the last one. Ends with 1 if anything was lost or broken, or needs a
hand. The same SEED kills after the same times, which is not quite the same moments. Times are those that the worker had
the processor, so that a busy machine kills at work and not before it.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import random
import sys
import tempfile
import time
from dataclasses import asdict, dataclass, field
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

from tests.chaos_work import Found, Promises, answer, check_in_child, work
from tests.loopback import WireReply
from tests.openai_style import OpenAIStyleServer

LONGEST = 1.0  # seconds of processor time that a worker lives; it loads some pages and answers some questions in it
MOMENT = 0.02  # seconds more at most, so that a wait for the disk or the model is met too
AT_WORK = 0.85  # of the kills come when the folder is open; the others may meet its opening
FRESH = 12  # kills after which a new data folder is begun, so that its making is met too
PATIENCE = 120  # seconds for a check

_processes = multiprocessing.get_context("forkserver")
_processes.set_forkserver_preload(["tests.chaos_work"])


class Model(OpenAIStyleServer):
    """Answers from the page; some replies take a moment to begin. Other calls than for answers get nothing useful."""

    def __init__(self, seed: int) -> None:
        super().__init__()
        self._dice = random.Random(seed)

    def next_reply(self, body: dict[str, Any]) -> WireReply:
        text = "{}" if "response_format" in body else answer(body["messages"][-1]["content"])
        time.sleep(self._dice.choice((0, 0, 0.02, 0.1)))
        return WireReply(text)


@dataclass
class Figures:
    """What came of it. `during` counts kills by what was under way."""

    kills: int = 0
    lost: int = 0
    broken: int = 0
    by_hand: int = 0
    during: dict[str, int] = field(default_factory=dict)
    loads: int = 0
    questions: int = 0
    answers: int = 0
    interrupted: int = 0
    left_over: int = 0
    seconds: float = 0.0
    seed: int = 0


def run(kills: int, seed: int, minutes: float) -> Figures:
    """Kill that often, or until the time is over."""
    dice, figures, began = random.Random(seed), Figures(seed=seed), time.monotonic()
    with tempfile.TemporaryDirectory(prefix="persona-chaos-") as folder, Model(seed) as model:
        while figures.kills < kills and time.monotonic() - began < minutes * 60:
            home = Path(folder) / str(figures.kills)
            _one_folder(home, model, dice, figures, min(FRESH, kills - figures.kills), began + minutes * 60)
    figures.seconds = round(time.monotonic() - began, 1)
    return figures


def _one_folder(home: Path, model: Model, dice: random.Random, figures: Figures, kills: int, until: float) -> None:
    promises = Promises()
    found = Found()
    for _ in range(kills):
        if time.monotonic() > until:
            break
        seconds = dice.random() * LONGEST
        opened = dice.random() < AT_WORK
        during, failed = _kill_one(home, model.url, dice.randrange(1 << 30), opened, seconds, promises)
        found = _checked(home, model.url, promises)
        found.by_hand += failed
        figures.kills += 1
        figures.during[during] = figures.during.get(during, 0) + 1
        figures.lost += len(found.lost)
        figures.broken += len(found.broken)
        figures.by_hand += len(found.by_hand)
        wrong = found.lost + found.broken + found.by_hand
        print(
            f"kill {figures.kills} after {seconds:.2f} s of work, {during}: {'; '.join(wrong) or 'all is well'}",
            flush=True,
        )
    figures.loads += promises.begun
    figures.questions += len(promises.asked)
    figures.answers += len(promises.ended)
    figures.interrupted += found.interrupted
    figures.left_over += found.left_over


def _kill_one(
    home: Path, url: str, seed: int, opened: bool, seconds: float, promises: Promises
) -> tuple[str, list[str]]:
    """Start a worker, kill it after so many seconds of work since it started, or opened its folder; add what it promised.

    What was under way, and what failed.
    """
    mine, its = _processes.Pipe(duplex=False)
    worker = _processes.Process(target=work, args=(home, url, seed, its))
    worker.start()
    its.close()
    notes = [mine.recv()]  # it opens
    if opened and _speaks(mine):
        notes.append(mine.recv())
    _wait_for_work(worker, seconds)
    worker.kill()
    worker.join()
    try:
        while True:
            notes.append(mine.recv())
    except (EOFError, OSError):  # all that it wrote is read; a note cut by the kill is none
        mine.close()
    return _noted(notes, promises), [words[0] for kind, *words in notes if kind == "failed"]


def _wait_for_work(worker: BaseProcess, seconds: float) -> None:
    """Until the process has had the processor for so long, and a moment more."""
    assert worker.pid
    clock = (~worker.pid << 3) | 2  # as clock_getcpuclockid(3) gives it on Linux; Python knows only those of threads
    until, patience = time.clock_gettime(clock) + seconds, time.monotonic() + PATIENCE
    while worker.is_alive() and time.clock_gettime(clock) < until and time.monotonic() < patience:
        time.sleep(0.001)
    time.sleep(seconds / LONGEST * MOMENT)


def _speaks(pipe: Connection) -> bool:
    """Whether something comes in time; a machine that stood still meanwhile costs one of the seconds."""
    return any(pipe.poll(1) for _ in range(PATIENCE))


def _noted(notes: list[tuple[Any, ...]], promises: Promises) -> str:
    loading, answering, opening = False, 0, True
    for kind, *words in notes:
        if kind == "open":
            opening = False
        elif kind == "loading":
            loading = True
            promises.begun += 1
        elif kind == "loaded":
            loading = False
            promises.loaded[words[0]] = words[1]
        elif kind == "asked":
            answering += 1
            promises.asked[words[0]] = words[1]
        elif kind == "ended":
            answering -= 1
            promises.ended[words[0]] = words[1]
    under_way = [word for word, was in (("opening", opening), ("loading", loading), ("answering", answering)) if was]
    return " and ".join(under_way) or "idle"


def _checked(home: Path, url: str, promises: Promises) -> Found:
    mine, its = _processes.Pipe(duplex=False)
    checker = _processes.Process(target=check_in_child, args=(home, url, promises, its))
    checker.start()
    its.close()
    try:
        found: Found = mine.recv() if _speaks(mine) else Found(by_hand=["the check hangs"])
    except EOFError:
        found = Found(by_hand=["the check crashed"])
    checker.kill()
    checker.join()
    mine.close()
    return found


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--minutes", type=float, default=60, help="no kill is begun after that")
    given = parser.parse_args()
    figures = run(given.kills, given.seed, given.minutes)
    print(json.dumps(asdict(figures)))
    sys.exit(1 if figures.lost + figures.broken + figures.by_hand else 0)


if __name__ == "__main__":
    main()
