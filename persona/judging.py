"""Whether an answer is right, in the first person, whole. Pure.

*Answered right*: found, at most 60 words, no run of 20 words copied from a source, and one of the accepted strings in it
(case, accents and punctuation aside) that the question does not already hold.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from persona.cases import Case
from persona.records import PATH_SEPARATOR, Answer, Chunk
from persona.text import bare_title, base_language, irregular_forms, name_parts, sentences, unaccented

LONGEST = 60  # words of a right answer
_COPIED = 20  # words in a row that are copying, not answering
_BEGINNING = 50  # letters of a passage that tell it from others
_OVERLAP = 20  # letters of a chunk's beginning that stand at the end of the one before
_FIRST_PERSON = {
    "en": r"\b(?:(?<!war )i|me|my|mine|myself|we|our|ours|(?-i:[Uu]s)|i['’](?:m|ve|d|ll))\b",
    "de": r"\b(?:ich|mir|mich|mein\w*|wir|uns\w*)\b",
    "fr": r"\b(?:je|j['’]\w+|me|m['’]\w+|moi|mon|ma|mes|nous|notre|nos)\b",
    "es": r"\b(?:yo|me|mí|mi|mis|nosotros|nos|nuestr[oa]s?|\w+[éí]|soy|fui|era|tuve|tengo|estuve|nací)\b",
    "zh": r"我",
}
_VERB = re.compile(
    r"""\b(?:am|is|are|was|were|be|been|have|has|had|do|does|did|can|could|will|would|may|might|must|shall|should|'m|'s|'re|'ve|'d
        |became|began|bought|brought|built|came|chose|cut|died|fell|felt|fought|found|gave|got|grew|held|kept|knew|led|left|lost|made|met
        |put|ran|read|rose|said|sat|saw|sent|set|sold|spent|spoke|stood|taught|told|took|thought|threw|went|won|wore|wrote|fled|flew|hid|hurt
        |know|live|lives|love|think|make|come|take|say|use|work|want|need|get|go|see|find|give|tell|call|keep|let|mean|show|hear|play|run
        |help|believe|bring|happen|write|sit|stand|lose|meet|include|continue|learn|lead|understand|watch|follow|remember|[a-z]{2,}ed|[a-z]{2,}(?:izes|ises|ates|ains|ells|ows|ays|aves|ives|ands|oves))\b""",
    re.IGNORECASE | re.VERBOSE,
)


def answered_right(case: Case, answer: Answer | None) -> bool:
    """Whether an answerable case was answered as it should be."""
    return not fault(case, answer)


def fault(case: Case, answer: Answer | None) -> str:
    """Why the answer to an answerable case is not right; empty if it is."""
    if answer is None or not answer.found:
        return "there is no answer"
    if len(answer.text.split()) > LONGEST:
        return f"it has more than {LONGEST} words"
    if any(copies(answer.text, source.text) for source in answer.sources):
        return f"it copies {_COPIED} words in a row from a source"
    said, asked = f" {_plain(answer.text)} ", f" {_plain(case.question)} "
    accepted = [_accepted(answer) for answer in case.answers if _plain(answer)]
    if any(re.search(one, said) and not re.search(one, asked) for one in accepted):
        return ""
    return "it holds no accepted answer"


def _accepted(answer: str) -> str:
    """A pattern for an accepted string anywhere; a number is not found within a longer one."""
    return rf"(?<!\d(?=\d)){re.escape(_plain(answer))}(?!(?<=\d)\d)"


def copies(answer: str, source: str) -> bool:
    """Whether a run of 20 words of the answer stands in the source."""
    said, given = _plain(answer).split(), f" {_plain(source)} "
    return any(f" {' '.join(said[i : i + _COPIED])} " in given for i in range(len(said) - _COPIED + 1))


def first_person(text: str, title: str, language: str = "en") -> bool:
    """Whether the persona speaks of itself as I, and never as somebody else."""
    pattern = _FIRST_PERSON.get(base_language(language), _FIRST_PERSON["en"])
    return bool(re.search(pattern, text, re.IGNORECASE)) and not _name_is_subject(text, title, language)


def is_fragment(text: str, language: str = "en") -> bool:
    """Whether an English answer has no verb; other languages are not judged."""
    return base_language(language) == "en" and not _has_verb(text)


def _has_verb(text: str) -> bool:
    return bool(_VERB.search(text)) or not irregular_forms().isdisjoint(re.findall(r"[a-z]+", text.lower()))


def right_section(case: Case, path: Sequence[str]) -> bool:
    """Whether a section is one of those that hold the answer."""
    return PATH_SEPARATOR.join(path) in case.section


def right_chunks(case: Case, chunks: Sequence[Chunk]) -> frozenset[str]:
    """The ids of the chunks that hold the answer: those of the right sections, or cut from the right paragraph."""
    if case.section:
        return frozenset(chunk.id for chunk in chunks if right_section(case, chunk.path))
    begins = {_letters(text)[:_BEGINNING] for text in (case.passage, re.sub(r"\[[^\]]*\]", "", case.passage)) if text}
    right: list[Chunk] = []
    for chunk in chunks:
        text = _letters(chunk.text)
        follows = bool(right and text) and chunk.position == right[-1].position + 1
        goes_on = follows and text[:_OVERLAP] in _letters(right[-1].text)
        if any(beginning in text for beginning in begins) or goes_on:
            right.append(chunk)
    return frozenset(chunk.id for chunk in right)


def _name_is_subject(text: str, title: str, language: str) -> bool:
    """A sentence that starts with the persona's name and goes on in lower case, as with a verb."""
    names = "|".join(re.escape(name) for name in (bare_title(title), *name_parts(title)))
    return any(
        re.match(rf"(?:{names})(?:\s+(?:{names}))*,?\s+(?!and\b)[a-zà-þ]", part) for part in sentences(text, language)
    )


def _plain(text: str) -> str:
    return re.sub(r"[^\w]+", " ", unaccented(text)).strip()


def _letters(text: str) -> str:
    return re.sub(r"[\W\d_]", "", unaccented(text))
