"""Questions to begin with, made from the page's headings without any model. Pure."""

from __future__ import annotations

from persona.records import INTRODUCTION, Build
from persona.text import base_language

_WHO = {
    "de": "Wer sind Sie?",
    "fr": "Qui êtes-vous ?",
    "es": "¿Quién es usted?",
    "zh": "你是谁？",
}
_ABOUT = {
    "de": "Was können Sie mir über „{heading}“ erzählen?",
    "fr": "Que pouvez-vous me dire de « {heading} » ?",
    "es": "¿Qué me puede contar sobre «{heading}»?",
    "zh": "能谈谈“{heading}”吗？",
}
_LONGEST = 60  # characters of a heading that still reads well on a button


def suggestions(build: Build, language: str, many: int = 3) -> list[str]:
    """Who the persona is, then questions on headings spread over the page; in English where we lack the language."""
    base = base_language(language)
    about = _ABOUT.get(base, "What can you tell me about “{heading}”?")
    return [
        _WHO.get(base, "Who are you?"),
        *(about.replace("{heading}", h) for h in _spread(_headings(build), many - 1)),
    ]


def _headings(build: Build) -> list[str]:
    """The top headings, each once."""
    tops = dict.fromkeys(path[0] for path in build.sections)
    return [heading for heading in tops if heading != INTRODUCTION and len(heading) <= _LONGEST]


def _spread(headings: list[str], many: int) -> list[str]:
    """The first of each of so many equal parts of the list."""
    if len(headings) <= many:
        return headings
    return [headings[number * len(headings) // many] for number in range(many)]
