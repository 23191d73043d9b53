"""Cases of an evaluation: one JSON object a line. Pure but for reading the file.

A line holds `id, page, history [[who, text], …], question, answerable, answers, section, passage, rewrite, tags`;
what is not known is left out.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from persona.errors import InputError
from persona.records import Answer, Question, Turn, new_id, now

OFF_TOPIC = frozenset({"off-topic", "gibberish"})
STANDS_ALONE = "stands-alone"  # a question that needs no rewriting, asked after turns on something else


@dataclass(frozen=True, slots=True)
class Case:
    """One question with what is known of its right answer. `section` and `answers` name alternatives."""

    id: str
    page: str
    question: str
    history: tuple[tuple[str, str], ...] = ()
    answerable: bool = True
    answers: tuple[str, ...] = ()
    section: tuple[str, ...] = ()
    passage: str = ""
    rewrite: str = ""
    tags: tuple[str, ...] = ()

    @property
    def off_topic(self) -> bool:
        """Nothing of it is about the page."""
        return not self.answerable and bool(OFF_TOPIC.intersection(self.tags))

    @property
    def alone(self) -> str:
        """The question as it reads without the history: a human's rewrite where there is one."""
        return self.rewrite or self.question

    @property
    def exchanges(self) -> tuple[tuple[str, str], ...]:
        """The history as pairs of question and answer; a missing half is empty."""
        pairs: list[tuple[str, str]] = []
        for who, text in self.history:
            if who == "user" or not pairs or pairs[-1][1]:
                pairs.append((text, "") if who == "user" else ("", text))
            else:
                pairs[-1] = (pairs[-1][0], text)
        return tuple(pairs)

    def past(self, thread: str) -> list[Turn]:
        """The history as turns that were answered, each the parent of the next."""
        turns: list[Turn] = []
        for asked, told in self.exchanges:
            parent = turns[-1].id if turns else None
            answer = Answer(told, True, "ranked")
            turns.append(Turn(new_id(), thread, parent, new_id(), Question(asked, asked), "done", now(), answer))
        return turns


_CASE = TypeAdapter(Case)


def read_cases(paths: Iterable[Path]) -> list[Case]:
    """All cases of the files, in order, an id that comes again with a number. Raises InputError naming file and line."""
    cases: list[Case] = []
    came = Counter[str]()
    for path in paths:
        try:
            lines = path.read_text(encoding="utf-8-sig").split("\n")  # JSON may hold what else ends a line of text
        except (OSError, UnicodeDecodeError) as error:
            raise InputError(f"The cases {path} cannot be read ({error}).") from error
        for number, line in enumerate(lines, 1):
            if not line.strip():
                continue
            try:
                value = json.loads(line)
                section = value.get("section", ())
                case = _CASE.validate_python(value | {"section": [section] if isinstance(section, str) else section})
            except (ValueError, AttributeError, TypeError, ValidationError) as error:
                raise InputError(f"{path}:{number}: this is no case ({error}). See the README on cases.") from error
            came[case.id] += 1
            cases.append(case if came[case.id] == 1 else replace(case, id=f"{case.id} ({came[case.id]})"))
    return cases
