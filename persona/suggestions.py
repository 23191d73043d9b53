"""Questions to begin with, made from a page's own headings and names without any model. Pure.

In English a heading becomes what a person would ask about it; in other languages it is quoted.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from persona.records import INTRODUCTION, Chunk
from persona.text import base_language, content_words

MANY = 5
_WHO = {"de": "Wer sind Sie?", "fr": "Qui êtes-vous ?", "es": "¿Quién es usted?", "zh": "你是谁？"}
_ABOUT = {
    "de": "Was können Sie mir über „{heading}“ erzählen?",
    "fr": "Que pouvez-vous me dire de « {heading} » ?",
    "es": "¿Qué me puede contar sobre «{heading}»?",
    "zh": "能谈谈“{heading}”吗？",
}
_WHOLE = {  # what a whole heading is asked as
    r"early life|childhood|youth|upbringing|early life and (education|career|family)": "What was your childhood like?",
    r"(family|family and youth|parents|ancestry|family tree|(early life and )?family background|background)": "Tell me about your family.",
    r"education|schooling|school years|studies|university": "Tell me about your education.",
    r"marriages?|marriage and (family|children)|family and marriage": "Tell me about your marriage.",
    r"(romantic interests|relationships|romances|love life)": "Tell me about your relationships.",
    r"(personal|private) life": "What was your personal life like?",
    r"death|(illness|final illness) and death|death and (legacy|funeral|burial)|assassination": "How did you die?",
    r"(later|last|final) (life|years|days)|retirement|old age": "How did you spend your later years?",
    r"career|professional life": "How did your career go?",
    r"(military|war) (service|career)": "Tell me about your military service.",
    r"(political|religious|personal|philosophical)? ?(views|beliefs|opinions)|religion|philosophy|beliefs and views": "What are your views and beliefs?",
    r"politics|political career": "What did you do in politics?",
    r"(awards|honou?rs|recognition|prizes)( and (awards|honou?rs|recognition|prizes|nominations))?": "What awards and honors did you receive?",
    r"legacy|(influence|legacy) and (legacy|influence)|cultural (impact|legacy)( and legacy)?|influence": "What is your legacy?",
    r"inventions?": "What did you invent?",
    r"discover(y|ies)": "What did you discover?",
    r"travels|expeditions|voyages|journeys": "Where did your travels take you?",
    r"(concept and )?creation|concept|conception|creation and development": "How were you created?",
    r"(powers and )?abilities|powers|skills( and training| and abilities)?|abilities and equipment": "What are your skills and abilities?",
    r"(technology|equipment|weapons)( and \w+)?": "What equipment and technology do you use?",
    r"allies|friends|friends and allies": "Who are your allies?",
    r"enemies|villains|opponents|rivals": "Who are your enemies?",
    r"(characterization|personality|character)( and \w+)?": "What is your personality like?",
    r"reception|critical reception|criticism|controvers(y|ies)": "How did critics receive you?",
}  # fmt: skip
_BEGUN = (  # how a heading begins, and what is asked of the rest
    (r"Meeting (?P<rest>.+)", "How did you meet {rest}?"),
    (r"Discovery of (?P<rest>.+)", "Tell me about your discovery of {rest}."),
    (r"(?P<rest>[A-Z].+) \((?:18|19|20)\d\d\)", "What happened to you in {rest}?"),
    (r"(?P<rest>(?:First|Second) World War)", "What did you do in the {rest}?"),
    (r"(?P<rest>World War I{1,2})", "What did you do in {rest}?"),
    (r"\D{0,30}(?P<rest>\d{4}) ?[–-] ?(?P<last>\d{4})\D{0,30}", "What did you do between {rest} and {last}?"),
)
_YOURS = re.compile(
    r"""\b(?:life|years|days|time|childhood|youth|family|marriage|education|schooling|studies|career|work|works|service|exile
      |travels|death|illness|friends|friendship|enemies|opponents|home|house|method|methods|theory|theories|research|inventions
      |discovery|discoveries|experiments|trial|imprisonment|arrest|escape|return|retirement|writings|music|relationship|rivalry
      |training|role|cases|journey|campaigns?|reign|presidency|reforms?|faith|conversion)\b""",
    re.IGNORECASE | re.VERBOSE,
)
_NOTHING_SAID = re.compile(r"(?:part|chapter|section|volume|season|\d+)\W*[\divxlc]*s?", re.IGNORECASE)
_WORK = re.compile(  # where a character appears, which it does not know
    r"others?|miscellaneous|(?:video|role-playing|computer) games?|(?:comic )?books?|novels?|literature|comics?|television(?: series)?|films?|animation|toys"
    r"|(?:in )?(?:other|popular) (?:media|culture)|appearances|legends|fine art|publication history|(?:original|prequel|sequel) trilogy",
    re.IGNORECASE,
)
_PLAIN = "plain"
_LONGEST = 60  # characters of a heading that still reads well on a button
_NAME = re.compile(r"(\w+[,.;:]? )?\b([A-Z][\w'’-]+(?: (?:[A-Z]\.|[A-Z][\w'’-]+))+)(?=(['’]s)?)")
_PLACED = frozenset(
    ["in", "at", "from", "near", "to", "into", "of", "on", "the", "through", "around", "a", "an", "this"]
)  # what stands before a place
_MENTIONS = 3  # of a name that the page has much to do with


def suggestions(chunks: Sequence[Chunk], title: str, language: str) -> list[str]:
    """Who the persona is, then questions on headings spread over the page, and on a name that the page often speaks of."""
    base = base_language(language)
    first = _WHO.get(base, "Who are you?")
    paths = list(dict.fromkeys(chunk.path for chunk in chunks if chunk.path != (INTRODUCTION,)))
    if base != "en":
        about = _ABOUT.get(base, "What can you tell me about “{heading}”?")
        tops = [heading for heading in dict.fromkeys(path[0] for path in paths) if _says_something(heading)]
        return [first, *(about.replace("{heading}", heading) for heading in _spread(tops, MANY - 2))]
    text = " ".join(chunk.text for chunk in chunks)
    asked = _asked(paths, text)
    names = list(_often_named(chunks, title, text))
    on_names = [f"What did you have to do with {name}?" for name in names[: max(1, MANY - 1 - len(asked))]]
    return [first, *_spread(asked, MANY - 1 - len(on_names)), *on_names]


def _asked(paths: Iterable[tuple[str, ...]], text: str) -> list[str]:
    """What one would ask about the headings, no two alike but for a name; plain ones only where there is little else."""
    made = [made for path in paths if (made := _question(path[-1], text))]
    told = {shape: question for shape, question in reversed(made) if shape != _PLAIN}
    good = [question for shape, question in made if told.get(shape) == question]
    rest = [question for shape, question in made if shape == _PLAIN]
    return list(dict.fromkeys(good)) if len(good) > 2 else list(dict.fromkeys([*good, *rest]))


def _says_something(heading: str) -> bool:
    return len(heading) <= _LONGEST and not _NOTHING_SAID.fullmatch(heading)


def _question(heading: str, text: str) -> tuple[str, str] | None:
    """The shape of what one would ask about a heading, and the question; None where that is hard to say."""
    if not _says_something(heading) or _WORK.fullmatch(heading):
        return None
    for whole, question in _WHOLE.items():
        if re.fullmatch(whole, heading, re.IGNORECASE):
            return question, question
    for begun, question in _BEGUN:
        if found := re.fullmatch(begun, heading):
            return question, question.format(**found.groupdict())
    word, _, rest = heading.partition(" ")
    if word.isupper() or not _stands_small(word, text):
        return None
    named = word != "The" and any(part[:1].isupper() for part in rest.split())
    small = heading if named and not _YOURS.search(heading) else f"{word.lower()} {rest}".strip()
    if _YOURS.search(heading) and word != "The":
        return small, f"Tell me about your {small}."
    return _PLAIN, f"What can you tell me about {small}?"


def _stands_small(word: str, text: str) -> bool:
    """Whether the page also writes it without a capital, as it does no name."""
    return bool(re.search(rf"\b{re.escape(word.lower())}\b", text))


def _often_named(chunks: Iterable[Chunk], title: str, text: str) -> Iterator[str]:
    """People whom the page names most, beside its own: names of two words and more that seldom stand where a place does."""
    own = set(content_words(title, "en"))
    named: Counter[str] = Counter()
    placed: Counter[str] = Counter()
    for chunk in chunks:
        for before, name, _ in _NAME.findall(chunk.text):
            named[name] += 1
            placed[name] += before.strip().lower() in _PLACED
    for name, count in named.most_common(30):
        words = name.split()
        alike = own & set(content_words(name, "en"))
        a_person = placed[name] * 4 <= count and not all(_stands_small(word, text) for word in words)
        if count >= _MENTIONS and a_person and not alike and content_words(words[0], "en"):
            yield name


def _spread(items: Sequence[str], many: int) -> list[str]:
    """The first of each of so many equal parts of the list."""
    if len(items) <= many:
        return list(items)
    return [items[number * len(items) // many] for number in range(many)]
