"""Runs contenders over cases, one after the other, each at a model server of its own that was started for it.

A turn is written down as soon as it has ended. What the same run of a contender has written is not asked again: the
same cases, pages, model and, of the contender, the same code. Knows nothing of figures.
"""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from statistics import mean
from typing import Any

import openai.resources.chat.completions  # noqa: F401 - the client makes its types at its first call: no turn is to pay that

from persona.adapters.builtin import BuiltinServer
from persona.adapters.openai_server import OpenAIServerModel
from persona.cases import Case
from persona.errors import PersonaError
from persona.records import now
from persona.wiring import Wiring
from tests.bench.contender import WINDOW, Contender, Measured, Pages
from tests.bench.engine import Engine
from tests.bench.meter import Meter
from tests.bench.ours import Ours
from tests.bench.plain import Plain

OURS = "ours"
_IDLE_MINUTES = 10.0  # should this process be killed, the model's ends itself
_PROJECT = Path(__file__).parents[2]
_COMMON = (
    "tests/bench/meter.py",
    "tests/bench/contender.py",
    "persona/judging.py",
    "persona/replies.py",
    "persona/text.py",
)
_CODE: Mapping[str, Sequence[str]] = {
    OURS: ("persona/*.py", "persona/adapters/*.py", "persona/gates/*", "prompts/*", "tests/bench/ours.py"),
    "plain": ("tests/bench/plain.py", "persona/ngrams.py", "persona/adapters/minilm.py"),
    "llamaindex": ("tests/bench/engine.py", "persona/adapters/minilm.py"),
}
NAMES = tuple(_CODE)

Server = Callable[[str], AbstractContextManager[str]]  # a contender's name: the address with /v1 while it lasts


class ContestError(PersonaError):
    """The contest cannot go on."""


@dataclass
class Contest:
    """The cases, where everything is, and what the contenders came to so far."""

    cases: Sequence[Case]
    out: Path
    wiring: Wiring
    pages: Pages
    server: Server
    tell: Callable[[str], None]
    model: str  # its name at the server, empty for the first that is served
    described: dict[str, Any] = field(default_factory=dict)  # of the whole contest, for the report

    def run(self, names: Sequence[str]) -> dict[str, list[Measured]]:
        """Every contender's turns, in the order of the cases. Raises PersonaError."""
        self.described |= self._surroundings()
        return {name: self._turns(name) for name in names}

    def _turns(self, name: str) -> list[Measured]:
        known = {turn.id: turn for turn in self._known(name)}
        todo = [case for case in self.cases if case.id not in known]
        if known:
            self.tell(f"{name}: {len(known)} of {len(self.cases)} cases are in {self.out} already.")
        if todo:
            with self._contender(name) as (contender, meter):
                for turn in self._asked(name, contender, meter, todo):
                    known[turn.id] = turn
                    self._write(name, list(known.values()))
        return [known[case.id] for case in self.cases]

    def _asked(self, name: str, contender: Contender, meter: Meter, todo: Sequence[Case]) -> Iterator[Measured]:
        took: list[float] = []
        for number, case in enumerate(todo, 1):
            meter.take()
            began = time.monotonic()
            turn = self._turn(name, contender, meter, case)
            took.append(time.monotonic() - began)
            left = (len(todo) - number) * mean(took) / 60
            place = len(self.cases) - len(todo) + number
            self.tell(
                f"{name} {place}/{len(self.cases)}  {case.id}  {turn.seconds:.1f} s, {turn.calls} calls, "
                f"{turn.prompt_tokens_read} of {turn.prompt_tokens_sent} tokens read; about {left:.0f} min left"
            )
            yield turn

    @staticmethod
    def _turn(name: str, contender: Contender, meter: Meter, case: Case) -> Measured:
        try:
            measured = _counted(contender.ask(case), meter)
        except Exception as error:  # whatever a contender's libraries raise, the run cannot go on, and says where
            raise ContestError(f"{name} failed at {case.id} ({type(error).__name__}: {error}).") from error
        if meter.faults:
            raise ContestError(f"{name} failed at {case.id}: {'; '.join(meter.faults)}")
        return measured

    @contextmanager
    def _contender(self, name: str) -> Iterator[tuple[Contender, Meter]]:
        self.tell(f"{name}: waiting for its model server")
        with self.server(name) as address, Meter(lambda: address) as meter:
            model = OpenAIServerModel(lambda: meter.url, self.model, WINDOW)
            yield self._made(name, model, meter.url), meter

    def _made(self, name: str, model: OpenAIServerModel, base: str) -> Contender:
        embedder = self.wiring.embedder
        if name == OURS:
            return Ours(model, embedder, self.wiring.settings, self.wiring.settings.home / "bench", self.pages)
        if name == "plain":
            return Plain(model, embedder, self.pages)
        return Engine(base, model.name, embedder, self.pages)

    # --- what is kept ---

    def _surroundings(self) -> dict[str, Any]:
        titles = sorted({case.page for case in self.cases})
        return {
            "model": self.model or "the server's first",
            "case_set": hashlib.sha256("\n".join(map(repr, self.cases)).encode()).hexdigest()[:12],
            "pages": {title: self.pages(title).revision for title in titles},
            "embedder": self.wiring.embedder.name,
            "processors": os.cpu_count(),
        }

    def _run(self, name: str) -> dict[str, Any]:
        """What makes a contender's run that run."""
        return self.described | {"code": _digest((*_COMMON, *_CODE[name]))}

    def _known(self, name: str) -> list[Measured]:
        stored = read_report(self.out)["contenders"].get(name, {})
        same = stored.get("run") == self._run(name)
        if stored and not same:
            self.tell(f"{name}: what {self.out} holds is of another run, and is measured anew.")
        return [Measured(**turn) for turn in stored["turns"]] if same else []

    def _write(self, name: str, turns: Sequence[Measured]) -> None:
        report = read_report(self.out)
        report["contenders"][name] = {"run": self._run(name), "turns": [asdict(turn) for turn in turns]}
        write_report(self.out, report | {"complete": False, "written_at": now().isoformat(timespec="seconds")})


def builtin(wiring: Wiring) -> Server:
    """Servers of the built-in model, each started anew and with nothing in its cache."""

    @contextmanager
    def served(name: str) -> Iterator[str]:
        for _ in wiring.builtin.prepare():
            pass
        home = wiring.settings.home / "bench" / f"server-{name}"
        server = BuiltinServer(home, str(wiring.builtin.model), WINDOW, _IDLE_MINUTES)
        server.stop()  # one that an interrupted run left behind has a warm cache
        try:
            yield server.address()
        finally:
            server.stop()

    return served


def read_report(path: Path) -> dict[str, Any]:
    """What is written there so far; a file that is no report is not to be overwritten. Raises ContestError."""
    if not path.exists():
        return {"contenders": {}}
    try:
        report: dict[str, Any] = json.loads(path.read_text("utf-8"))
        _ = report["contenders"]
    except (OSError, ValueError, LookupError, TypeError) as error:
        raise ContestError(f"{path} is there and is no report of this command. Name another OUT.") from error
    return report


def write_report(path: Path, report: Mapping[str, Any]) -> None:
    """Replace the report in one step."""
    unfinished = path.with_name(path.name + ".part")
    unfinished.parent.mkdir(parents=True, exist_ok=True)
    unfinished.write_text(json.dumps(report, ensure_ascii=False, indent=1) + "\n", "utf-8")
    unfinished.replace(path)


def _counted(turn: Measured, meter: Meter) -> Measured:
    """The turn with the meter's figures."""
    calls = meter.take()
    return replace(
        turn,
        calls=len(calls),
        prompt_tokens_sent=sum(call.sent for call in calls),
        prompt_tokens_read=sum(call.read for call in calls),
        output_tokens=sum(call.written for call in calls),
    )


def _digest(patterns: Sequence[str]) -> str:
    """Of the files' contents."""
    files = sorted({file for pattern in patterns for file in _PROJECT.glob(pattern) if file.is_file()})
    return hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()[:12]
