"""The model calls of a turn: render, fit, ask, parse, check.

Each gives a checked value, or None when the model's reply was of no use, and the ModelCall as it happened. Replies are
untrusted: constrained by a schema where the server can, parsed by `persona.replies`, asked again at most once.
Knows nothing of the order in which the steps are taken.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from typing import Any, TypeVar, cast

from persona.budget import check, dropped, estimate, fill, fitting
from persona.errors import ModelError, ModelGarbled, ThoughtAloud
from persona.ports import ChatModel
from persona.prompts import Prompt
from persona.records import PATH_SEPARATOR, ChatRequest, Chunk, Delta, Message, ModelCall, Step, Turn, Usage
from persona.replies import AnswerStream, choice, json_object, score
from persona.rewrites import check_rewrite
from persona.stopping import Stoppable, Stopped
from persona.text import bare_title
from persona.told import asked_in, conversation, language_name, passage

VARIABLES: Mapping[Step, frozenset[str]] = {
    "rewrite": frozenset({"name", "conversation", "question"}),
    "categorize": frozenset({"name", "sections", "question"}),
    "rank": frozenset({"name", "passages", "question"}),
    "answer": frozenset({"name", "evidence", "question", "language"}),
}
ANSWER_TOKENS = 160
_LONGEST = 20 * ANSWER_TOKENS  # characters of an answer
_WARMER = 0.4
REWRITE_TOKENS, _CHOICE_TOKENS = 120, 16
RANK_FROM = 5  # of 10
_REMEMBERED = 6  # turns that the rewriter sees
_STOP = ("\nQuestion:", "\nPassages", "\nInterviewer:")

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Rewrite:
    """A question made to stand alone, and the ids of the earlier turns that it leans on."""

    question: str
    turns: tuple[str, ...]


@dataclass
class Reply:
    """An answer as it comes: filled while its stream is read."""

    call: ModelCall | None = None
    found: bool = False
    text: str = ""
    cut: bool = False
    dropped: tuple[str, ...] = ()


class Steps:
    """The four calls, over one answering and one rewriting model, which may be the same."""

    def __init__(
        self,
        model: ChatModel,
        rewrite_model: ChatModel,
        prompts: Mapping[Step, Prompt],
        broken_off: Callable[[ModelCall], None] = lambda _: None,
        warmth: float = 0.0,
    ) -> None:
        """`broken_off` is given each call that ended in an error before that is raised; but `answer` has it in its Reply.

        `warmth` is the temperature of answers.
        """
        self.model, self._rewrite_model, self._prompts = model, rewrite_model, prompts
        self._broken_off, self._warmth = broken_off, warmth

    def for_turn(
        self, cancelled: Callable[[], bool] | None, broken_off: Callable[[ModelCall], None], warmth: float
    ) -> Steps:
        """The same steps, whose calls raise Stopped as soon as the turn is cancelled."""
        model, rewrite_model = self.model, self._rewrite_model
        if cancelled is not None:
            model, rewrite_model = Stoppable(model, cancelled), Stoppable(rewrite_model, cancelled)
        return Steps(model, rewrite_model, self._prompts, broken_off, warmth)

    def rewrite(self, title: str, past: Sequence[Turn], question: str) -> tuple[Rewrite | None, ModelCall]:
        """The question in the third person, naming the persona; None when the reply fails a check."""
        most = min(len(past), _REMEMBERED)

        def filled(count: int) -> dict[str, str]:
            told = conversation(bare_title(title), past[len(past) - count :])
            return {"name": bare_title(title), "conversation": told, "question": question}

        count = fitting(self._prompts["rewrite"], self._rewrite_model.context_window - REWRITE_TOKENS, filled, most)
        recent, values = past[len(past) - count :], filled(count)
        schema = {
            "type": "object",
            "properties": {
                "question": {"type": "string", "maxLength": 400},
                "turns": {
                    "type": "array",
                    "items": {"type": "integer", "minimum": 1, "maximum": len(recent)},
                    "maxItems": 3,
                },
            },
            "required": ["question", "turns"],
        }

        def parse(text: str) -> Rewrite | None:
            value = json_object(text)
            rewritten = check_rewrite(value.get("question"), question, values["conversation"], title) if value else None
            if value is None or rewritten is None:
                return None
            named = [n for n in _list(value.get("turns")) if type(n) is int and 0 < n <= len(recent)]
            return Rewrite(rewritten, tuple(dict.fromkeys(recent[n - 1].id for n in named)))

        # a rewrite that fails its check is not asked again: the question as asked is at hand
        found, call = self._ask(
            "rewrite", self._rewrite_model, values, schema, REWRITE_TOKENS, parse, again=lambda t: not json_object(t)
        )
        return found, replace(call, dropped=dropped("turn", "the rewriting", count, most))

    def categorize(
        self, title: str, sections: Sequence[tuple[str, ...]], question: str
    ) -> tuple[tuple[str, ...] | None, ModelCall]:
        """The section that should hold the answer; None for none."""

        def filled(count: int) -> dict[str, str]:
            lines = (f"{n}. {PATH_SEPARATOR.join(path)}" for n, path in enumerate(sections[:count], 1))
            return {"name": bare_title(title), "sections": "\n".join(lines), "question": question}

        most = len(sections)
        sections = sections[
            : fitting(self._prompts["categorize"], self.model.context_window - _CHOICE_TOKENS, filled, most)
        ]
        schema = {
            "type": "object",
            "properties": {"section": {"type": "integer", "minimum": 0, "maximum": len(sections)}},
            "required": ["section"],
        }

        def parse(text: str) -> int | None:
            return choice(text, len(sections))

        number, call = self._ask("categorize", self.model, filled(most), schema, _CHOICE_TOKENS, parse)
        call = replace(call, dropped=dropped("section", "the choice", len(sections), most))
        return (sections[number - 1] if number else None), call

    def rank(self, title: str, chunks: Sequence[Chunk], question: str) -> tuple[dict[str, int], ModelCall]:
        """Scores from 0 to 10 by chunk id, all in one call; a chunk without a readable score is left out and named there."""

        def filled(count: int) -> dict[str, str]:
            lines = (f"[{n}] {passage(chunk)}" for n, chunk in enumerate(chunks[:count], 1))
            return {"name": bare_title(title), "passages": "\n".join(lines), "question": question}

        most = len(chunks)
        chunks = chunks[: fitting(self._prompts["rank"], self.model.context_window - 8 * most - 16, filled, most)]
        one = {"type": "integer", "minimum": 0, "maximum": 10}
        names = [str(n) for n in range(1, len(chunks) + 1)]
        schema = {"type": "object", "properties": dict.fromkeys(names, one), "required": names}

        def parse(text: str) -> dict[str, int] | None:
            return _scores(text, chunks)

        scores, call = self._ask("rank", self.model, filled(most), schema, 8 * most + 16, parse)
        unread = [str(n) for n, chunk in enumerate(chunks, 1) if scores and chunk.id not in scores]
        error = f"no readable score: {', '.join(unread)}" if unread else call.error
        return scores or {}, replace(call, error=error, dropped=dropped("passage", "the ranking", len(chunks), most))

    def answer(
        self,
        title: str,
        language: str,
        passages: Sequence[str],
        question: str,
        reply: Reply,
        further: Sequence[Message] = (),
    ) -> Generator[str, None, None]:
        """The answer's text as it may be shown; `reply` is complete once the iterator has ended or was closed.

        `further` is what was said after the question.
        """
        prompt = self._prompts["answer"]
        values = {
            "name": bare_title(title),
            "question": asked_in(question, language),
            "language": language_name(language),
        }
        most, tokens = len(passages), self.model.context_window - ANSWER_TOKENS - estimate(further)

        def filled(count: int) -> dict[str, str]:
            return values | {"evidence": "\n\n".join(passages[:count])}

        count = fitting(prompt, tokens, filled, most)
        messages = fill(prompt, filled(count))
        check(messages, tokens, "answer")
        messages = (*messages, *further)
        reply.dropped = tuple(f"passage {n} did not fit the context" for n in range(count + 1, most + 1))
        for attempt in (1, 2):  # an empty reply is asked for once more
            yield from self._stream(prompt, messages, reply, attempt)
            if reply.call and reply.call.reply.strip():
                return
        raise ModelGarbled("The model gave an empty reply twice. Ask again, or choose another model (PERSONA_MODEL).")

    def warm(self, title: str, language: str, lead: Sequence[str]) -> None:
        """Have the server load its model and read the front that all answers on this page share.

        One token is asked for and thrown away; what was read stays in the server's prompt cache.
        """
        evidence = "\n\n".join(lead)
        values = {"name": bare_title(title), "question": "", "language": language_name(language), "evidence": evidence}
        messages = fill(self._prompts["answer"], values)
        if estimate(messages) <= self.model.context_window - ANSWER_TOKENS:
            _drain(self.model.chat(ChatRequest(messages, 1)))

    def _stream(self, prompt: Prompt, messages: tuple[Message, ...], reply: Reply, attempt: int) -> Iterator[str]:
        began = time.monotonic()
        # the second time a little warmer, since the same words at no heat give the same reply
        heat = self._warmth if attempt == 1 else max(self._warmth, _WARMER)
        request = ChatRequest(messages, ANSWER_TOKENS, stop=_STOP, stream=True, temperature=heat)
        usage, cut, failed = Usage(), False, ""
        with closing(cast("Generator[Delta, None, None]", self.model.chat(request))) as deltas:

            def pieces() -> Iterator[str]:
                nonlocal usage, cut
                came = 0
                for delta in deltas:
                    usage, cut = delta.usage or usage, cut or delta.finish == "length"
                    yield delta.text
                    came += len(delta.text)
                    if came > _LONGEST:  # a server that knows no end
                        cut = True
                        return

            stream = AnswerStream(pieces())
            try:
                yield from stream
            except (ModelError, Stopped) as error:
                failed = str(error)
                if isinstance(error, ThoughtAloud):
                    stream.reply = ""  # thinking is kept nowhere
                raise
            finally:
                reply.found, reply.text, reply.cut = stream.found, stream.text, cut
                call = _call("answer", self.model, prompt, messages, stream.reply, usage, began, attempt)
                reply.call = replace(call, error=failed, temperature=heat)

    def _ask(
        self,
        step: Step,
        model: ChatModel,
        values: Mapping[str, str],
        schema: Mapping[str, Any],
        max_tokens: int,
        parse: Callable[[str], T | None],
        again: Callable[[str], bool] = lambda _: True,
    ) -> tuple[T | None, ModelCall]:
        """One constrained call, and one more if the reply cannot be read."""
        prompt = self._prompts[step]
        messages = fill(prompt, values)
        check(messages, model.context_window - max_tokens, step)
        began = time.monotonic()
        tries, text, usage = 0, "", Usage()
        value: T | None = None

        def call(error: str) -> ModelCall:
            return replace(_call(step, model, prompt, messages, text, usage, began, tries), error=error)

        while tries < 2 and value is None and (tries == 0 or again(text)):
            tries += 1
            request = ChatRequest(messages, max_tokens, schema, temperature=0.0 if tries == 1 else _WARMER)
            try:
                text, used = _drain(model.chat(request))
            except (ModelError, Stopped) as trouble:
                self._broken_off(call(str(trouble)))
                raise
            usage = _sum(usage, used)
            value = parse(text)
        return value, call("" if value is not None else "the reply could not be used")


def _drain(deltas: Iterator[Delta]) -> tuple[str, Usage]:
    text, usage = "", Usage()
    for delta in deltas:
        text, usage = text + delta.text, delta.usage or usage
    return text, usage


def _sum(one: Usage, other: Usage) -> Usage:
    return Usage(
        one.prompt_tokens + other.prompt_tokens,
        one.output_tokens + other.output_tokens,
        one.cached_tokens + other.cached_tokens,
    )


def _call(
    step: Step,
    model: ChatModel,
    prompt: Prompt,
    messages: tuple[Message, ...],
    text: str,
    usage: Usage,
    began: float,
    tries: int,
) -> ModelCall:
    return ModelCall(
        step=step,
        model=model.name,
        prompt=prompt.sha,
        messages=messages,
        reply=text,
        prompt_tokens=usage.prompt_tokens,
        output_tokens=usage.output_tokens,
        cached_tokens=usage.cached_tokens,
        seconds=time.monotonic() - began,
        tries=tries,
    )


def _scores(text: str, chunks: Sequence[Chunk]) -> dict[str, int] | None:
    """By chunk id, from an object {"1": 8, …} or lines "1: 8"; None when there is not one."""
    value = json_object(text)
    pairs = value.items() if value else re.findall(r"^\W*(\d+)\W*[:=]\s*(.+)$", text, re.MULTILINE)
    read = {str(key).strip(" []"): score(given) for key, given in pairs}
    found = {chunk.id: read[str(n)] for n, chunk in enumerate(chunks, 1) if read.get(str(n)) is not None}
    return cast("dict[str, int]", found) or None


def _list(value: object) -> list[object]:
    return value if isinstance(value, list) else []
