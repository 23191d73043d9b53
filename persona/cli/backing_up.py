"""`backup` and `restore`: all that is known of people and conversations, as one file and back again."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from persona.cli import session
from persona.cli.loading import follow
from persona.cli.output import interactive, line, say, write_json
from persona.errors import InputError
from persona.records import now

if TYPE_CHECKING:
    from persona.adapters.backup import Contents
    from persona.wiring import Wiring


def backup(file: Path, yes: bool, as_json: bool) -> None:
    """Write a backup; a file that is there is replaced only when told to."""
    if file.exists() and not (yes and file.is_file()):
        raise InputError(f"{file} is there already. Name another file, or add --yes to replace it.")
    wiring = session.make_wiring()
    contents = _written(lambda: wiring.database.back_up(file), file)
    if as_json:
        write_json({"file": str(file.absolute()), "bytes": file.stat().st_size, **asdict(contents)})
    else:
        say(f"{contents.people} people, {contents.threads} threads and {contents.turns} turns are saved in {file}.")


def restore(file: Path, yes: bool, as_json: bool) -> None:
    """Put a backup in place of what is there, of which a backup is kept; then make the vectors that are missing."""
    wiring = session.make_wiring()
    kept: Path | None = None
    if wiring.library.people() or wiring.history.threads():
        _confirm(wiring, yes, as_json)
        kept = wiring.settings.home / f"before-restore-{now():%Y%m%dT%H%M%S.%f}.backup"
    contents = _written(lambda: wiring.database.replace_by(file, kept), kept)
    for person in wiring.library.people():
        if not wiring.ingest.is_whole(person):
            follow(wiring.ingest.mend(person))
    if as_json:
        write_json({**asdict(contents), "kept": str(kept) if kept else ""})
        return
    say(f"{contents.people} people, {contents.threads} threads and {contents.turns} turns are restored.")
    if kept:
        say(f"What was there before is saved in {kept}.", style="dim")


def _confirm(wiring: Wiring, yes: bool, as_json: bool) -> None:
    """Raises InputError, or typer.Abort, unless the reader wants it."""
    if yes:
        return
    there = f"{len(wiring.library.people())} people and {len(wiring.history.threads())} threads"
    if as_json or not interactive():
        raise InputError(f"Restoring replaces {there} that are there. Add --yes if you want that.")
    typer.confirm(f"Replace {line(there)} that are there? A backup of them is kept.", abort=True)


def _written(work: Callable[[], Contents], file: Path | None) -> Contents:
    try:
        return work()
    except OSError as error:
        raise InputError(f"{file} cannot be written ({error.strerror or error}). See that there is room.") from error
