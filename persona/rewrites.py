"""Whether a model's rewrite can be the question that was asked. Pure.

Small models answer instead, repeat an earlier question, or add what nobody said. Such a rewrite is thrown away and the
question is used as it was asked.
"""

from __future__ import annotations

import re

from persona.text import content_words, unaccented

_NAME_OR_NUMBER = re.compile(r"\b(?:\d[\d,.]*\d|\d|[A-ZÀ-Þ][\w'’-]*)")
_POINTING = frozenset(  # words that a rewrite replaces by what they point to
    (
        "last",
        "first",
        "second",
        "third",
        "one",
        "two",
        "other",
        "next",
        "latter",
        "former",
        "time",
        "thing",
        "els",
        "happen",
    )
)


def check_rewrite(value: object, asked: str, seen: str, title: str) -> str | None:
    """The rewrite if it can be the question asked: one line, a question, not too long, nothing invented or lost."""
    if not isinstance(value, str) or not value.strip() or len(value.strip().splitlines()) > 1:
        return None
    text = _without_appositions(value.strip(), asked)
    if len(text) > 3 * len(asked) + 160 or not _still_asks(text, asked):
        return None
    known, kept = plain_words(f"{asked} {seen} {title}"), plain_words(text)
    if names_and_numbers(text, title) - known or names_and_numbers(asked, title) - kept:
        return None
    words = set(content_words(asked, "en")) - _POINTING
    return None if words and words.isdisjoint(content_words(text, "en")) else text


def _without_appositions(text: str, asked: str) -> str:
    """The rewrite without what it puts after a name that the question has itself: "Percy, Lord Byron, drown"."""
    for name in re.findall(r"\w (\b[A-ZÀ-Þ][\w'’-]*(?: [A-ZÀ-Þ][\w'’-]*)*)", asked):
        if f"{name}," not in asked:
            text = re.sub(rf"\b({re.escape(name)}), [^,?]+,", r"\1", text)
    return text


def _still_asks(text: str, asked: str) -> bool:
    """Whether it is a question, or an order that begins as the one that was given."""
    begins = re.split(r"\W+", asked.strip(), maxsplit=1)[0].lower()
    return text.endswith(("?", "？")) or (bool(begins) and text.lower().startswith(begins))


def names_and_numbers(text: str, title: str = "") -> set[str]:
    """Words with a capital, the first aside, and numbers, folded; the title's own are no news."""
    found = (word for name in _NAME_OR_NUMBER.findall(text)[_opens_with_capital(text) :] for word in plain_words(name))
    return {word for word in found if word.isdigit() or content_words(word, "en")} - plain_words(title)


def _opens_with_capital(text: str) -> int:
    return int(bool(re.match(r"\W*[A-ZÀ-Þ]", text)))


def plain_words(text: str) -> set[str]:
    """The words of a text, folded, without possessive endings."""
    return set(re.findall(r"\w+", re.sub(r"['’]s?\b", " ", unaccented(text))))
