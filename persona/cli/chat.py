"""`chat`: question after question with one person, until the reader leaves."""

from __future__ import annotations

import sys
from contextlib import suppress
from typing import TYPE_CHECKING

from persona.cli import session
from persona.cli.asking import answer, last_turn, open_thread, show_end, show_sources
from persona.cli.output import interactive, line, note, say
from persona.cli.trace import show_trace
from persona.errors import PersonaError
from persona.records import Turn

if TYPE_CHECKING:
    from persona.wiring import Wiring

_COMMANDS = "/sources shows the last answer's sources in full, /trace how it came about, /quit leaves."


def chat(word: str, thread: str) -> None:
    """Interview a person: lines of a terminal, or of what is piped in."""
    wiring = session.make_wiring()
    person = session.find_person(wiring.library, word)
    thread, _ = open_thread(wiring.history, person, thread)
    say(f"You are talking to {line(person.title)}, a simulation that knows nothing but its page.", style="bold")
    note(f"{_COMMANDS} Ctrl-C stops an answer, Ctrl-D leaves.", style="dim")
    _Conversation(wiring, thread).run()
    note(f"\nGo on with --thread {thread}", style="dim")


class _Conversation:
    """One thread, while its reader asks on."""

    def __init__(self, wiring: Wiring, thread: str) -> None:
        self._interview, self._history, self._thread = wiring.interview, wiring.history, thread
        self._last: Turn | None = None

    def run(self) -> None:
        """Until /quit or the end of the input."""
        while (said := _next_line()) is not None:
            if said in {"/quit", "/exit"}:
                return
            if said.startswith("/"):
                self._command(said)
            elif said:
                self._ask(said)

    def _command(self, said: str) -> None:
        if said not in {"/sources", "/trace"}:
            note(_COMMANDS)
        elif self._last is None:
            note("Ask something first.")
        elif said == "/trace":
            show_trace(self._last, say)
        elif not (self._last.answer and self._last.answer.sources):
            note("The last answer has no sources.")
        else:
            show_sources(self._last)

    def _ask(self, question: str) -> None:
        """A failed question ends no conversation; Ctrl-C ends the answer, which is kept as far as it came."""
        asked: list[Turn] = []
        try:
            parent = last_turn(self._history, self._thread)
            told = answer(self._interview, question, self._thread, parent, quiet=False, stored=asked.append)
        except PersonaError as error:
            note(str(error), style="red")
        except KeyboardInterrupt:
            note("\nStopped; what came so far is kept.", style="dim")
        else:
            _show_short_end(told.turn)
        if asked:
            self._last = self._history.turn(asked[0].id)


def _show_short_end(turn: Turn) -> None:
    """As after `ask`, with the sources in one line."""
    answered = turn.answer
    if answered is None or not answered.sources:
        show_end(turn)
        return
    say("  ".join(f"[{source.number}] {line(source.section)}" for source in answered.sources), style="cyan")
    for warning in answered.warnings:
        say(f"Beware: {warning}.", style="yellow")


def _next_line() -> str | None:
    """What the reader types next, without blanks around it; None at the end."""
    if not interactive():
        said = sys.stdin.readline()
        return said.strip() if said else None
    with suppress(ImportError):
        import readline  # noqa: F401 - input() edits lines with it
    while True:
        try:
            say()
            return input("> ").strip()
        except EOFError:
            return None
        except KeyboardInterrupt:
            note("\nCtrl-D or /quit leaves.")
