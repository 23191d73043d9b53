"""`eval` and `calibrate`: figures over cases, and the evidence gate fitted to them.

Both work in a data folder of their own (home/eval), so that nobody's threads are touched. A run that is interrupted
keeps what it has, and goes on there when it is started again with the same cases, settings and prompts.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
from rich.progress import Progress as Bar
from rich.table import Table

from persona.cases import Case, read_cases
from persona.cli import session
from persona.cli.output import err, line, note, out, say
from persona.errors import InputError
from persona.evaluation import Examiner, Outcome, as_json, as_outcome, failed, figures
from persona.records import Choice, Loaded, Person, now

if TYPE_CHECKING:
    from persona.wiring import Wiring


@dataclass(frozen=True, slots=True)
class Options:
    """What `eval` was asked for."""

    retrieval: bool
    only: str
    limit: int
    json_out: Path | None
    baseline: Path | None
    fail_under: tuple[str, ...]


def evaluate(paths: Sequence[Path], options: Options) -> bool:
    """Run the cases and print what came of them; whether every figure is as high as --fail-under asks."""
    cases = _chosen(read_cases(paths), options)
    wiring = session.make_eval_wiring()
    pages = Pages(wiring)
    run = _described(wiring, cases, options)
    outcomes = _known(options.json_out, run)
    examiner = Examiner(wiring.interview, wiring.history, pages.person)
    todo = [case for case in cases if case.id not in {o.id for o in outcomes}]
    try:
        for case in _drawn(todo, len(outcomes)):
            outcomes.append(examiner.search(case) if options.retrieval else examiner.ask(case))
            _write(options.json_out, run, outcomes, pages, complete=len(outcomes) == len(cases))
    except KeyboardInterrupt:
        kept = f" They are in {options.json_out}; the same command goes on there." if options.json_out else ""
        note(f"Interrupted after {len(outcomes)} of {len(cases)} cases.{kept}")
    _print(outcomes, _read(options.baseline) if options.baseline else None)
    return _high_enough(figures(outcomes), options.fail_under)


class Pages:
    """Finds the person of a page, loading the page when it is first asked for."""

    def __init__(self, wiring: Wiring) -> None:
        self._wiring = wiring
        self._found: dict[str, Person] = {}

    def person(self, title: str) -> str:
        """The id. Raises InputError when there is no such page."""
        if title not in self._found:
            self._found[title] = self._stored(title) or self._load(title)
        return self._found[title].id

    def revisions(self) -> dict[str, str]:
        """Which revision of each page was asked."""
        return {title: person.revision for title, person in self._found.items()}

    def _stored(self, title: str) -> Person | None:
        return next((person for person in self._wiring.library.people() if person.title == title), None)

    def _load(self, title: str) -> Person:
        for _ in self._wiring.add_samples():
            pass
        if person := self._stored(title):
            return person
        note(f"loading {title}")
        page = self._wiring.wiki.fetch(title, self._wiring.settings.language)
        if isinstance(page, Choice):
            raise InputError(f"The cases speak of “{title}”, and there is no such page. Correct them.")
        return next(e.person for e in self._wiring.ingest.load(page) if isinstance(e, Loaded))


def _chosen(cases: Sequence[Case], options: Options) -> list[Case]:
    found = [case for case in cases if not options.only or options.only in case.tags]
    found = found[: options.limit] if options.limit else found
    if not found:
        raise InputError("No case is left to run. Check the file, --only and --limit.")
    return found


def _described(wiring: Wiring, cases: Sequence[Case], options: Options) -> dict[str, Any]:
    """What makes a run that run: with the same of these it can be repeated, and gone on with."""
    digest = hashlib.sha256("\n".join(map(repr, cases)).encode()).hexdigest()[:12]
    described: dict[str, Any] = {"mode": "retrieval" if options.retrieval else "turns", "case_set": digest}
    described["embedder"] = wiring.embedder.name
    if not options.retrieval:
        described["prompts"] = {step: prompt.sha for step, prompt in wiring.prompts.items()}
        described["settings"] = wiring.recorded()
    return described


def _known(path: Path | None, run: dict[str, Any]) -> list[Outcome]:
    """The outcomes of the same run, if it was interrupted."""
    stored = _read(path) if path and path.is_file() else {}
    same = stored.get("run") == run and not stored.get("complete")
    found = [as_outcome(value) for value in stored.get("cases", [])] if same else []
    if found:
        note(f"Going on after {len(found)} cases that are in {path}.")
    return found


def _drawn(cases: Sequence[Case], done: int) -> Iterator[Case]:
    """The cases one by one, with a bar and the time left on a terminal."""
    if not err().is_terminal:
        yield from cases
        return
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Bar(*columns, console=err()) as bar:
        task = bar.add_task("asking", total=done + len(cases), completed=done)
        for case in cases:
            yield case
            bar.advance(task)


def _write(
    path: Path | None, run: dict[str, Any], outcomes: Sequence[Outcome], pages: Pages, *, complete: bool
) -> None:
    if path is None:
        return
    value = {
        "run": run,
        "pages": pages.revisions(),
        "written_at": now().isoformat(timespec="seconds"),
        "complete": complete,
        "figures": figures(outcomes),
        "cases": [as_json(outcome) for outcome in outcomes],
    }
    unfinished = path.with_name(path.name + ".part")
    unfinished.write_text(json.dumps(value, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
    os.replace(unfinished, path)


def _read(path: Path) -> dict[str, Any]:
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(f"{path} is no report of an earlier run ({error}). Name another file.") from error
    return value if isinstance(value, dict) else {}


def _print(outcomes: Sequence[Outcome], old: dict[str, Any] | None) -> None:
    before = old.get("figures", {}) if old else {}
    table = Table("Figure", "Count", "Share", *(["Before"] if old else []), box=None, pad_edge=False)
    for name, value in figures(outcomes).items():
        row = [name.replace("_", " "), _count(value), _share(value)]
        table.add_row(*row, *([f"{_count(before.get(name))} {_share(before.get(name))}".strip()] if old else []))
    out().print(table)
    for outcome in outcomes:
        if failed(outcome):
            said = outcome.error or outcome.answer or outcome.reason
            say(f"{outcome.id}  {line(outcome.question)}  [{outcome.stage or 'no turn'}]  {line(said)[:160]}")
    if old:
        _print_changes(outcomes, old)


def _print_changes(outcomes: Sequence[Outcome], old: dict[str, Any]) -> None:
    """Which cases are better, worse or only answered in other words."""
    earlier = {o.id: o for o in map(as_outcome, old.get("cases", []))}
    for title, chosen in (
        ("better", lambda a, b: failed(a) and not failed(b)),
        ("worse", lambda a, b: failed(b) and not failed(a)),
        ("changed", lambda a, b: failed(a) == failed(b) and a.answer != b.answer),
    ):
        ids = [o.id for o in outcomes if o.id in earlier and chosen(earlier[o.id], o)]
        say(f"{title}: {len(ids)}  {' '.join(ids)}")


def _count(value: Any) -> str:  # noqa: ANN401 - a count or a number
    return f"{value['n']} of {value['of']}" if isinstance(value, dict) else "" if value is None else f"{value:g}"


def _share(value: Any) -> str:  # noqa: ANN401
    return f"{value['n'] / value['of']:.3f}" if isinstance(value, dict) and value["of"] else ""


def _high_enough(found: dict[str, Any], wanted: Sequence[str]) -> bool:
    """Each NAME=VALUE: a share for counts, the number itself otherwise."""
    fine = True
    for term in wanted:
        name, _, text = term.partition("=")
        try:
            bound, value = float(text), found[name]
        except (ValueError, KeyError) as error:
            raise InputError(f"--fail-under takes NAME=VALUE with one of: {', '.join(found)}.") from error
        reached = value["n"] / value["of"] if isinstance(value, dict) else value
        if reached < bound:
            note(f"{name} is {reached:.3f}, and {bound:g} was asked for.", style="red")
            fine = False
    return fine
