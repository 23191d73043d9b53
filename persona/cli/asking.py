"""`ask`: one question, its answer as it comes, and what is said after it."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator
from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from persona.cli import session
from persona.cli.data import turn_data
from persona.cli.output import Waiting, line, note, say, write, write_json
from persona.cli.trace import show_trace
from persona.errors import InputError
from persona.records import Asked, Event, Finished, Person, Text, Turn, Withdrawn, Working

if TYPE_CHECKING:
    from persona.interview import Interview
    from persona.ports import History

_SHOWN = 240  # characters of a source


@dataclass(frozen=True, slots=True)
class Told:
    """A turn as its reader saw it: seconds in all, and until the first text (None: there was none)."""

    turn: Turn
    seconds: float
    first_text: float | None


def ask(word: str, question: str, thread: str, as_json: bool, trace: bool) -> None:
    """Ask one question, in a new thread or after the last turn of one."""
    wiring = session.make_wiring()
    person = session.find_person(wiring.library, word)
    thread, parent = open_thread(wiring.history, person, thread, question)
    told = answer(wiring.interview, question, thread, parent, quiet=as_json)
    if as_json:
        write_json(turn_data(told.turn, told.seconds, told.first_text))
    else:
        show_end(told.turn)
        say(f"\nGo on with --thread {thread}", style="dim")
    if trace:
        show_trace(told.turn, note if as_json else say)


def open_thread(history: History, person: Person, thread: str, question: str | None = None) -> tuple[str, str | None]:
    """The thread's id, a new one's if none is named, and the turn that the next question follows.

    Raises InputError before anything is stored.
    """
    if question is not None:
        from persona.interview import checked_question

        checked_question(question)
    if not thread:
        return history.start(person.id).id, None
    found = history.thread(thread)
    if found is None:
        raise InputError(f"There is no thread {line(thread)}. Leave --thread out to start a new one.")
    if found.person != person.id:
        raise InputError(f"That thread is not with {line(person.title)}. Leave --thread out to start a new one.")
    return thread, last_turn(history, thread)


def last_turn(history: History, thread: str) -> str | None:
    """The last turn shown that came to something; after one that failed the question is asked again in its place."""
    found = history.thread(thread)
    path = history.path(found.shown) if found and found.shown else []
    return next((turn.id for turn in reversed(path) if turn.state in {"done", "stopped"}), None)


def answer(
    interview: Interview,
    question: str,
    thread: str,
    parent: str | None,
    *,
    quiet: bool,
    stored: Callable[[Turn], None] = lambda _: None,
) -> Told:
    """Ask, and write the answer as it comes unless `quiet`. Raises CommandError where the turn failed."""
    began = time.monotonic()
    first: float | None = None
    turn: Turn | None = None
    events = cast("Generator[Event]", interview.ask(question, thread, parent))
    with closing(events), Waiting(quiet=quiet) as waiting:  # Ctrl-C closes it, which stores what came so far
        for event in events:
            if isinstance(event, Asked):
                stored(event.turn)
            elif isinstance(event, Withdrawn):
                if first is not None and not quiet:
                    write("\n")
                    note("That was no answer but the model's thinking. It is asked again.", style="dim")
                first = None
            elif isinstance(event, Working):
                waiting.at(event.step)
            elif isinstance(event, Text):
                first = first if first is not None else time.monotonic() - began
                waiting.over()
                if not quiet:
                    write(event.text)
            elif isinstance(event, Finished):
                turn = event.turn
    if first is not None and not quiet:
        write("\n")
    if turn is None:  # pragma: no cover - ask's promise
        raise TypeError("The interview ended without a turn.")
    if turn.state in {"failed", "interrupted"}:
        raise session.CommandError(turn.error, thread=turn.thread, turn=turn.id)
    return Told(turn, time.monotonic() - began, first)


def show_end(turn: Turn) -> None:
    """What follows an answer: why there is none, the sources, the warnings."""
    if turn.answer is None:
        say(f"({turn.state})", style="dim")
        return
    if not turn.answer.found:
        say(f"No answer: {turn.answer.reason}", style="yellow")
    show_sources(turn, _SHOWN)
    for warning in turn.answer.warnings:
        say(f"Beware: {warning}.", style="yellow")


def show_sources(turn: Turn, length: int | None = None) -> None:
    """The numbered passages that were sent, in full or cut to a length."""
    sources = turn.answer.sources if turn.answer else ()
    for source in sources:
        say(f"\n[{source.number}] {line(source.section)}  ({source.score:.2f})", style="cyan")
        if source.url:
            say(f"    {line(source.url)}", style="dim")
        text = line(source.text)
        say(f"    {text if length is None or len(text) <= length else text[:length].rstrip() + ' …'}")
