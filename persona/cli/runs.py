"""What a run of `eval` writes and what it finds of an earlier one.

A run is described by all that makes its figures what they are: cases, pages' revisions, embedder, gates, prompts, model,
settings. Only what was written under the same description is gone on with.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Generic, TypeVar

from pydantic import TypeAdapter, ValidationError

from persona.cli.output import note
from persona.errors import InputError
from persona.records import now
from persona.report import Results, as_html

Outcome = TypeVar("Outcome")
Run = Mapping[str, Any]


class Report(Generic[Outcome]):
    """The file that a run is written to, case after case; without a path nothing is kept."""

    def __init__(
        self, path: Path | None, run: Run, kind: type[Outcome], figures: Callable[[Sequence[Outcome]], Run]
    ) -> None:
        self._path, self._run, self._kind, self._figures = path, run, TypeAdapter(kind), figures
        self._written = time.monotonic()

    def known(self) -> list[Outcome]:
        """The outcomes of the same run, if it broke off; those that ended in an error are to be asked again."""
        if self._path is None or not self._path.is_file():
            return []
        stored = read_report(self._path)
        if stored.get("complete"):
            return []
        if changed := [name for name in self._run if stored.get("run", {}).get(name) != self._run[name]]:
            note(f"{self._path} holds an earlier run with other {', '.join(changed)}; this one starts anew.")
            return []
        found = [one for one in outcomes(self._path, stored, self._kind) if not getattr(one, "error", "")]
        note(f"Going on after {len(found)} cases that are in {self._path}.")
        return found

    def keep(self, made: Sequence[Outcome]) -> None:
        """What is made so far, at most once a second: a search takes less than writing all of them."""
        if time.monotonic() - self._written >= 1:
            self.write(made, complete=False)

    def write(self, made: Sequence[Outcome], *, complete: bool) -> None:
        """All of it, in one step, so that a killed run leaves the last whole one."""
        if self._path is None:
            return
        value = {
            "run": self._run,
            "written_at": now().isoformat(timespec="seconds"),
            "complete": complete,
            **self._figures(made),
            "cases": [self._kind.dump_python(one, mode="json", exclude_none=True) for one in made],
        }
        unfinished = self._path.with_name(self._path.name + ".part")
        try:
            unfinished.write_text(json.dumps(value, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
            os.replace(unfinished, self._path)
            self._written = time.monotonic()
        except OSError as error:
            raise InputError(f"{self._path} cannot be written ({error}). Name another file.") from error


def check_folders(*files: Path | None) -> None:
    """Raises InputError for a file that could not be written, before the work is done."""
    for file in files:
        if file and not file.resolve().parent.is_dir():
            raise InputError(f"There is no folder {file.parent}. Make it, or name another file.")


def write_html(path: Path, results: Results) -> None:
    """The report to be looked at."""
    try:
        path.write_text(as_html(results), encoding="utf-8")
    except OSError as error:
        raise InputError(f"{path} cannot be written ({error}). Name another file.") from error


def read_report(path: Path) -> dict[str, Any]:
    """An earlier run. Raises InputError if the file is none."""
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(f"{path} is no report of an earlier run ({error}). Name another file.") from error
    if not isinstance(value, dict) or not isinstance(value.get("cases"), list):
        raise InputError(f"{path} is no report of an earlier run. Name another file.")
    return value


def outcomes(path: Path, stored: Mapping[str, Any], kind: TypeAdapter[Outcome]) -> list[Outcome]:
    """The cases of an earlier run. Raises InputError if they are of another mode or another program."""
    try:
        return [kind.validate_python(value) for value in stored["cases"]]
    except ValidationError as error:
        raise InputError(f"{path} holds a run of another kind ({error.error_count()} differences).") from error
