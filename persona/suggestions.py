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
    r"early life( .+)?|childhood( .+)?|youth|upbringing": "What was your childhood like?",
    r"(family|family and youth|parents|ancestry|family tree|family background|background)": "Tell me about your family.",
    r"education|schooling|school years|studies|university": "Tell me about your education.",
    r"marriages?( and (family|children))?|family and marriage": "Tell me about your marriage.",
    r"(romantic interests|relationships|romances|love life)": "Tell me about your relationships.",
    r"(personal|private) life": "What was your personal life like?",
    r"death|(illness|final illness) and death|death and (legacy|funeral|burial)|assassination( and .+)?": "How did you die?",
    r"(last|final) (life|years|days)( and death)?": "How did you spend your last years?",
    r"later (life|years)|retirement|old age": "How did you spend your later years?",
    r"career|professional life": "Tell me about your career.",
    r"(military|war) (service|career)": "Tell me about your military service.",
    r"(\w+( and \w+)? )?(views|beliefs|opinions)|religion|philosophy|beliefs and views": "What are your views and beliefs?",
    r"politics|political career": "What did you do in politics?",
    r"(awards|honou?rs|recognition|prizes)( and (awards|honou?rs|recognition|prizes|nominations))?": "What awards and honors did you receive?",
    r"legacy|(influence|legacy) and (legacy|influence)|cultural (impact|legacy)( and legacy)?|influence": "What is your legacy?",
    r"publications|(selected |published )?works|writings": "What have you written?",
    r"health": "How was your health?",
    r"inventions?": "What did you invent?",
    r"discover(y|ies)": "What did you discover?",
    r"travels|expeditions|voyages|journeys": "Where did your travels take you?",
    r"origins?": "Where do you come from?",
    r"(fictional )?(character )?biography": "What is the story of your life?",
    r"(concept and )?creation( and \w+)?|concept|conception": "How were you created?",
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
    (r"(?P<rest>(?:First|Second) World War)", "What did you do in the {rest}?"),
    (r"(?P<rest>World War I{1,2})", "What did you do in {rest}?"),
    (r"\D{0,30}(?P<rest>\d{4}) ?[–-] ?(?P<last>\d{4})\D{0,30}", "What did you do between {rest} and {last}?"),
    (r"On (?P<rest>(?:the )?[A-Z].+)", "What did you do on {rest}?"),
    (r"At (?P<rest>(?:the )?[A-Z].+)", "What did you do at {rest}?"),
    (r"In (?P<rest>(?:the )?[A-Z].+)", "What did you do in {rest}?"),
)
_WHEN = re.compile(r"\d{4}(?:[–-]\d{2,4})?: (?=[A-Z])")  # before what happened then
_IN_A_WORK = re.compile(r"(?P<work>[A-Z].+) \((?:19|20)\d\d\)")
_FICTIONAL = re.compile(r"\bfictional\b", re.IGNORECASE)
_YOURS = re.compile(  # what is somebody's own, as the first noun of a heading
    r"""(?:(?!(?:an?|and|for|in|of|on|the|with)\b)[\w'’-]+[ ]){0,2}
    (?:life|years|days|time|childhood|youth|family|marriage|education|schooling|studies|career|work|works|service|exile
      |travels|death|illness|friends|friendship|enemies|opponents|home|house|method|methods|research|experiments
      |discovery|discoveries|trial|imprisonment|arrest|escape|return|retirement|writings|diary|diaries|letters|notebooks
      |correspondence|music|relationship|rivalry|training|role|cases|journeys?|campaigns?|reign|presidency|reforms?
      |faith|conversion|widowhood|love)
    (?:,?[ ](?:abroad|after|among|and|as|at|before|by|during|for|from|in|of|on|to|under|with)\b[\w\s,.'’–-]*)?""",
    re.IGNORECASE | re.VERBOSE,
)
_OTHERS = re.compile(r"\b(?:he|her|hers|him|his|she)\b", re.IGNORECASE)  # speaks of the persona as the page does
_NOTHING_SAID = re.compile(r"(?:part|chapter|section|volume|season|\d+)\W*[\divxlc]*s?", re.IGNORECASE)
_WORK = re.compile(  # where a character appears, which it does not know
    r"others?|miscellaneous|(?:video|role-playing|computer) games?|(?:comic )?books?|novels?|literature|comics?|television(?: series)?|films?|animation|toys"
    r"|(?:in )?(?:other|popular) (?:media|culture)|appearances|legends|fine art|publication history|(?:original|prequel|sequel) trilogy",
    re.IGNORECASE,
)
_PLAIN = "plain"
_LONGEST = 60  # characters of a heading that still reads well on a button
_NAME = re.compile(r"(\w+[,.;:]? )?\b([A-Z][\w'’-]+(?: (?:[A-Z]\.|[A-Z][\w'’-]+))+)(?=(['’]s)?)")
_PLACE = frozenset(["East", "Fort", "Lake", "Los", "Mount", "New", "North", "Saint", "San", "South", "United", "West"])
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
    on_names = [f"Who was {name} to you?" for name in names[: max(1, MANY - 1 - len(asked))]]
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
    if not _says_something(heading) or _WORK.fullmatch(heading) or heading == INTRODUCTION or _OTHERS.search(heading):
        return None
    heading = _WHEN.sub("", heading)
    for whole, question in _WHOLE.items():
        if re.fullmatch(whole, heading, re.IGNORECASE):
            return question, question
    for begun, question in _BEGUN:
        if found := re.fullmatch(begun, heading):
            return question, question.format(**found.groupdict())
    if (found := _IN_A_WORK.fullmatch(heading)) and _FICTIONAL.search(text):
        return _IN_A_WORK.pattern, f"What happened to you in {found['work']}?"
    if _YOURS.fullmatch(heading):
        word, _, rest = heading.partition(" ")
        small = f"{word.lower()} {rest}".strip()
        return small, f"Tell me about your {small}."
    return _PLAIN, f"What can you tell me about “{_within_quotes(heading)}”?"


def _within_quotes(heading: str) -> str:
    return re.sub(r'["“](.*?)["”]', r"‘\1’", heading)


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
        a_person = (
            placed[name] * 4 <= count
            and words[0] not in _PLACE
            and not all(_stands_small(word, text) for word in words)
        )
        if count >= _MENTIONS and a_person and not alike and content_words(words[0], "en"):
            yield name


def _spread(items: Sequence[str], many: int) -> list[str]:
    """The first of each of so many equal parts of the list."""
    if len(items) <= many:
        return list(items)
    return [items[number * len(items) // many] for number in range(many)]
