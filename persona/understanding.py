"""A question of a conversation as it reads on its own. The one place that decides what becomes of a rewrite."""

from __future__ import annotations

from collections.abc import Sequence

from persona.records import ModelCall, Question, Turn
from persona.steps import Steps


def leans(past: Sequence[Turn]) -> bool:
    """Whether there is anything to lean on: more than greetings."""
    return not all(turn.answer and turn.answer.stage == "greeting" for turn in past)


def standalone(steps: Steps, title: str, past: Sequence[Turn], asked: str) -> tuple[Question, ModelCall]:
    """The question as the model rewrote it, or as it was asked where its rewrite is of no use."""
    found, call = steps.rewrite(title, past, asked)
    return Question(asked, found.question, found.turns) if found else Question(asked, asked), call
