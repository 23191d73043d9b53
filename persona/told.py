"""How a conversation, a passage and a language are told to a model. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from persona.records import INTRODUCTION, PATH_SEPARATOR, Chunk, Evidence, Turn
from persona.text import base_language

_ANSWER_SEEN = 300  # characters of each answer that the rewriter sees
_PASSAGE_SEEN = 320  # characters of each passage that the ranking sees
_LANGUAGES = {
    "en": "English", "de": "German", "fr": "French", "es": "Spanish", "zh": "Chinese", "ja": "Japanese",
    "it": "Italian", "pt": "Portuguese", "nl": "Dutch", "ru": "Russian", "pl": "Polish", "sv": "Swedish", "ko": "Korean",
    "ar": "Arabic", "cs": "Czech", "tr": "Turkish", "uk": "Ukrainian", "fi": "Finnish", "da": "Danish", "no": "Norwegian",
}  # fmt: skip


def conversation(title: str, turns: Sequence[Turn]) -> str:
    """Numbered turns as the rewriter reads them; answers shortened, refusals as such."""
    lines: list[str] = []
    for n, turn in enumerate(turns, 1):
        lines.append(f"{n}. Interviewer: {_on_one_line(turn.question.asked)}")
        if turn.answer and turn.answer.text:
            lines.append(f"   {title}: {_on_one_line(_cut(turn.answer.text, _ANSWER_SEEN))}")
    return "\n".join(lines)


def language_name(code: str) -> str:
    """What the prompt calls a language."""
    return _LANGUAGES.get(base_language(code), f"the language with the code “{code}”")


def asked_in(question: str, code: str) -> str:
    """The question as it is put. A small model answers a German one in English at times, as the prompt's examples do."""
    return question if base_language(code) == "en" else f"{question} (Answer in {language_name(code)}.)"


def passage(chunk: Chunk) -> str:
    """A passage as the ranking sees it."""
    return _on_one_line(f"{PATH_SEPARATOR.join(chunk.path[-1:])}: {_cut(chunk.text, _PASSAGE_SEEN)}")


def as_sent(evidence: Sequence[Evidence]) -> list[str]:
    """The passages for an answer; of several each under its headings, as those may be all that tells of whom or when it speaks."""
    chunks = [item.chunk for item in evidence]
    if len(chunks) == 1:
        return [chunks[0].text]
    return [c.text if c.path == (INTRODUCTION,) else f"{PATH_SEPARATOR.join(c.path)}:\n{c.text}" for c in chunks]


def recalled(number: int, turn: Turn, title: str) -> str:
    """A turn as what an answer on the conversation is drawn from."""
    said = f"{number}. The interviewer said: {turn.question.asked}"
    return f"{said}\n{title} answered: {turn.answer.text}" if turn.answer else said


def _on_one_line(text: str) -> str:
    """Where each line is an item of its own, none can hold another."""
    return " ".join(text.split())


def _cut(text: str, length: int) -> str:
    return text if len(text) <= length else text[:length].rsplit(" ", 1)[0] + " …"
