"""What a model's reply means: untrusted text becomes a checked value, or None. Pure.

Tolerant of fences, decoration and chatter around what was asked for; never guesses.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any

_NUMBER_WORDS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
_SCORE = re.compile(r"(?<![\d.-])(\d{1,2})(?:\.\d+)?(?:\s*(?:/|out of)\s*10)?(?![\d-])")
_RANGE = re.compile(r"\d\s*[-–]\s*\d")
_NOT_FOUND = re.compile(r"NOT[\s_-]*FOUND")  # also where a letter sticks to it
_MAY_BECOME_IT = re.compile(r"N(?:O(?:T[\s_-]*(?:F(?:O(?:U(?:ND?)?)?)?)?)?)?$")
_ONLY_NOT_FOUND = re.compile(r"^\W*(?:answer\W*)?not[\s_-]*found\b", re.IGNORECASE)
_NO_ANSWER = re.compile(
    r"""\b(?:passages?|texts?|pages?|context|evidence|information)\b[^.]{0,30}\b(?:do(?:es)?\ not|don['’]t|doesn['’]t)\ (?:\w+\ )?
        (?:say|mention|tell|contain|hold|provide|specify|include|state|give|indicate)
      | \bI\ (?:do\ not|don['’]t|cannot|can['’]t)\ (?:have\ (?:any\ |enough\ |the\ |that\ |specific\ )*information|know\b|
        (?:\w+\ )?(?:answer|find|provide)\ (?:that|this|the|any))
      | \b(?:is|was|are|were)\ not\ (?:mentioned|specified|provided|stated|given|found)\ in\ (?:the|this|my|these|any)\b
      | \bno\ (?:information|mention)\b""",
    re.IGNORECASE | re.VERBOSE,
)
_SENTENCE_END = re.compile(r"[.!?。！？]\s|[。！？]|\n")
_LONGEST = 20_000  # characters of a reply that are read; what is asked for takes a few hundred
_MOST_BRACES = 50  # that may open the object
_HOLD = 80  # characters after which a reply that is no NOT FOUND so far is let through
_OPENING = " \t\n'\"“‘(*_>-"  # may stand in front of NOT FOUND


def json_object(text: str) -> dict[str, Any] | None:
    """The first JSON object in the text, whatever stands around it."""
    decoder = json.JSONDecoder()
    text = text[:_LONGEST]
    for start in (m.start() for m in islice(re.finditer(r"\{", text), _MOST_BRACES)):
        try:
            value, _ = decoder.raw_decode(text, start)
        except (ValueError, RecursionError):
            continue
        if isinstance(value, dict):
            return value
    return None


def score(value: object) -> int | None:
    """A score from 0 to 10 out of "8/10", "Score: 7", "**6**", "seven", 7 or 7.0; None for anything else."""
    if isinstance(value, bool) or value is None:
        return None
    text = str(value)[:_LONGEST].strip()
    if _RANGE.search(text):
        return None
    found = [int(n) for n in _SCORE.findall(text)]
    if not found:
        found = [_NUMBER_WORDS.index(w) for w in re.findall(r"[a-z]+", text.lower()) if w in _NUMBER_WORDS]
    return found[0] if len(set(found)) == 1 and 0 <= found[0] <= 10 else None


def choice(text: str, most: int) -> int | None:
    """A number from 0 to `most`; None for anything else."""
    value, text = json_object(text), text[:_LONGEST]
    given = next(iter(value.values()), None) if value else text
    found = re.findall(r"-?\d+", str(given)) if not isinstance(given, bool) else []
    return int(found[0]) if len(found) == 1 and len(found[0]) < 6 and 0 <= int(found[0]) <= most else None


def is_not_found(text: str) -> bool:
    """Whether a reply says that the evidence does not hold the answer, in whatever spelling."""
    if not re.search(r"\w", text):
        return True
    if _NOT_FOUND.search(text) or _ONLY_NOT_FOUND.search(text):
        return True
    first = _SENTENCE_END.split(text, maxsplit=1)[0]
    return bool(_NO_ANSWER.search(first))


class AnswerStream:
    """Lets an answer through only once it can no longer be NOT FOUND, wherever the pieces are cut.

    After iterating, `found` tells whether there was an answer, `text` is what was let through, `reply` all that came.
    """

    def __init__(self, pieces: Iterable[str]) -> None:
        self._pieces = pieces
        self.found = False
        self.text = ""
        self.reply = ""

    def __iter__(self) -> Iterator[str]:
        for piece in self._pieces:
            self._read(piece)
            if not self.found:
                continue
            answer = self.reply.lstrip()
            marked = _NOT_FOUND.search(answer)
            if marked and marked.end() < len(answer):  # said after an answer had begun: what came before stands
                break
            held = _MAY_BECOME_IT.search(answer)
            yield from self._release(answer[: held.start()] if held else answer)
        self.found = self.found or not is_not_found(self.reply)
        if self.found:
            answer = self.reply.strip()
            marked = _NOT_FOUND.search(answer)
            yield from self._release(answer[: marked.start()] if marked else answer, last=not marked)

    def _read(self, piece: str) -> None:
        """Take a piece in; what is decided depends on the letters so far, not on where they were cut."""
        before, self.reply = self.reply, self.reply + piece
        lengths = range(len(before) + 1, len(self.reply) + 1)
        self.found = self.found or any(self._may_pass(self.reply[:length].lstrip()) for length in lengths)

    @staticmethod
    def _may_pass(answer: str) -> bool:
        enough = len(answer) >= _HOLD or (len(answer) >= _HOLD // 2 and _SENTENCE_END.search(answer))
        return bool(enough) and not is_not_found(answer)

    def _release(self, upto: str, last: bool = False) -> Iterator[str]:
        new = (upto if last else upto.rstrip(_OPENING))[len(self.text) :]
        if new:
            self.text += new
            yield new
