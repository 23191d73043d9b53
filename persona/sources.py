"""What stands behind an answer: the passages sent, the sentences that support it, and what no passage holds. Pure.

Sources are attached by code, never by the model: they are the passages that were sent for this answer, in that order.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import dropwhile

from persona.records import INTRODUCTION, PATH_SEPARATOR, Build, Chunk, Evidence, Source
from persona.text import RANKS, base_language, content_words, sentences, unaccented

_SUPPORT = 0.5  # share of an answer sentence's words that a passage's sentence must hold
_NAME = re.compile(r"\b[A-ZÀ-Þ][\w'’-]+(?:\s+[A-ZÀ-Þ][\w'’-]+)*")
_NUMBER = re.compile(r"\b\d[\d,.]*\d\b|\b\d\b")
_SENTENCE_START = re.compile(r"(?:^|[.!?:]\s+|\n\s*|[\"“]\s*)$")
_QUOTED = re.compile(
    r"[\"“«„「『]([^\"”»“」』]{8,})[\"”»“」』]|(?<!\w)['‘]((?:[^'’‘]|(?<=\w)['’](?=\w)){8,})['’](?!\w)"
)
_THOUSANDS = re.compile(r"(?<=\d)[,.](?=\d{3}\b)")
_SPELLED = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")


def make_sources(build: Build, evidence: Sequence[Evidence], answer: str, language: str) -> tuple[Source, ...]:
    """Numbered from 1, with the spans of each passage's sentences that support the answer.

    Passages that go with every answer (score 0) are sources only where they support this one.
    """
    made = [(item, supporting_spans(item.chunk.text, answer, language)) for item in evidence]
    kept = [(item, spans) for item, spans in made if item.score > 0 or spans] or made
    kept.sort(key=lambda pair: not pair[1])  # what supports the answer is read first
    return tuple(
        Source(
            number=number,
            section=PATH_SEPARATOR.join(item.chunk.path),
            url=section_url(build, item.chunk),
            revision=build.revision,
            text=item.chunk.text,
            score=round(item.score, 3),
            supports=spans,
        )
        for number, (item, spans) in enumerate(kept, 1)
    )


def section_url(build: Build, chunk: Chunk) -> str:
    """The address of the chunk's section in that revision of the page; empty where the page has none."""
    if not build.url:
        return ""
    by_revision = (build.revision.isdigit() and "/wiki/" in build.url) or "index.php" in build.url
    oldid = f"{'&' if '?' in build.url else '?'}oldid={build.revision}" if by_revision else ""
    anchor = chunk.anchor or ("" if chunk.path == (INTRODUCTION,) else chunk.path[-1].replace(" ", "_"))
    return f"{build.url}{oldid}{'#' if anchor else ''}{anchor}"


def supporting_spans(text: str, answer: str, language: str) -> tuple[tuple[int, int], ...]:
    """Start and end, in characters, of the sentences of `text` that share enough words with one of the answer's."""
    claims = [set(content_words(part, language)) for part in sentences(answer, language)]
    spans: list[tuple[int, int]] = []
    start = 0
    for sentence in sentences(text, language):
        start = max(text.find(sentence, start), start)
        words = set(content_words(sentence, language))
        if any(claim and len(claim & words) / len(claim) >= _SUPPORT for claim in claims):
            spans.append((start, start + len(sentence)))
        start += len(sentence)
    return tuple(spans)


def unsupported(answer: str, passages: Sequence[str], allowed: str, language: str = "en") -> tuple[str, ...]:
    """Names and numbers of the answer that neither a passage nor `allowed` (question and title) holds, each once.

    German writes all nouns with a capital: there only runs of two are taken for names.
    """
    known = frozenset(_words(" ".join([*passages, allowed])))
    missing = [found for found in _names_and_numbers(answer, language) if not _is_known(found, known, language)]
    return tuple(dict.fromkeys(missing))


def _names_and_numbers(answer: str, language: str) -> list[str]:
    names = [m.group() for m in _NAME.finditer(answer) if not _opens_sentence(answer, m.start(), m.group())]
    if base_language(language) == "de":
        names = [name for name in names if len(_naming(name, language)) > 1]
    return names + [m.group() for m in _NUMBER.finditer(answer)]


def is_supported(claim: str, asked: str, passages: Sequence[str], title: str, language: str) -> bool:
    """Whether anything that a sentence adds to the question stands in the passages, and of its names and numbers one.

    A sentence that adds nothing is supported only if the passages hold all its words: an echo is no evidence.
    """
    told = unsupported(claim, (), f"{asked} {title}", language)
    held = frozenset(_words(" ".join(passages)))
    if told and not any(_is_known(_without_rank(name), held, language) for name in told):
        return False
    known = set(content_words(" ".join(passages), language))
    named = set(content_words(title, language))
    words = set(content_words(claim, language)) - named
    new = words - set(content_words(asked, language))
    if not new:
        return words <= known
    return any(word in known or _spelled_out(word) in known for word in new)


def is_echo(claim: str, asked: str, title: str, language: str) -> bool:
    """Whether the first sentence says nothing that the question does not."""
    first = next(iter(sentences(claim, language)), "")
    return set(content_words(first, language)) <= set(content_words(f"{asked} {title}", language))


def invented_quotation(answer: str, passages: Sequence[str]) -> bool:
    """Whether the answer quotes words that no passage holds."""
    known = _letters(" ".join(passages))
    return any(_letters("".join(quoted)) not in known for quoted in _QUOTED.findall(answer))


def _opens_sentence(answer: str, start: int, name: str) -> bool:
    """A capital at a sentence's start says nothing; nor does "I"."""
    opens = bool(_SENTENCE_START.search(answer[:start]))
    return (opens and " " not in name) or name in {"I", "I'm", "I’m", "I've", "I’ve", "I'd", "I'll"}


def _is_known(found: str, known: frozenset[str], language: str) -> bool:
    """Whether each word of a name or number is known, an ending of its language aside."""
    words = _words(" ".join(_naming(found, language)))
    return all(word in known or _spelled_out(word) in known or _inflected(word, known) for word in words)


def _without_rank(name: str) -> str:
    """Professor Moriarty is Moriarty."""
    return " ".join(dropwhile(RANKS.__contains__, name.split())) or name


def _naming(name: str, language: str) -> list[str]:
    """The words of a name without function words, such as the one that opens a sentence: My Uncle Owen."""
    words = (re.sub(r"['’]s?$", "", word) for word in name.split())
    return [word for word in words if word[:1].isdigit() or content_words(word, language)]


def _inflected(word: str, known: frozenset[str]) -> bool:
    """Whether only an ending of one or two letters parts it from a known word: Lübeck, Lübecks."""
    shorter = {word[:-cut] for cut in (1, 2) if len(word) - cut > 3}
    longer = (other for other in known if len(word) > 3 and 0 < len(other) - len(word) < 3)
    return not word[0].isdigit() and (not known.isdisjoint(shorter) or any(other.startswith(word) for other in longer))


def _spelled_out(word: str) -> str:
    return _SPELLED[int(word)] if word.isascii() and word.isdigit() and int(word) < len(_SPELLED) else ""


def _words(text: str) -> list[str]:
    return re.findall(r"\w+", _THOUSANDS.sub("", unaccented(text)))


def _letters(text: str) -> str:
    return re.sub(r"\W+", " ", unaccented(text)).strip()
