"""Who a question is put to: "you" for the persona's name, and the name for "you", as a page speaks of them. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

from persona.text import bare_title, base_language, content_words, name_parts

_YOURS = {
    "en": r"your(?:s)?",
    "de": r"[Dd]ein(?:e[mnrs]?)?|Ihr(?:e[mnrs]?)?",
    "fr": r"votre|vos|ton|ta|tes",
    "es": r"tus?|vuestr[oa]s?",
    "nl": r"uw|jouw",
    "sv": r"dina?|ditt|er[at]?",
}

_YOU = {
    "en": r"you(?:rself)?", "de": r"[Dd]u|[Dd]ir|[Dd]ich|Sie|Ihnen", "fr": r"vous|tu|toi", "es": r"tú|usted|ti",
    "nl": r"u|jij|je|jou", "sv": r"du|dig|ni",
}  # fmt: skip

ADDRESSED = {  # other signs that a question is put to the persona: endings of verbs, scripts without blanks
    "es": r"\w{2}[ai]ste(?:is)?\b|\b(?:eres|tienes|has|fuiste)\b", "it": r"\w{2}[aei]sti\b|\b(?:tu|tu[oae]|tuoi|Lei|Su[oae])\b",
    "pt": r"\w{2}[aei]ste\b|\b(?:tu|teus?|tuas?|você|seus?|suas?)\b", "pl": r"\w{2}ł[ea]ś\b|\b(?:ty|tw[oó]j\w*|pana?i?)\b",
    "ru": r"\b(?:ты|вы|вас|вам|вами|тебя|тебе|ваш\w*|тво\w*)\b", "zh": r"你|您|妳", "ja": r"あなた|貴方|貴女|君", "ko": r"당신|너",
}  # fmt: skip

_AGREE = [  # what putting "you" for a name does to the verb in front of it
    (r"\bis you\b", "are you"), (r"\bwas you\b", "were you"), (r"\bdoes you\b", "do you"), (r"\bhas you\b", "have you"),
    (r"\byou is\b", "you are"), (r"\byou was\b", "you were"), (r"\byou has\b", "you have"), (r"\byou does\b", "you do"),
]  # fmt: skip


def with_name(question: str, title: str, language: str = "en") -> str:
    """The question with the persona's name for "you", which is how a page speaks of them."""
    base = base_language(language)
    if base not in _YOU:
        return question
    name = bare_title(title)
    owned = f"{name}'s" if base == "en" else name
    asked = _in_full(question) if base == "en" else question
    text = re.sub(rf"\b(?:{_YOURS[base]})\b", lambda _: owned, asked, flags=_case(base))
    text = re.sub(rf"\b(?:{_YOU[base]})\b", lambda _: name, text, flags=_case(base))
    return re.sub(rf"({re.escape(name)})(?:[ ,]+\1\b)+", r"\1", text)


def with_you(question: str, title: str) -> str:
    """The question with "you" for the persona's name (English): how an interviewer speaks to them."""
    name = bare_title(title)
    # "Will you come?" does not name Will Tarn
    parts = [part for part in name_parts(title) if content_words(part, "en")]
    text = _not_called(_in_full(question), [name, *parts])
    article = "[Tt]he " if name.startswith("The ") else "(?:[Tt]he )?"
    text = _put_you(text, article + re.escape(name.removeprefix("The ")))
    for part in dict.fromkeys([*parts[-1:], *parts[:1]]):
        text = _put_you(text, rf"(?<![Tt]he ){re.escape(part)}")
    for wrong, correct in _AGREE:
        text = re.sub(wrong, correct, text, flags=re.IGNORECASE)
    return text[:1].upper() + text[1:]


def _in_full(question: str) -> str:
    """With "you" for the "u" that is quicker to type."""
    return re.sub(r"(?<![\w.'’-])u(r?)(?![\w.'’-])", lambda found: "your" if found[1] else "you", question)


def _not_called(question: str, names: Sequence[str]) -> str:
    """Without the name by which the persona is called before or after what "you" are asked."""
    if not re.search(r"\byou", question, re.IGNORECASE):
        return question
    called = "|".join(map(re.escape, names))
    begun = r"(?:(?:hello|hi|hey|dear|so|well|now|ok|okay),? )?"
    text = re.sub(rf"^{begun}(?:{called}), ", "", question, flags=re.IGNORECASE)
    return re.sub(rf"(?<=\w), (?:{called})(?=\W*$)", "", text, flags=re.IGNORECASE)


def _put_you(text: str, name: str) -> str:
    """Each mention of the name, a pattern, but not where it is part of somebody else's: Pierre Curie."""

    def put(found: re.Match[str]) -> str:
        before, after = text[: found.start()], text[found.end() :]
        neighbor = re.search(r"([A-ZÀ-Þ][\w'’-]*)\s$", before)
        if (neighbor and content_words(neighbor[1], "en")) or re.match(r"\s[A-ZÀ-Þ]", after):
            return found.group()
        return "your" if found["owned"] else "you"

    return re.sub(rf"(?<![\w'’-])(?:{name})(?P<owned>(?:['’]s|(?<=s)['’])(?!\w))?(?![-\w'’])", put, text)


@lru_cache(maxsize=8)
def _case(base: str) -> re.RegexFlag:
    """German tells "Sie" from "sie" by its capital."""
    return re.NOFLAG if base == "de" else re.IGNORECASE
