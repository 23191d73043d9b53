"""Rewriting alone: each case put to the program's own step and, beside it, to a plain prompt.

The plain prompt is a yardstick: one sentence of instruction, the same conversation, free text back, no examples and no
checks. Ours is what a turn would go on with: the checked rewrite, or the question as asked. Knows nothing of pages.
"""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from persona.budget import fill, fitting
from persona.cases import STANDS_ALONE, Case
from persona.errors import ModelError
from persona.figures import Figures, count, counted, middle
from persona.ports import ChatModel
from persona.prompts import Prompt, load_prompt
from persona.records import ChatRequest, ModelCall, Turn, Usage
from persona.replies import json_object
from persona.rewrites import names_and_numbers, plain_words
from persona.steps import REWRITE_TOKENS, Steps
from persona.text import content_words, harmless, unaccented
from persona.told import conversation
from persona.understanding import standalone

_AS_YOU = {
    "your": "you", "yours": "you", "yourself": "you", "is": "are", "was": "were", "does": "do", "has": "have",
}  # fmt: skip
_PLAIN = Path(__file__).parent / "yardsticks" / "rewrite.md"


@dataclass(frozen=True, slots=True)
class Rewritten:
    """What one rewriter made of a question. `held` and `missed` are the names that the human rewrite adds."""

    text: str
    held: tuple[str, ...] = ()
    missed: tuple[str, ...] = ()
    invented: tuple[str, ...] = ()  # names and numbers that are in neither question nor conversation
    length: float | None = None  # in words, as a share of the human's
    kept: bool | None = None  # of a question that stands alone: word for word, the persona's name for "you" aside
    unparsable: bool = False
    rejected: bool | None = None  # read, but thrown away by the step's check
    call: ModelCall | None = None

    @property
    def seconds(self) -> float | None:
        """What the call took."""
        return self.call.seconds if self.call else None


@dataclass(frozen=True, slots=True)
class RewriteOutcome:
    """What one case came to."""

    id: str
    question: str
    tags: tuple[str, ...]
    human: str
    ours: Rewritten
    plain: Rewritten
    error: str = ""

    @property
    def failed(self) -> bool:
        """Whether ours is of no use, says what nobody said, bends what stood alone or holds no name of the human's."""
        if self.error or self.ours.unparsable or self.ours.invented or self.ours.kept is False:
            return True
        return bool(self.ours.missed) and not self.ours.held

    @property
    def worth(self) -> tuple[int, ...]:
        """The higher the better, to be compared with the same case in another run."""
        return (not self.failed, len(self.ours.held))

    @property
    def said(self) -> str:
        """What came of it, in words."""
        return self.error or self.ours.text

    @property
    def told(self) -> str:
        """The same in a line, with what was wanted."""
        return f"{self.said} (human: {self.human or self.question})"


class RewriteExaminer:
    """Puts cases to the rewriting step and to the plain prompt, both over one model."""

    def __init__(self, steps: Steps, model: ChatModel) -> None:
        self._steps, self._model = steps, model
        self.plain: Prompt = load_prompt(_PLAIN, "rewrite", frozenset({"conversation", "question"}))

    def ask(self, case: Case) -> RewriteOutcome:
        """Both rewrites, judged; a model that fails is an error of the case, and nothing of it is right."""
        past, trouble = case.past(""), ""
        try:
            ours, plain = self._ours(case, past), self._plainly(case, past)
        except ModelError as error:
            ours = plain = judged(case, "", None, unparsable=True)
            trouble = str(error)
        return RewriteOutcome(case.id, case.question, case.tags, case.rewrite, ours, plain, trouble)

    def _ours(self, case: Case, past: Sequence[Turn]) -> Rewritten:
        question, call = standalone(self._steps, case.page, past, case.question)
        unparsable = bool(call.error) and json_object(call.reply) is None
        rejected = bool(call.error) and not unparsable
        return judged(case, question.standalone, call, unparsable, rejected)

    def _plainly(self, case: Case, past: Sequence[Turn]) -> Rewritten:
        def filled(many: int) -> dict[str, str]:
            told = conversation(case.page, past[len(past) - many :])
            return {"conversation": told, "question": harmless(case.question)}

        room = self._model.context_window - REWRITE_TOKENS
        messages = fill(self.plain, filled(fitting(self.plain, room, filled, len(past))))
        began, reply, usage = time.monotonic(), "", Usage()
        for delta in self._model.chat(ChatRequest(messages, REWRITE_TOKENS)):
            reply, usage = reply + delta.text, delta.usage or usage
        spent = time.monotonic() - began
        counts = (usage.prompt_tokens, usage.output_tokens, usage.cached_tokens)
        call = ModelCall("rewrite", self._model.name, self.plain.sha, messages, reply, *counts, spent, 1)
        return judged(case, reply.strip(), call, unparsable=not reply.strip())


def has_rewrite(case: Case) -> bool:
    """Whether a case says how its question should be rewritten, or that it need not be."""
    return bool(case.history) and bool(case.rewrite or STANDS_ALONE in case.tags)


def judged(
    case: Case, text: str, call: ModelCall | None, unparsable: bool = False, rejected: bool | None = None
) -> Rewritten:
    """A rewrite held against the human's and the conversation. One that cannot be read is right in nothing."""
    alone = STANDS_ALONE in case.tags
    added = set[str]() if alone else names_and_numbers(case.rewrite) - plain_words(case.question)
    held = added & plain_words(text) if not unparsable else set[str]()
    said = " ".join(line for _, line in case.history)
    invented = names_and_numbers(text) - plain_words(f"{case.question} {said} {case.page}")
    return Rewritten(
        text=text,
        held=tuple(sorted(held)),
        missed=tuple(sorted(added - held)),
        invented=tuple(sorted(invented)),
        length=round(len(text.split()) / len(case.rewrite.split()), 3) if case.rewrite and not unparsable else None,
        kept=_same_words(case, text) and not unparsable if alone else None,
        unparsable=unparsable,
        rejected=rejected,
        call=call,
    )


def figures(made: Sequence[Rewritten]) -> Figures:
    """The figures of one rewriter. Names and numbers are counted one by one, all else by case."""
    held, added = sum(len(r.held) for r in made), sum(len(r.held) + len(r.missed) for r in made)
    counts = {
        "names_held": {"n": held, "of": added},
        "invented": count(bool(r.invented) for r in made),
        "standalone_kept": count(r.kept for r in made),
        "unparsable": count(r.unparsable for r in made),
        "rejected": count(r.rejected for r in made),
    }
    numbers: Figures = {}
    if lengths := [r.length for r in made if r.length is not None]:
        numbers["length_median"] = middle(lengths)
    if seconds := [r.seconds for r in made if r.seconds is not None]:
        numbers["seconds_median"] = middle(seconds)
    return counted(counts) | numbers


def _same_words(case: Case, text: str) -> bool:
    """Whether nothing but the persona's name was put in, for "you"."""
    return _spoken(text, case.page) == _spoken(case.question, case.page)


def _spoken(text: str, title: str) -> list[str]:
    """The words, folded, with "you" for the persona and "your", and one form of the verbs that change with it."""
    parts = [part for part in title.split() if content_words(part, "en")]
    name = "|".join(re.escape(unaccented(part)) for part in [title, *parts])
    said = re.sub(rf"\b(?:{name})(?:\W+(?:{name}))*(?:['’]s?)?(?!\w)", "you", unaccented(text))
    return [_AS_YOU.get(word, word) for word in re.findall(r"\w+", said)]
