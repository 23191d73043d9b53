"""Abbreviations that a page spells out, as in "alternating current (AC)". Pure.

A question's "AC" is searched as what it stands for too: the passage that explains it need not use it elsewhere.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

_SPELLED = re.compile(r"((?:[^\W\d_][\w'’]*[ -]){1,8})\(([^\W\d_]{2,7})\)")
_SKIPPED = frozenset({"a", "an", "and", "for", "in", "of", "on", "the", "to"})  # words that abbreviations pass over


def abbreviations(texts: Iterable[str]) -> dict[str, str]:
    """By abbreviation, the words in front of the brackets whose first letters it is made of."""
    found: dict[str, str] = {}
    for text in texts:
        for before, short in _SPELLED.findall(text):
            if short.isupper() and (long := _long(before, short)):
                found.setdefault(short, long)
    return found


def spelled_out(question: str, known: Mapping[str, str]) -> str:
    """The question with its abbreviations told in words after them."""
    return re.sub(r"\b[^\W\d_]{2,7}\b", lambda m: f"{m[0]} ({known[m[0]]})" if m[0] in known else m[0], question)


def _long(before: str, short: str) -> str:
    """The shortest run of words at the end whose first letters, small words counted or not, are those of `short`."""
    starts = [found.start() for found in re.finditer(r"[\w'’]+", before)]
    for start in reversed(starts):
        words = re.findall(r"[\w'’]+", before[start:])
        told = [word for word in words if word not in _SKIPPED]
        if short in {_initials(words), _initials(told)} and words[0] not in _SKIPPED:
            return before[start:].strip()
    return ""


def _initials(words: Iterable[str]) -> str:
    return "".join(word[0] for word in words).upper()
