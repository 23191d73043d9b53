"""What a contender is, and what is written down of its turns; judged as the evaluation judges."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Protocol

from persona.cases import Case
from persona.judging import answered_right
from persona.records import Answer, Page, Source
from persona.replies import is_not_found

WINDOW = 8192  # tokens of prompt and reply, for every contender
LONGEST = 160  # tokens of an answer, as in persona.steps


@dataclass(frozen=True, slots=True)
class Measured:
    """A turn: what was answered and whether it should have been, and what it cost. What does not apply is None."""

    id: str
    answer: str
    stage: str
    found: bool
    right: bool | None
    refused_right: bool | None
    seconds: float
    first_token: float  # seconds until the reader had the first words
    calls: int = 0  # this and the tokens are the meter's
    prompt_tokens_sent: int = 0
    prompt_tokens_read: int = 0
    output_tokens: int = 0
    parts: Mapping[str, float] = field(default_factory=dict)  # seconds


class Contender(Protocol):
    """Somebody who answers cases."""

    def ask(self, case: Case) -> Measured:
        """The case's question, put after its history; what the model server counts is not the contender's business."""


class Pages(Protocol):
    """Where a contender finds the page of a case."""

    def __call__(self, title: str) -> Page:
        """The page of that title."""


@dataclass
class Said:
    """A turn as it goes on: the reply, the passages that were sent for it, and when its first words could be read."""

    text: str = ""
    passages: Sequence[str] = ()
    stage: str = ""
    first: float | None = None
    began: float = field(default_factory=time.monotonic)

    def heard(self) -> None:
        """The reader has the first words now."""
        if self.first is None:
            self.first = time.monotonic() - self.began


@contextmanager
def turn(case: Case, measured: list[Measured]) -> Iterator[Said]:
    """Times a turn, judges what was said in it and appends what came of it."""
    said = Said()
    yield said
    said.heard()
    seconds = time.monotonic() - said.began
    found = bool(said.text) and not is_not_found(said.text)
    sources = tuple(Source(n, "", "", "", text, 0.0) for n, text in enumerate(said.passages, 1))
    answer = Answer(said.text, found, "ranked", sources=sources)
    measured.append(
        Measured(
            id=case.id,
            answer=said.text,
            stage=said.stage if found else "refused",
            found=found,
            right=answered_right(case, answer) if case.answerable else None,
            refused_right=None if case.answerable else not found,
            seconds=round(seconds, 3),
            first_token=round(said.first or seconds, 3),
        )
    )
