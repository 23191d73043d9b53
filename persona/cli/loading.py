"""`load` and `prepare`: a page becomes a person, with progress, and a choice where there is no such page."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import typer
from rich.progress import BarColumn, DownloadColumn, MofNCompleteColumn, TaskID, TextColumn
from rich.progress import Progress as Bar

from persona.cli import session
from persona.cli.data import choice_data, loaded_data
from persona.cli.output import err, interactive, line, note, say, write_json
from persona.errors import InputError, OtherWiki
from persona.records import PATH_SEPARATOR, Choice, Loaded, Page, Progress, is_language
from persona.text import count

if TYPE_CHECKING:
    from persona.wiring import Wiring


def load(what: str, language: str, as_json: bool) -> None:
    """Load a title of the wiki or a Markdown file, and tell what came of it."""
    began = time.monotonic()
    wiring = session.make_wiring()
    page = _read_file(Path(what), language) if _is_file(what) else _fetch(wiring, what, language, as_json)
    loaded = follow(wiring.loader.page(page))[-1]
    seconds = time.monotonic() - began
    if as_json:
        write_json(loaded_data(page, page.asked_for or what, loaded, seconds))
    else:
        _tell(page, loaded, seconds)


def prepare() -> None:
    """Make ready what the first minute needs: the built-in model's file if that is what answers, and the samples."""
    wiring = session.make_wiring()
    status = wiring.model_status()
    if wiring.kind == "builtin" and status.ready:
        _join(wiring.builtin.prepare())
    elif not status.ready:
        note(f"Nothing can answer yet. {status.problem} {status.remedy}", style="yellow")
    for loaded in follow(wiring.loader.samples()):
        note(f"{loaded.person.title} is ready to be interviewed.")


def follow(events: Iterator[Progress | Loaded] | Iterator[Progress]) -> list[Loaded]:
    """Draw the progress of one load or several: a bar on a terminal, else a line for each report."""
    ended: list[Loaded] = []
    bar = _bar(MofNCompleteColumn()) if err().is_terminal else None
    with bar or nullcontext():
        task = bar.add_task("embedding", total=None, visible=False) if bar else TaskID(0)
        for event in events:
            if isinstance(event, Loaded):
                ended.append(event)
            elif bar and event.step == "embedding":
                bar.update(task, completed=event.done, total=event.total, visible=event.done < event.total)
            elif not bar or event.step == "fetched":
                note(_in_words(event), style="dim")
    return ended


def _in_words(event: Progress) -> str:
    if event.step == "fetched":
        return f"fetched {line(event.detail)}"
    if event.step == "embedding":
        return f"embedding {event.done} of {event.total}"
    return f"stored {event.total} chunks"


def _bar(column: MofNCompleteColumn | DownloadColumn) -> Bar:
    return Bar(TextColumn("{task.description}", markup=False), BarColumn(), column, console=err(), transient=True)


def _join(steps: Iterator[tuple[int, int]]) -> None:
    """The built-in model's file, joined once; nothing is said when it is there."""
    console = err()
    told = 0
    with _bar(DownloadColumn()) as bar:
        task = bar.add_task("joining the built-in model", total=None, visible=False)
        for done, total in steps:
            bar.update(task, completed=done, total=total, visible=done < total)
            if not console.is_terminal and done < total and done * 10 // total > told:
                told = done * 10 // total
                note(f"joining the built-in model: {told}0 %")


# --- finding the page ---


def _is_file(what: str) -> bool:
    return what.lower().endswith(".md") or os.path.isfile(what)


def _read_file(path: Path, language: str) -> Page:
    """`language` wins over what the file says of itself."""
    from persona.adapters.markdown import read_markdown

    page = read_markdown(path)
    if language and not is_language(language):
        raise InputError(f"{language!r} is no language code. Take one like en, de or zh.")
    return replace(page, language=language or page.language)


def _fetch(wiring: Wiring, title: str, language: str, as_json: bool) -> Page:
    """The page of that title, after the reader's choice where there is a choice and a reader."""
    while True:
        try:
            found = wiring.wiki.fetch(title, language or wiring.settings.language)
        except OtherWiki as error:
            if not (error.title and error.language):
                raise
            raise InputError(f'{error} As in: persona load "{error.title}" --language {error.language}') from error
        if isinstance(found, Page):
            return found
        title = _chosen(found, as_json)


def _chosen(choice: Choice, as_json: bool) -> str:
    """The title that the reader picks. Raises typer.Exit where nobody can, or wants to."""
    note(_what_happened(choice))
    if as_json:
        write_json(choice_data(choice))
    elif choice.options and interactive():
        return _ask_for_one(choice.options)
    else:
        for option in choice.options:
            say(f"  {line(option)}")
    raise typer.Exit(1)


def _what_happened(choice: Choice) -> str:
    asked = line(choice.asked_for)
    if choice.reason == "disambiguation":
        return f"“{asked}” can mean several pages. Nothing was loaded; name one of these:"
    if choice.options:
        return f"There is no page “{asked}”. Nothing was loaded; these are like it:"
    return f"There is no page “{asked}”, and nothing is like it. Check the spelling, or name another language."


def _ask_for_one(options: tuple[str, ...]) -> str:
    for number, option in enumerate(options, 1):
        say(f"{number:4}. {line(option)}")
    while True:
        try:
            answer = input("Number, or Enter to leave it: ").strip()
        except EOFError:
            answer = ""
        if not answer:
            raise typer.Exit(1)
        if answer.isdecimal() and 0 < int(answer) <= len(options):
            return options[int(answer) - 1]
        note(f"Type a number from 1 to {len(options)}.")


# --- telling what was loaded ---


def _tell(page: Page, loaded: Loaded, seconds: float) -> None:
    person, build = loaded.person, loaded.build
    if page.asked_for:
        say(f"“{line(page.asked_for)}” leads to {line(person.title)}.")
    say(
        f"{line(person.title)} ({person.language}), revision {person.revision}: {count(len(build.sections), 'section')} in "
        f"{count(build.chunks, 'chunk')}, in {seconds:.1f} s.",
        style="bold",
    )
    say(_embedded(loaded))
    if page.left_out:
        say(f"Left out, {len(page.left_out)}:")
        for section in page.left_out:
            say(f"  {line(PATH_SEPARATOR.join(section.path))} ({section.reason})")
    if loaded.advice:
        note(loaded.advice, style="yellow")
    say(f'Ask with: persona ask {person.id[:8]} "…"', style="dim")


def _embedded(loaded: Loaded) -> str:
    if not loaded.embedded:
        return "No chunk is new, so nothing was embedded."
    if loaded.reused:
        return f"{_were(loaded.embedded)} embedded; {loaded.reused:,} had not changed."
    return f"{_were(loaded.embedded)} embedded."


def _were(chunks: int) -> str:
    return f"{count(chunks, 'chunk')} {'was' if chunks == 1 else 'were'}"
