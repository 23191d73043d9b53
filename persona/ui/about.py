"""What is said about a person: language, where the text is from, its revision and date, its licence. Pure."""

from __future__ import annotations

from urllib.parse import urlsplit

from persona.export import CC0, CC_BY_SA, is_wikipedia
from persona.records import Build, Person
from persona.text import count
from persona.ui.text import day, link, plain

LANGUAGES = {
    "en": "English",
    "simple": "Simple English",
    "ar": "Arabic",
    "zh": "Chinese",
    "cs": "Czech",
    "da": "Danish",
    "nl": "Dutch",
    "fi": "Finnish",
    "fr": "French",
    "de": "German",
    "el": "Greek",
    "he": "Hebrew",
    "hi": "Hindi",
    "hu": "Hungarian",
    "id": "Indonesian",
    "it": "Italian",
    "ja": "Japanese",
    "ko": "Korean",
    "no": "Norwegian",
    "fa": "Persian",
    "pl": "Polish",
    "pt": "Portuguese",
    "ro": "Romanian",
    "ru": "Russian",
    "es": "Spanish",
    "sv": "Swedish",
    "tr": "Turkish",
    "uk": "Ukrainian",
    "vi": "Vietnamese",
}


def language_name(code: str) -> str:
    """The language's English name, or the code where we know none."""
    return LANGUAGES.get(code, code)


def facts(person: Person, build: Build, threads: int) -> str:
    """One line of Markdown for a card: how many threads, language, where the text and the picture are from."""
    if person.source == "sample":
        where = "written for this program"
    elif person.source == "markdown":
        where = plain(f"file {person.api}, read {day(build.fetched_at)}")
    else:
        where = plain(f"{_wiki(person)}, {_revision(build)}")
    spoken = count(threads, "interview") if threads else "No interviews yet"
    parts = [spoken, plain(language_name(person.language)), where]
    if build.picture:
        parts.append(link("about the picture", build.picture.about))
    return " · ".join(parts)


def badge(person: Person, build: Build) -> str:
    """What must always be in sight: that this is a simulation, from which text, under which licence. Markdown."""
    if person.source == "sample":
        text = f"**A simulation** from a sample text, {link('CC0', CC0)}."
    elif person.source == "markdown":
        text = f"**A simulation** from {plain(f'the file {person.api}, read {day(build.fetched_at)}')}."
    else:
        page = link(f"{_wiki(person)}, {_revision(build)}", _this_revision(build))
        licence = (
            f"text under {link('CC BY-SA 4.0', CC_BY_SA)}" if is_wikipedia(person) else "see there for the licence"
        )
        text = f"**A simulation** from {page}; {licence}."
    if build.living:
        text += f" {plain(person.title)} is a living person and has said none of this."
    return text


def _wiki(person: Person) -> str:
    return "Wikipedia" if is_wikipedia(person) else (urlsplit(person.api).netloc or "a wiki")


def _revision(build: Build) -> str:
    """Its number and when it was written; when it was read, where only that is known."""
    dated = f"of {day(build.revised_at)}" if build.revised_at else f"read {day(build.fetched_at)}"
    return f"revision {build.revision} {dated}"


def _this_revision(build: Build) -> str:
    if not build.url or not build.revision.isdigit():
        return build.url
    return f"{build.url}{'&' if '?' in build.url else '?'}oldid={build.revision}"
