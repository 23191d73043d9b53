"""Whether a model's rewrite can be the question that was asked. Pure.

Small models answer instead, repeat an earlier question, or add what nobody said. Such a rewrite is thrown away and the
question is used as it was asked.
"""

from __future__ import annotations

import re

from persona.text import content_words, only_function_words, unaccented

_NAME_OR_NUMBER = re.compile(r"\b(?:\d[\d,.]*\d|\d|[A-ZÀ-Þ][\w'’-]*)")
_NAME = re.compile(r"[A-ZÀ-Þ][\w'’-]*(?: [A-ZÀ-Þ][\w'’-]*)*")
_OPENING = re.compile(
    r"(?:Was|Were|Did|Do|Does|Is|Are|Has|Had|Who|What|When|Where|How|Why|Which|The|In|On|At|And|But|For|With|From) "
)
_POINTED_AT = re.compile(r"\b(?:that|this|those|these|such) (\w+)", re.IGNORECASE)
_POINTING = frozenset(  # words that a rewrite replaces by what they point to
    """last first second third one two other anoth next latter former time thing els happen mean go come continu elabor explain
    exampl detail exact""".split()  # noqa: SIM905
)
_REMARKS = frozenset({"ah", "interest", "oh", "ok", "okay", "sorri", "thank", "wow"})  # that ask nothing
# German writes "you" with a capital
_FORMAL = frozenset({"sie", "ihnen", "ihr", "ihre", "ihrem", "ihren", "ihrer", "ihres"})


def check_rewrite(value: object, asked: str, seen: str, title: str) -> str | None:
    """The rewrite if it can be the question asked: one line, a question, not too long, nothing invented or lost."""
    if not isinstance(value, str) or not value.strip() or len(value.strip().splitlines()) > 1:
        return None
    text = _without_appositions(value.strip(), asked)
    if len(text) > 3 * len(asked) + 160 or not _still_asks(text, asked):
        return None
    known, kept = plain_words(f"{asked} {seen} {title}"), plain_words(text)
    invented = {name for name in names_and_numbers(text, title) - known if name.removesuffix("s") not in known}
    questions = _questions(asked)
    lost = {name for part in questions for name in names_and_numbers(part, title)} - kept - _FORMAL
    if invented or lost or not _shares_a_word(text, " ".join(questions)):
        return None
    return _with_full_names(text, asked, f"{seen}\n{title}")


def _questions(asked: str) -> list[str]:
    """What is asked, sentence by sentence, without the remarks around it; what is all in capitals has no names."""
    parts = re.split(r"(?<=[.!?。！？])\s*", asked.lower() if asked.isupper() else asked)
    return [part for part in parts if part.endswith(("?", "？"))] or parts


def _shares_a_word(text: str, asked: str) -> bool:
    """Whether the rewrite has one of the question's words, if any of them tells what it is about."""
    pointed = " ".join(_POINTED_AT.findall(asked))  # "that song" may become the song's name
    told = content_words(asked, "en")
    if told and len(told) == len(asked.split()) and _REMARKS.issuperset(told):
        return False
    words = set(told) - _POINTING - _REMARKS - set(content_words(pointed, "en"))
    return not words or not words.isdisjoint(content_words(text, "en")) or only_function_words(asked)


def _with_full_names(text: str, asked: str, seen: str) -> str:
    """The rewrite with the whole of a name that it gives by its last word alone, if the conversation has just one."""
    given = plain_words(asked)

    def whole(found: re.Match[str]) -> str:
        name = re.sub(r"['’]s$", "", found[0])
        if " " in found[0] or found.start() == 0 or plain_words(name) <= given:
            return found[0]
        longer = {each for each in _NAME.findall(seen) if each.endswith(f" {name}") and not _OPENING.match(each)}
        return f"{longer.pop()}{found[0].removeprefix(name)}" if len(longer) == 1 else found[0]

    return _NAME.sub(whole, text)


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
