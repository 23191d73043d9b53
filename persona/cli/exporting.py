"""`export`: a thread as Markdown that could be published, or as JSON that holds all of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from persona.cli import session
from persona.cli.output import line, write, write_json
from persona.export import Interview, to_json, to_markdown
from persona.records import Thread

if TYPE_CHECKING:
    from persona.ports import History

_SHORTEST_PREFIX = 6
_LISTED = 10


def export(word: str, form: str) -> None:
    """Print the thread."""
    wiring = session.make_wiring()
    thread = _find(wiring.history, word.strip().lower())
    person = wiring.library.known(thread.person)
    if person is None:  # pragma: no cover - the database holds a thread's person
        raise session.CommandError("It is not known whom that thread is with.")
    turns, ratings = wiring.history.turns(thread.id), wiring.history.ratings(thread.id)
    interview = Interview(thread, person, wiring.library.build(person.build), turns, ratings)
    if form == "json":
        write_json(to_json(interview))
    else:
        write(to_markdown(interview))


def _find(history: History, word: str) -> Thread:
    """The thread of that id, or whose id begins so. Raises CommandError with those it could be."""
    threads = history.threads()
    prefixed = [one for one in threads if len(word) >= _SHORTEST_PREFIX and one.id.startswith(word)]
    if len(prefixed) == 1:
        return prefixed[0]
    raise session.CommandError(f"There is no thread {line(word)}. Name one by its id.", _listed(prefixed or threads))


def _listed(threads: Sequence[Thread]) -> list[str]:
    return [f"  {one.id}  {line(one.title)}" for one in threads[:_LISTED] if one.title]
