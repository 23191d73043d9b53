"""A thread as a document: Markdown that could be published, or JSON that holds all. Pure.

Texts of pages, people and models stand in the Markdown as text, whatever signs are in them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from urllib.parse import quote, urlsplit

from pydantic import TypeAdapter

from persona.branches import path_to
from persona.records import PATH_SEPARATOR, Build, Person, Rating, Source, Thread, Turn

CC_BY_SA = "https://creativecommons.org/licenses/by-sa/4.0/"
CC0 = "https://creativecommons.org/publicdomain/zero/1.0/"
_MARKUP = re.compile(r"([\\`*_\[\]<>#|~$^]|&(?=#?\w+;))")
_LINE_START = re.compile(r"^(\s*)([-+=]|\d+(?=[.)]))", re.MULTILINE)
_STOPPED = {"stopped": "stopped here by the interviewer", "failed": "broke off here", "interrupted": "broke off here"}


@dataclass(frozen=True, slots=True)
class Interview:
    """All that is known of a thread. `person` is who was asked, `build` what they know now (None: no longer loaded)."""

    thread: Thread
    person: Person
    build: Build | None
    turns: Sequence[Turn]
    ratings: Sequence[Rating] = field(default=())

    @property
    def path(self) -> list[Turn]:
        """The turns of the branch that is read."""
        return path_to(self.turns, self.thread.shown)


def file_name(interview: Interview, ending: str) -> str:
    """What a file with it may be called anywhere."""
    words = re.findall(r"\w+", f"{interview.person.title} {interview.thread.title}".lower())
    return f"{'-'.join(words)[:60].rstrip('-') or 'interview'}.{ending}"


def to_json(interview: Interview) -> dict[str, Any]:
    """Thread, person, build, the turns of every branch with their traces, ratings; keys as in `persona.records`."""
    # by way of text, since JSON has no number for what is infinite
    known = json.loads(TypeAdapter(Interview).dump_json(interview))
    return {**known, "shown": [turn.id for turn in interview.path], "simulation": True}


def to_markdown(interview: Interview) -> str:
    """Who answers, when, questions and answers of the branch that is read, sources as footnotes, what it is."""
    title, notes = interview.person.title, _Footnotes(interview.person.title)
    told = [part for turn in interview.path for part in _turn(turn, notes)]
    described = [f"*{escaped(interview.build.description)}*"] if interview.build and interview.build.description else []
    head = [f"# An interview with {escaped(title)}", *described, _day(interview.thread.created_at)]
    return "\n\n".join([*head, *told, "---", _what_it_is(interview), *notes.lines]) + "\n"


def escaped(text: str) -> str:
    """Markdown that shows this text; its line ends stay."""
    lines = [line.strip() for line in text.splitlines()]
    marked = _MARKUP.sub(lambda found: rf"\{found[1]}", "\n".join(line for line in lines if line))
    return _LINE_START.sub(lambda found: f"{found[1]}{_held(found[2])}", marked).replace("\n", "  \n")


def _held(start: str) -> str:
    """A list's beginning that begins none."""
    return f"{start}\u2060" if start.isdigit() else f"\\{start}"


class _Footnotes:
    """Numbered as they are first named; one section of one revision is one."""

    def __init__(self, title: str) -> None:
        self._title = title
        self._numbers: dict[tuple[str, str, str], int] = {}
        self.lines: list[str] = []

    def mark(self, source: Source) -> str:
        key = (source.url, source.section, source.revision)
        if key not in self._numbers:
            self._numbers[key] = len(self._numbers) + 1
            self.lines.append(f"[^{self._numbers[key]}]: {self._words(source)}")
        return f"[^{self._numbers[key]}]"

    def _words(self, source: Source) -> str:
        where = f"{escaped(self._title)}, “{escaped(source.section.replace(PATH_SEPARATOR, ' › '))}”"
        return f"{_link(where, source.url)}, revision {escaped(source.revision)}."


def _turn(turn: Turn, notes: _Footnotes) -> list[str]:
    """Nothing where nothing was answered."""
    said = turn.answer.text if turn.answer else turn.partial
    if not said.strip():
        return []
    sources = turn.answer.sources if turn.answer else ()
    behind = [source for source in sources if source.supports] or sources
    marks = "".join(dict.fromkeys(notes.mark(source) for source in behind))
    end = "" if turn.answer else f" *({_STOPPED.get(turn.state, 'not finished')})*"
    return [f"**{escaped(turn.question.asked)}**", f"{escaped(said)}{marks}{end}"]


def _what_it_is(interview: Interview) -> str:
    title = escaped(interview.person.title)
    models = dict.fromkeys(turn.trace.settings.get("model", "") for turn in interview.path)
    by = ", ".join(escaped(model) for model in models if model)
    parts = [f"This is a simulation: a language model{f' ({by})' if by else ''} answered in the role of {title}"]
    parts[0] += f", from {_text_used(interview)}."
    if interview.build and interview.build.living:
        parts.append(f"{title} is a living person and has said none of this.")
    return f"*{' '.join(parts)}*"


def _text_used(interview: Interview) -> str:
    person, build = interview.person, interview.build
    if person.source == "sample":
        return f"a sample text under {_link('CC0', CC0)}"
    if person.source == "markdown":
        return f"the file {escaped(person.api)}"
    wikipedia = is_wikipedia(person)
    name = "Wikipedia" if wikipedia else escaped(urlsplit(person.api).hostname or "a wiki")
    page = f"{name}'s page {_link(escaped(person.title), build.url)}" if build else f"a page of {name}"
    read = _revisions(interview, build) if build else ""
    licence = f"; its text is under {_link('CC BY-SA 4.0', CC_BY_SA)}, and so is what is taken from it here"
    return f"{page}{read}{licence if wikipedia else ''}"


def _revisions(interview: Interview, build: Build) -> str:
    """Those that the answers are from; the page may have been read again since."""
    answers = [turn.answer for turn in interview.path if turn.answer]
    used = list(dict.fromkeys(source.revision for answer in answers for source in answer.sources)) or [build.revision]
    read = f", read on {_day(build.fetched_at)}" if used == [build.revision] else ""
    return f", revision{'s' if len(used) > 1 else ''} {' and '.join(map(escaped, used))}{read}"


def is_wikipedia(person: Person) -> bool:
    """Whether the page of the wiki is Wikipedia's, in whatever language."""
    host = urlsplit(person.api).hostname or ""
    return not person.api or host == "wikipedia.org" or host.endswith(".wikipedia.org")


def _link(label: str, url: str) -> str:
    """Only the label where the address is none of the web."""
    return f"[{label}]({quote(url, safe=':/?#@!$&+,;=%~-._')})" if re.match(r"https?://\S", url) else label


def _day(moment: datetime) -> str:
    local = moment.astimezone()
    return f"{local.day} {local:%B %Y}"
