"""Takes a model's thinking out of its reply, however the reply is cut into pieces.

Knows the tags `<think>` and `</think>` and which model families think; knows no server. Handles a whole pair, an empty
one, one that is never closed (then nothing is left) and a closing tag alone, before which all was thinking.

The limit: a closing tag alone comes after the thinking, so a streamed reply must be held back until it can no longer
come. For a model that may think that is HOLD characters, for one that always does the whole reply, for one that never
does nothing. Should it come later still, the reply is given up with ThoughtAloud, so that thinking is never stored as
an answer, and whoever asks again should hold back everything. Thinking without any tag is not known as such, unless
the model is known to think so and its reply was cut for length.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from persona.errors import ThoughtAloud
from persona.records import Delta, Usage

HOLD = 200
NO_THINKING = "<think></think>"  # stands for thinking that the server keeps apart: none is in the text, then

_TAG = re.compile(r"</?think>")
_PART = re.compile(r"</?(t(h(i(nk?)?)?)?)?$")  # how a tag can begin at the end of a piece
_ALWAYS = re.compile(r"thinking|qwq|deepseek-r1|\br1\b|reasoner|reasoning|magistral", re.IGNORECASE)
_ANYWAY = re.compile(rf"{_ALWAYS.pattern}|gpt-oss", re.IGNORECASE)  # though it is told not to
_THOUGHT = 1024  # tokens; a guess: no such model was at hand
_NEVER = re.compile(r"qwen-?(1|2)|llama|gemma-?[123]?\b|mistral|mixtral|\bphi-?[34]\b|smollm-?2", re.IGNORECASE)


def hold_for(model: str) -> int | None:
    """How many characters of this model's replies to hold back, by its name; None for the whole reply."""
    if _ALWAYS.search(model):
        return None
    return 0 if _NEVER.search(model) else HOLD


def room_for(model: str, tokens: int) -> int:
    """What a reply of so many tokens may come to with this model's thinking, which counts as well."""
    return tokens + (_THOUGHT if _ANYWAY.search(model) else 0)


def without_thinking(deltas: Iterable[Delta], hold: int | None, *, unopened: bool = False) -> Iterator[Delta]:
    """The same reply without thinking; the last Delta has usage and finish. Raises ThoughtAloud.

    `unopened` is of a model that begins with thinking which no tag opens: of a reply cut before the closing one nothing
    is left.
    """
    thinking = ThinkingFilter(hold)
    last = Delta(usage=Usage())
    for delta in deltas:
        text = thinking.feed(delta.text)
        if text:
            yield Delta(text)
        last = Delta(usage=delta.usage or last.usage, finish=delta.finish or last.finish)
    rest = thinking.end()
    if unopened and last.finish == "length" and not thinking.closed:
        rest = ""
    yield Delta(rest, last.usage, last.finish or "stop")


class ThinkingFilter:
    """One reply's filter: `feed` returns what can be passed on, `end` the rest. White space in front is dropped."""

    def __init__(self, hold: int | None) -> None:
        self.closed = False  # whether a closing tag came
        self._hold = hold
        self._raw = ""  # may be the beginning of a tag
        self._held = ""  # text that would be thinking if a closing tag came
        self._inside = False
        self._shown = False

    def feed(self, piece: str) -> str:
        """What of the reply so far can be passed on and was not yet. Raises ThoughtAloud."""
        self._raw += piece
        out = ""
        while tag := _TAG.search(self._raw):
            before, self._raw = self._raw[: tag.start()], self._raw[tag.end() :]
            out += self._text(before)
            self._turn(closing=tag[0] == "</think>")
        part = _PART.search(self._raw)
        cut = part.start() if part else len(self._raw)
        before, self._raw = self._raw[:cut], self._raw[cut:]
        return out + self._text(before)

    def end(self) -> str:
        """The rest of the reply."""
        rest = self._held if self._inside else self._held + self._raw
        self._raw = self._held = ""
        return rest if self._shown else rest.lstrip()

    def _text(self, text: str) -> str:
        if self._inside:
            return ""
        self._held += text
        if not self._shown:
            self._held = self._held.lstrip()
        if self._hold is None or not self._held or (not self._shown and len(self._held) <= self._hold):
            return ""
        text, self._held, self._shown = self._held, "", True
        return text

    def _turn(self, *, closing: bool) -> None:
        if closing and not self._inside:
            if self._shown:
                raise ThoughtAloud("The model showed its thinking as if it were the answer. Ask again.")
            self._held = ""
        self.closed = self.closed or closing
        self._inside = not closing
