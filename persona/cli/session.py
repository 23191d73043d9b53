"""What the commands share: the wiring of this process, whom a word names, and the errors of the command line itself."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from persona.errors import PersonaError
from persona.records import Person
from persona.text import unaccented

if TYPE_CHECKING:
    from persona.ports import Library
    from persona.wiring import Wiring

_SHORTEST_PREFIX = 6


class CommandError(PersonaError):
    """An error with more to it than a sentence: `lines` are printed after it, `data` goes beside it in JSON."""

    def __init__(self, message: str, lines: Sequence[str] = (), **data: Any) -> None:  # noqa: ANN401 - any JSON
        super().__init__(message)
        self.lines = lines
        self.data = data


def make_wiring() -> Wiring:
    """The parts of this process, from its settings. The one place where the command line makes them."""
    from persona.wiring import Wiring

    return Wiring()


def make_eval_wiring() -> Wiring:
    """The same over a data folder of its own within the user's; the gates and the built-in model's process are shared."""
    from persona.wiring import Wiring

    usual = make_wiring()
    apart = {"home": usual.settings.home / "eval", "database": "", "chroma": ""}
    settings = usual.settings.model_copy(update=apart)
    return Wiring(settings, builtin=usual.builtin, gates=usual.gates)


def find_person(library: Library, word: str) -> Person:
    """Whom an id, the beginning of one or a title names. Raises CommandError with those it could be."""
    people = library.people()
    found = _fitting(people, word.strip())
    if len(found) == 1:
        return found[0]
    if found:
        raise _choose(f"“{word}” fits more than one person. Name one by the beginning of the id.", found)
    if not people:
        raise CommandError('Nobody is loaded yet. Load a page first, as in `persona load "Ada Lovelace"`.', choices=[])
    near = [person for person in people if _plain(word) and _plain(word) in _plain(person.title)]
    raise _choose(
        f"Nobody called “{word}” is loaded. Take one of these, or load the page with `persona load`.", near or people
    )


def _fitting(people: Sequence[Person], word: str) -> list[Person]:
    if exact := [person for person in people if person.id == word.lower()]:
        return exact
    if titled := [person for person in people if _plain(person.title) == _plain(word)]:
        return titled
    prefix = word.lower()
    return [person for person in people if len(prefix) >= _SHORTEST_PREFIX and person.id.startswith(prefix)]


def _plain(title: str) -> str:
    return " ".join(unaccented(title).casefold().replace("_", " ").split())


def _choose(message: str, people: Sequence[Person]) -> CommandError:
    lines = [f"  {person.id[:8]}  {person.title} ({person.language}, {person.source})" for person in people]
    choices = [{"id": person.id, "title": person.title, "language": person.language} for person in people]
    return CommandError(message, lines, choices=choices)
