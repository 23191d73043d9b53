"""Who is I and who is you, in English. Pure.

Small models mirror the question ("Your hand was cut off") or speak as the page does ("Luke's hand was cut off"). Which
of the two it is shows in the first sentence; then each sentence is turned, by grammar alone. An answer that holds I or
my, or speaks of somebody else, stays as it is.
"""

from __future__ import annotations

import re
from collections.abc import Generator, Iterable, Sequence

from persona.text import bare_title, content_words, name_parts, sentences

_FIRST = re.compile(r"\b(?:(?<!War\s)I|me|[Mm]y|[Mm]ine|[Mm]yself|[Ww]e|[Oo]urs?|us)\b")
_SECOND = re.compile(r"\b(?:you|your|yours|yourself)\b", re.IGNORECASE)
_QUOTED = re.compile(r"[\"“][^\"”]*[\"”]")
_VERBS = r"am|is|are|was|were|have|has|had|do|does|did|will|would|can|could|must|may|might|should"
_KEEP = frozenset({"always", "was", "perhaps", "sometimes", "afterwards", "towards", "as"})
_OWNERS = {"he": "his", "she": "her"}
_AGREES = {"are": "am", "is": "am", "were": "was", "has": "have", "does": "do"}
_TIED = "\N{NO-BREAK SPACE}"
_TOLD = 4  # words that tell something, and not only a name
_ENOUGH = 200  # characters of a first sentence after which it is taken as it is


def in_first_person(pieces: Iterable[str], asked: str, title: str) -> Generator[str, None, None]:
    """The answer's pieces, turned sentence by sentence if the first one slipped."""
    held, how, decided = "", "", False
    for piece in pieces:
        held += piece
        if not decided:
            first, whole = _first_sentence(held)
            decided = whole or _says_i(first.rpartition(" ")[0], title)  # the last word may go on
            how = slipped(first, asked, title) if whole else ""
        if decided and not how:
            yield held
            held = ""
        elif decided:
            *ended, held = re.split(r"(?<=[.!?]) (?=[A-ZÀ-Þ])", held)
            yield from (f"{turned(part, how, title)} " for part in ended)
    how = how if decided else slipped(_first_sentence(held)[0], asked, title)
    if held:
        yield " ".join(turned(part, how, title) for part in re.split(r"(?<=[.!?]) (?=[A-ZÀ-Þ])", held)) if how else held


def as_known(beginning: str, seen: str = "") -> str:
    """The beginning of an answer about others, told as what the persona knows of them; `seen` tells words from names."""
    words = beginning.split()
    if len(words) < _TOLD or _FIRST.search(beginning) or re.match(r"(?:Yes|No|Your?)\b", beginning):
        return beginning
    start = beginning[:1] if _is_name(words, seen) else beginning[:1].lower()
    return f"As far as I know, {start}{beginning[1:]}"


def _is_name(words: Sequence[str], seen: str) -> bool:
    """Whether the first word keeps its capital within a sentence."""
    word = re.escape(words[0])
    if words[0] in {"A", "An", "The"}:
        return words[0] != "The" and words[1][:1].isupper()  # A New Hope
    if re.search(rf"(?<=[a-z,] ){word}\b", seen):
        return True
    return bool(content_words(words[0], "en")) and not re.search(rf"\b{word.lower()}\b", seen)


def _first_sentence(text: str) -> tuple[str, bool]:
    """The first sentence, and whether it is known to be all of it."""
    parts = sentences(text, "en")
    return (parts[0] if parts else ""), len(parts) > 1 or len(text) > _ENOUGH


def about_interviewer(question: str) -> str:
    """A question on the conversation with the interviewer in the third person, as the record of it speaks of them."""
    text = question
    for said, told in (
        (r"my", "the interviewer's"),
        (r"am I|I['’]m|I am", "is the interviewer"),
        (r"have I|I have", "has the interviewer"),
        (r"I|me|myself", "the interviewer"),
    ):
        text = re.sub(rf"\b(?:{said})\b", told, text, flags=re.IGNORECASE)
    return _capital(text)


def asking_what_came_of_it(question: str) -> str:
    """A yes/no question about a thing's fate, opened: "Did your hand heal?" is answered though the page says "replaced".

    One about the persona's own deeds stays as it is, since to ask what came of a deed is to take it as done.
    """
    closed = re.match(r"Did (?:your|the|his|her|their|its) [^?]+\?$", question)
    return f"{question} What came of it?" if closed else question


def to_interviewer(pieces: Iterable[str]) -> Generator[str, None, None]:
    """The answer to it, said to the interviewer's face; sentence by sentence. What they are, they told the persona."""
    held, turn = "", _as_told
    for piece in pieces:
        held += piece
        *ended, held = re.split(r"(?<=[.!?]) (?=[A-ZÀ-Þ])", held)
        for part in ended:
            yield f"{turn(part)} "
            turn = _to_face
    if held:
        yield turn(held)


def _as_told(sentence: str) -> str:
    text = _to_face(sentence)
    about = re.match(
        r"(?P<yes>Yes, )?(?:[Yy]ou are|[Yy]ou were|[Yy]ou have|[Yy]our (?:name|job|work|paper|school|age)\b)",
        text,
    )
    if about:
        yes = about["yes"] or ""
        return f"{yes}{'y' if yes else 'Y'}ou told me that y{text[len(yes) + 1 :]}"
    return re.sub(r"^You asked (?!me\b)", "You asked me ", text)


def _to_face(sentence: str) -> str:
    text = re.sub(r"\b[Tt]he [Ii]nterviewer['’]s\b", "your", sentence)
    agree = {"is": "are", "was": "were", "has": "have", "does": "do"}
    text = re.sub(r"\b[Tt]he [Ii]nterviewer (is|was|has|does)\b", lambda found: f"you {agree[found[1]]}", text)
    return _capital(re.sub(r"\b[Tt]he [Ii]nterviewer\b", "you", text))


def slipped(sentence: str, asked: str, title: str) -> str:
    """How a first sentence slipped, "" if it did not: who stands for the persona in it. `asked` is the question put to "you"."""
    bare = _without_article(_others_apart(_QUOTED.sub("", sentence), title), title)
    if _says_i(bare, title):
        return ""
    named = re.search(rf"(?:^|, )(?:{_names(title)})(?= [a-z])|\b(?:{_names(title)})['’]s?(?!\w)", bare)
    if not _SECOND.search(asked):
        return "third" if named else ""
    if _SECOND.search(bare):
        return "second"
    return "third" if named else _slipped_less_openly(bare, asked, title)


def _says_i(text: str, title: str) -> bool:
    """Whether it speaks in the first person; the number of a ruler, as in Olga I, does not."""
    return bool(_FIRST.search(text.replace(bare_title(title), "")))


def _slipped_less_openly(bare: str, asked: str, title: str) -> str:
    """The same of a sentence in which no name of the persona is plainly a subject or an owner."""
    names = _names(title)
    within = rf"[a-z] (?<!the ){re.escape(_bare(title))}\b(?!['’-])"
    if re.match(rf"(?:{names})\b(?!['’-])", bare) or re.search(within, bare):
        return "third"
    if owned := _owned("The", bare, asked):
        return "third" if re.match(rf"The [\w -]*?\bof (?:{names})\b(?!['’-])", bare) else owned
    if not _is_about_you(bare, asked):
        return ""
    return "he" if re.match(r"(?:He|His)\b", bare) else "she"


def _is_about_you(sentence: str, asked: str) -> bool:
    """Whether the pronoun at the start can only be the persona: "His hand" for "your hand", "He" for a bare "you"."""
    if re.match(r"(?:His|Her) [a-z-]", sentence):
        return bool(_owned("(?:His|Her)", sentence, asked))
    others = re.search(r"\b[Yy]our\b|\b(?:he|she|him|his|her)\b|\w [A-ZÀ-Þ]", asked)
    return bool(re.match(r"(?:He|She)\b", sentence)) and not others


def _owned(article: str, sentence: str, asked: str) -> str:
    """What the sentence starts with, if the question calls it "your"."""
    begun = re.match(rf"{article}(?: [a-z-]+){{1,3}}", sentence)
    words = begun[0].split() if begun else []
    for count, noun in enumerate(words[1:], 2):
        if re.search(rf"\b[Yy]our (?:[\w-]+ ){{0,2}}?{noun}\b", asked):
            return " ".join(words[:count])
    return ""


def turned(sentence: str, how: str, title: str) -> str:
    """The sentence in the first person."""
    if how == "second":
        return _capital(_turn_second(sentence))
    if how in _OWNERS:
        return _capital(_turn(sentence, how, _OWNERS[how]))
    if how.startswith("The "):
        return re.sub(rf"^The(?={how[3:]}\b)", "My", sentence)
    names = _names(title)
    text = re.sub(rf"\b(?:{names})['’]s?(?!\w)", "my", _without_article(_others_apart(sentence, title), title))
    text = re.sub(rf"\b[Tt]he ((?:[a-z-]+ ){{1,3}})of (?:{names})\b", r"my \1", text).replace("  ", " ")
    text = re.sub(
        rf"\b(by|with|from|to|for|of|against|saved|killed|trained|told|raised|taught|asked|gave|helped) (?:{names})\b",
        r"\1 me",
        text,
    )
    text = _subject(text, rf"(?:{names})", flags=re.NOFLAG)
    text = re.sub(rf"(?<=[a-z] )(?<!the ){re.escape(_bare(title))}\b(?!['’-])", "me", text)
    return _capital(text.replace(_TIED, " "))


def _turn_second(sentence: str) -> str:
    text = re.sub(r"\byourself\b", "myself", sentence, flags=re.IGNORECASE)
    text = re.sub(r"\byours\b", "mine", text, flags=re.IGNORECASE)
    text = re.sub(r"\byour\b", "my", text, flags=re.IGNORECASE)
    text = _subject(text, "you", flags=re.IGNORECASE)
    return re.sub(r"\byou\b", "me", text, flags=re.IGNORECASE)


def _turn(sentence: str, subject: str, owner: str) -> str:
    """Only the sentence's first word is surely the persona; the rest of it may speak of others."""
    text = re.sub(rf"^(?:{owner})\b", "my", sentence, flags=re.IGNORECASE)
    return _subject(text, rf"^(?:{subject})", flags=re.IGNORECASE) if text == sentence else text


def _subject(text: str, who: str, flags: re.RegexFlag) -> str:
    """`who` as a subject becomes I: at the start of a clause, or before a verb; the verb is made to agree."""

    def agree(found: re.Match[str]) -> str:
        verb = found["verb"]
        return f"I {_AGREES.get(verb, verb)}" if verb else "I"

    anchor = who if who.startswith("^") else rf"\b{who}"
    text = re.sub(rf"{anchor} (?P<verb>{_VERBS})\b", agree, text, flags=flags)
    start = (
        who
        if who.startswith("^")
        else rf"(?:(?<=^)|(?<=\. )|(?<=, )|(?<=\bthat )|(?<=\bwhen )|(?<=\bwhere )|(?<=\band )|(?<=\bbecause )|(?<=\bas )|(?<=\bafter ))\b{who}"
    )
    text = re.sub(rf"{start}(?P<verb>)(?= [a-z])", agree, text, flags=flags)
    return re.sub(r"\bI ([a-z]+)\b", lambda found: f"I {_plain_form(found[1])}", text)


def _plain_form(verb: str) -> str:
    """A verb in the third person without its ending: lives, live."""
    if verb in _KEEP or verb.endswith(("ss", "us")) or not verb.endswith("s"):
        return verb
    if verb.endswith("ies"):
        return f"{verb[:-3]}y"
    return verb[:-2] if verb.endswith(("shes", "ches", "sses", "xes", "goes")) else verb[:-1]


def _names(title: str) -> str:
    parts = (rf"{re.escape(part)}(?! [A-ZÀ-Þ])" for part in name_parts(title))
    names = dict.fromkeys([re.escape(_bare(title)), *parts])
    return "|".join(rf"(?<!{_TIED})(?<![Tt]he ){name}(?!{_TIED})" for name in names)


def _bare(title: str) -> str:
    return bare_title(title).removeprefix("The ")


def _without_article(sentence: str, title: str) -> str:
    """The Hulk as Hulk, but not within a longer name or thing: the Hulk comics."""
    return re.sub(rf"\b[Tt]he ({re.escape(_bare(title))})(?=['’.,;:!?]|$| (?:{_VERBS})\b)", r"\1", sentence)


def _others_apart(sentence: str, title: str) -> str:
    """Names that hold the persona's only in part, such as a relative's, are tied together: none of `_names` is in them."""

    def tie(found: re.Match[str]) -> str:
        first, _, rest = found[0].partition(" ")
        if not content_words(first, "en"):  # no name, but a sentence's first word
            return f"{first} {_others_apart(rest, title)}"
        return found[0] if re.match(rf"{re.escape(_bare(title))}\b", found[0]) else found[0].replace(" ", _TIED)

    return re.sub(r"[A-ZÀ-Þ][\w’'-]*(?: [A-ZÀ-Þ][\w’'-]*)+", tie, sentence)


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
