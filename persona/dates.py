"""Dates as a search looks for them: a lead's in words, and the year that a passage takes from the one before. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence

from persona.records import INTRODUCTION, Chunk
from persona.text import base_language

_DATE = r"(?:c\. ?)?(?:\d{1,2} [A-Z][a-z]+ \d{1,4}|[A-Z][a-z]+ \d{1,2}, \d{1,4}|\d{1,4})(?: (?:BC|AD|BCE|CE))?"
_TOLD = {  # where it stands in a lead, in English in its first brackets, and how it is told
    "en": (rf"\A(?P<name>[^()]*)\((?P<before>[^()]*?)(?P<born>{_DATE})(?P<between>[^()]{{0,80}}?) ?[–—-] ?(?P<died>{_DATE})", r"\g<name>(\g<before>born \g<born>\g<between>, died \g<died>"),
    "de": (r"\* ?(?P<born>[^()†]+?);? ?† ?", r"geboren \g<born>; gestorben "),
}  # fmt: skip
_YEAR = re.compile(r"\b(1\d{3}|20\d{2})\b")
_SAME_YEAR = {  # how a sentence points at the year told last
    "en": r"\b(?:that|(?:the|this|that) same) year\b",
    "de": r"\b(?:in diesem|im (?:selben|gleichen)) Jahr\b",
    "fr": r"\b(?:cette|la même) année\b",
    "es": r"\b(?:ese|(?:el|ese) mismo) año\b",
}


def searched_texts(chunks: Sequence[Chunk], language: str) -> list[str]:
    """The chunks' texts, in the page's order, as they are searched; what is shown stays as the page has it.

    In a lead, "(1 May 1850 – 2 June 1900)" says who was born and died then; a passage that begins before any year is
    told with "that year" names the year that stood last in its section.
    """
    texts: list[str] = []
    section: tuple[str, ...] = ()
    year = ""
    for chunk in chunks:
        year = year if chunk.path == section else ""
        texts.append(_with_year(_with_life_dates(chunk, language), year, language))
        section, year = chunk.path, next(reversed(_YEAR.findall(chunk.text)), year)
    return texts


def _with_life_dates(chunk: Chunk, language: str) -> str:
    found = _TOLD.get(base_language(language))
    begins = chunk.path == (INTRODUCTION,) and chunk.position == 0
    return re.sub(*found, chunk.text, count=1) if found and begins else chunk.text


def _with_year(text: str, year: str, language: str) -> str:
    pointing = _SAME_YEAR.get(base_language(language))
    found = re.search(pointing, text, re.IGNORECASE) if pointing and year else None
    if found is None or _YEAR.search(text, 0, found.start()):
        return text
    return f"{text[: found.end()]} ({year}){text[found.end() :]}"
