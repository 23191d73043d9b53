"""Many visitors at once: `python -m tests.bench.load [--visitors 50] [--turns 2000] [--minutes 20]`.

Two app processes (tests/bench/asking.py) share one database and one vector store; each visitor has a cookie of its own
and asks through both by turns, follow-up questions among them; a refused one comes back when it was told to. The model
is a server here that answers at once. What is printed last is one line of JSON with the figures; exit code 1 when a
question was lost, doubled or refused without a time, two were answered at once, or memory grew.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import random
import re
import ssl
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

import httpx

from persona.records import Loaded, new_id
from persona.settings import Settings
from persona.wiring import Wiring
from tests.core import ADA, WordEmbedder, page
from tests.loopback import WireReply
from tests.openai_style import OpenAIStyleServer

ROOT = Path(__file__).parents[2]
ANSWER = "My father was Josiah Marsh, a fisherman."
FIRST, NEXT = "Who was your father?", "And what was the name of your father, the fisherman?"
MODEL = "llama-load"
_LONGEST_THREAD = 5
_LOOK = 0.3  # seconds between two looks at a turn, as the page does
_LATER = 5.0  # seconds after the wait that one was told, at most; a crowd that came back at once would measure itself
_FLAT = 1.1  # times the memory after half of the turns, at most, is taken at their end
_TLS = ssl.create_default_context()  # by default each client makes its own, which takes longer than all that it asks
_ENDED = {"done", "stopped", "failed", "interrupted"}


class Model(OpenAIStyleServer):
    """Answers whatever is asked, and counts how many questions it is asked for at once."""

    def __init__(self) -> None:
        super().__init__(models=(MODEL,))
        self.at_once = self.most_at_once = self.answers = 0

    def next_reply(self, body: dict[str, Any]) -> WireReply:
        self.received.clear()  # or this would be what grows
        if "response_format" in body:  # a follow-up is made to stand alone
            return WireReply(json.dumps({"question": "Who was Ada Marsh's father, the fisherman?", "turns": [1]}))
        return WireReply(ANSWER)

    def _chat(self, exchange: Any) -> None:
        with self.lock:
            self.at_once += 1
            self.most_at_once = max(self.most_at_once, self.at_once)
            self.answers += "response_format" not in exchange.body
        try:
            super()._chat(exchange)
        finally:
            with self.lock:
                self.at_once -= 1


@dataclass
class Seen:
    """What the visitors saw, all together."""

    accepted: list[str] = field(default_factory=list)  # the turns' ids, as they were told
    requests: list[str] = field(default_factory=list)
    ended: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)
    cookies: set[str] = field(default_factory=set)
    places: Counter[int] = field(default_factory=Counter)
    told: list[float] = field(default_factory=list)  # the times to wait that refusals carried
    seconds: list[float] = field(default_factory=list)  # from the question to its end
    without_wait: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)


class Visitor(threading.Thread):
    """Asks question after question until there have been enough."""

    def __init__(self, run: Run, number: int) -> None:
        super().__init__(name=f"visitor-{number}", daemon=True)
        self._run, self._number = run, number
        self._random = random.Random(number)

    def run(self) -> None:
        with httpx.Client(timeout=120, verify=_TLS) as self._client:
            try:
                self._interview()
            except Exception as error:
                self._note(wrong=f"visitor {self._number}: {error!r}")

    def _interview(self) -> None:
        thread, parent, asked = new_id(), None, 0
        while self._run.more():
            if asked == _LONGEST_THREAD:
                thread, parent, asked = new_id(), None, 0
            parent = self._ask(thread, parent, asked)
            asked += 1
            if parent is None:
                return

    def _ask(self, thread: str, parent: str | None, asked: int) -> str | None:
        """The turn once it has ended; None when the run is over before the question was accepted."""
        question = {"person": self._run.person, "thread": thread, "parent": parent, "request_id": new_id()}
        question["question"] = NEXT if asked else FIRST
        began = time.monotonic()
        while True:
            reply = self._send("POST", "/ask", question)
            told = reply.json()
            if reply.status_code == 200:
                return self._follow(told["turn"], question["request_id"], began)
            if reply.status_code != 429:
                self._note(wrong=f"{reply.status_code}: {told}")
                return None
            self._refused(told)
            if not self._run.open():
                return None
            time.sleep(told["retry_after"] + self._random.uniform(0.0, _LATER))

    def _follow(self, turn: str, request: str, began: float) -> str:
        with self._run.seen.lock:
            self._run.seen.accepted.append(turn)
            self._run.seen.requests.append(request)
        while (told := self._send("GET", f"/turn/{turn}").json())["state"] not in _ENDED:
            if place := re.match(r"number (\d+) in line, about ", told["step"]):
                with self._run.seen.lock:
                    self._run.seen.places[int(place[1])] += 1
            time.sleep(_LOOK)
        with self._run.seen.lock:
            self._run.seen.ended[told["state"]] += 1
            self._run.seen.seconds.append(time.monotonic() - began)
        if told["answer"] != ANSWER:
            self._note(wrong=f"turn {turn}: {told}")
        return turn

    def _refused(self, told: Mapping[str, Any]) -> None:
        with self._run.seen.lock:
            if told.get("retry_after", 0) > 0 and "Try again in about" in told["error"]:
                self._run.seen.told.append(told["retry_after"])
            else:
                self._run.seen.without_wait += 1

    def _send(self, method: str, path: str, body: object = None) -> httpx.Response:
        """Through one process or the other, with the cookie that the first one gave, as a browser does."""
        reply = self._client.request(method, f"{self._random.choice(self._run.urls)}{path}", json=body)
        if given := reply.cookies.get("persona_visitor"):
            with self._run.seen.lock:
                self._run.seen.cookies.add(given)
        return reply

    def _note(self, wrong: str) -> None:
        with self._run.seen.lock:
            self._run.seen.wrong.append(wrong)


class Run:
    """One run over processes that are up."""

    def __init__(self, urls: list[str], person: str, turns: int, minutes: float) -> None:
        self.urls, self.person, self.seen = urls, person, Seen()
        self._turns, self._ends = turns, time.monotonic() + 60 * minutes
        self._begun = 0
        self.resident: list[tuple[int, list[int]]] = []  # turns that had ended, bytes by process

    def more(self) -> bool:
        """Whether one more question may be begun."""
        with self.seen.lock:
            self._begun += 1
            return self._begun <= self._turns and self.open()

    def open(self) -> bool:
        """Whether there is time left."""
        return time.monotonic() < self._ends

    def drive(self, visitors: int) -> float:
        """Let them ask; seconds that it took."""
        began = time.monotonic()
        crowd = [Visitor(self, number) for number in range(visitors)]
        for visitor in crowd:
            visitor.start()
        while any(visitor.is_alive() for visitor in crowd):
            self._measure()
            time.sleep(1)
        self._measure()
        return time.monotonic() - began

    def _measure(self) -> None:
        sizes = [httpx.get(f"{url}/memory", timeout=60, verify=_TLS).json()["resident"] for url in self.urls]
        self.resident.append((self.seen.ended.total(), sizes))


@contextmanager
def app_process(env: Mapping[str, str], log: Path) -> Iterator[Callable[[], str]]:
    """One app process; what waits until it listens, and gives its address."""

    def address() -> str:
        assert app.stdout
        line = app.stdout.readline()
        assert line, log.read_text()
        return f"http://127.0.0.1:{json.loads(line)['port']}"

    command = [sys.executable, "-m", "tests.bench.asking"]
    with log.open("wb") as err, subprocess.Popen(command, env=env, cwd=ROOT, stdout=subprocess.PIPE, stderr=err) as app:
        try:
            yield address
        finally:
            app.kill()


def run(
    home: Path,
    visitors: int,
    turns: int,
    minutes: float,
    *,
    embedder: str = "minilm",
    stores: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """The figures of one run. `stores` name a database and a vector store other than those in `home`, by setting."""
    given = dict(stores or {})
    with Model() as model, ExitStack() as stack:
        model.routes["POST /v1/chat/completions"] = model._chat
        wiring = _wiring(home, embedder, given)
        *_, loaded = wiring.ingest.load(page("Ada Marsh", ADA))
        assert isinstance(loaded, Loaded)
        env = _environment(home, embedder, model.url, given)
        apps = [stack.enter_context(app_process(env, home / f"app-{number}.log")) for number in (1, 2)]
        run_ = Run([address() for address in apps], loaded.person.id, turns, minutes)
        seconds = run_.drive(visitors)
        figures = _figures(run_, model, wiring, visitors, seconds)
        wiring.database.close()
    return figures


def _wiring(home: Path, embedder: str, stores: Mapping[str, str]) -> Wiring:
    fields = {name.removeprefix("PERSONA_").lower(): value for name, value in stores.items()}
    settings = Settings(home=home, llm="openai", openai_url="http://127.0.0.1:9/v1", model=MODEL, **fields)
    return Wiring(settings, embedder=WordEmbedder()) if embedder == "words" else Wiring(settings)


def _environment(home: Path, embedder: str, url: str, stores: Mapping[str, str]) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PERSONA_", "OLLAMA_"))}
    ours = {"PERSONA_HOME": str(home), "PERSONA_LLM": "openai", "PERSONA_OPENAI_URL": url, "PERSONA_MODEL": MODEL}
    return {**kept, **ours, "PERSONA_EMBEDDER": embedder, "PYTHONPATH": str(ROOT), **stores}


def _figures(run_: Run, model: Model, wiring: Wiring, visitors: int, seconds: float) -> dict[str, Any]:
    seen = run_.seen
    stored = [turn for thread in wiring.history.threads() for turn in wiring.history.turns(thread.id)]
    by_request = Counter(turn.request_id for turn in stored)
    done = {turn.id for turn in stored if turn.state == "done" and turn.answer and turn.answer.text == ANSWER}
    return {
        "visitors": visitors,
        "cookies": len(seen.cookies),
        "processes": len(run_.urls),
        "accepted": len(seen.accepted),
        "stored": len(stored),
        "answered": len(done),
        "lost": len(set(seen.accepted) - done),
        "doubled": len(stored) - len(by_request) + len(seen.accepted) - len(set(seen.accepted)),
        "answer_calls": model.answers,
        "most_at_once": model.most_at_once,
        "refused": len(seen.told) + seen.without_wait,
        "refused_without_wait": seen.without_wait,
        "told_to_wait": _spread(seen.told),
        "most_in_line": max(seen.places, default=0),
        "turn_seconds": _spread(seen.seconds),
        "took_seconds": round(seconds, 1),
        "memory_mb": _memory(run_),
        "wrong": seen.wrong[:5],
    }


def _spread(numbers: list[float]) -> dict[str, float]:
    if not numbers:
        return {}
    ordered = sorted(numbers)
    at = {"median": median(ordered), "p95": ordered[math.ceil(0.95 * len(ordered)) - 1], "most": ordered[-1]}
    return {name: round(value, 2) for name, value in at.items()}


def _memory(run_: Run) -> dict[str, list[float]]:
    """By process, in millions of bytes, after each tenth of the turns."""
    last = run_.resident[-1][0]
    marks = [last * tenth // 10 for tenth in range(1, 11)]
    at = [next(sizes for ended, sizes in run_.resident if ended >= mark) for mark in marks]
    return {f"app{number + 1}": [round(sizes[number] / 1e6, 1) for sizes in at] for number in range(len(run_.urls))}


def sound(figures: Mapping[str, Any]) -> bool:
    """Whether nothing was lost, doubled, answered beside another or refused without a time, and memory stayed flat."""
    nothing = ("lost", "doubled", "refused_without_wait", "wrong")
    once = figures["answer_calls"] == figures["accepted"] == figures["stored"] and figures["most_at_once"] <= 1
    flat = all(sizes[-1] <= _FLAT * sizes[4] for sizes in figures["memory_mb"].values())
    return once and flat and not any(figures[name] for name in nothing) and figures["cookies"] == figures["visitors"]


def main() -> int:
    """Run, and print the figures."""
    parser = argparse.ArgumentParser(description="Many visitors at two app processes.")
    parser.add_argument("--visitors", type=int, default=50)
    parser.add_argument("--turns", type=int, default=2000)
    parser.add_argument("--minutes", type=float, default=20)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="persona-load-") as home:
        figures = run(Path(home), options.visitors, options.turns, options.minutes)
    print(json.dumps(figures))
    return 0 if sound(figures) else 1


if __name__ == "__main__":
    sys.exit(main())
