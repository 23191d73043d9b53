"""Somebody who asks through the app's own runner: what they see of a turn, whatever breaks around it."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from persona.records import Loaded, Turn
from persona.runner import Runner
from persona.settings import Settings
from persona.wiring import Wiring
from tests.core import ADA, WordEmbedder, page, settings

FATHER_ASKED = "Who was your father?"
FATHER = "My father was Josiah Marsh, a fisherman."


def wait_for(condition: Callable[[], object], seconds: float = 60) -> None:
    """Until it holds; fails when it does not in time."""
    until = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < until, "it did not happen in time"
        time.sleep(0.02)


class Reader:
    """Asks Ada Marsh in one thread; the embedder knows words only, all else is real. `parts` stand in for parts."""

    def __init__(self, given: Settings, **parts: Any) -> None:
        self.use(Wiring(given, **({"embedder": WordEmbedder()} | parts)))
        self.person = self.load().person.id
        self.thread = self.wiring.history.start(self.person).id

    def use(self, wiring: Wiring) -> None:
        """Ask through these parts from now on."""
        self.wiring = wiring
        self.runner = Runner(wiring.interview, wiring.history)

    def load(self, revision: str = "1") -> Loaded:
        """Ada's page, in that revision."""
        *_, loaded = self.wiring.ingest.load(page("Ada Marsh", ADA, revision=revision))
        assert isinstance(loaded, Loaded)
        return loaded

    def submit(self, question: str = FATHER_ASKED) -> str:
        """A question at the thread's root, which no rewriting precedes; the turn's id."""
        return self.runner.submit(question, self.thread)

    def ended(self, turn: str, seconds: float = 60) -> Turn:
        """The turn once it has ended."""
        wait_for(lambda: turn not in self.runner.running(), seconds)
        found = self.wiring.history.turn(turn)
        assert found
        return found

    def ask(self, question: str = FATHER_ASKED) -> Turn:
        """A question and what became of it."""
        return self.ended(self.submit(question))

    def turns(self) -> list[Turn]:
        """All of the thread, as anybody who opens it sees it."""
        return self.wiring.history.turns(self.thread)


def reader_of(home: Path, url: str, **more: Any) -> Reader:
    """With the model on an OpenAI-style server at that address."""
    return Reader(settings(home, openai_url=url, model="tiny-chat", **more))
