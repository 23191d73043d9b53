"""A lead's dates of birth and death in words, so that a search for "born" or "died" finds them. Pure."""

from __future__ import annotations

import re

from persona.records import INTRODUCTION, Chunk
from persona.text import base_language

_DATE = r"(?:c\. ?)?(?:\d{1,2} [A-Z][a-z]+ \d{1,4}|[A-Z][a-z]+ \d{1,2}, \d{1,4}|\d{1,4})(?: (?:BC|AD|BCE|CE))?"
_TOLD = {  # where it stands in a lead, and how it is told
    "en": (rf"\((?P<before>[^()]*?)(?P<born>{_DATE})(?P<between>[^()]{{0,80}}?) ?[–—-] ?(?P<died>{_DATE})", r"(\g<before>born \g<born>\g<between>, died \g<died>"),
    "de": (r"\* ?(?P<born>[^()†]+?);? ?† ?", r"geboren \g<born>; gestorben "),
}  # fmt: skip


def with_life_dates(chunk: Chunk, language: str) -> str:
    """The chunk's text for searching: in a lead "(1 May 1850 – 2 June 1900)" says who was born and died then."""
    found = _TOLD.get(base_language(language))
    return re.sub(*found, chunk.text, count=1) if found and chunk.path == (INTRODUCTION,) else chunk.text
