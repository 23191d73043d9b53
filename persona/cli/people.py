"""`people` and `delete`: who can be interviewed, and who no longer."""

from __future__ import annotations

import typer
from rich.table import Table
from rich.text import Text

from persona.cli import session
from persona.cli.data import person_data
from persona.cli.output import interactive, line, out, say, write, write_json
from persona.errors import InputError
from persona.records import Build, Person


def people(as_json: bool) -> None:
    """Everyone who can be interviewed."""
    library = session.make_wiring().library
    known = [(person, build) for person in library.people() if (build := library.build(person.build))]
    if as_json:
        write_json([person_data(person, build) for person, build in known])
    elif not known:
        say('Nobody yet. Load a page, as in `persona load "Ada Lovelace"`.')
    elif out().is_terminal:
        out().print(_table(known))
    else:
        for person, build in known:
            write("\t".join(_cells(person, build)) + "\n")


def _table(known: list[tuple[Person, Build]]) -> Table:
    table = Table("Id", "Title", "Language", "Sections", "Chunks", "Left out", "Revision", box=None, pad_edge=False)
    for column in table.columns[3:6]:
        column.justify = "right"
    for column in table.columns:
        column.overflow = "fold"
    for person, build in known:
        table.add_row(*(Text(cell) for cell in _cells(person, build)))
    return table


def _cells(person: Person, build: Build) -> list[str]:
    numbers = (len(build.sections), build.chunks, len(build.left_out))
    return [person.id[:8], line(person.title), person.language, *map(str, numbers), line(person.revision)]


def delete(word: str, yes: bool, as_json: bool) -> None:
    """Forget a person's page and index; the conversations stay in the database."""
    wiring = session.make_wiring()
    person = session.find_person(wiring.library, word)
    if not yes:
        if as_json or not interactive():
            raise InputError(f"Deleting {line(person.title)} has to be confirmed. Add --yes.")
        typer.confirm(f"Delete {line(person.title)} ({person.language})? The conversations are kept.", abort=True)
    wiring.loader.delete(person)
    if as_json:
        write_json({"deleted": {"id": person.id, "title": person.title, "language": person.language}})
    else:
        say(f"{line(person.title)} is deleted. The conversations are kept; loading the page again brings it back.")
