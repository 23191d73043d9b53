"""`eval`: figures over cases.

It works in a data folder of its own (home/eval), so that nobody's threads are touched. A run that is interrupted keeps
what it has, and goes on there when it is started again with the same cases, prompts and settings.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter
from rich.table import Table

from persona.cases import Case, read_cases
from persona.cli import session
from persona.cli.modes import Judged, Mode, ModeName, Rewrites, Turns
from persona.cli.output import line, note, out, progress_bar, say
from persona.cli.runs import Report, check_folders, outcomes, read_report, write_html
from persona.errors import InputError
from persona.figures import Figures, amount, level, share
from persona.report import Results

_INTERRUPTED = 130


@dataclass(frozen=True, slots=True)
class Options:
    """What `eval` was asked for."""

    mode: ModeName = "turns"
    only: str = ""
    limit: int = 0
    json_out: Path | None = None
    html_out: Path | None = None
    baseline: Path | None = None
    fail_under: tuple[str, ...] = ()


def evaluate(paths: Sequence[Path], options: Options) -> int:
    """Run the cases and print what came of them. The exit code: 1 under --fail-under, 130 if it was interrupted."""
    bounds = _bounds(options.fail_under)
    check_folders(options.json_out, options.html_out)
    old = read_report(options.baseline) if options.baseline else None
    cases = read_cases(paths)
    wiring = session.make_eval_wiring()
    if options.mode == "rewrite":
        return _evaluate(Rewrites(wiring), paths, cases, options, bounds, old)
    return _evaluate(Turns(wiring, searching=options.mode == "retrieval"), paths, cases, options, bounds, old)


def _evaluate(
    mode: Mode[Judged],
    paths: Sequence[Path],
    cases: Sequence[Case],
    options: Options,
    bounds: Mapping[str, float],
    old: dict[str, Any] | None,
) -> int:
    cases = _chosen([case for case in cases if mode.takes(case)], options)
    run = _described(mode, paths, cases, options)
    report = Report(options.json_out, run, mode.kind, mode.figures)
    earlier = _earlier(mode, options.baseline, old)
    made = report.known()
    complete = _run(mode, cases, made, report)
    figures = mode.figures(made)
    _print_figures(figures, old)
    _print_failures(made)
    if old:
        _print_changes(made, earlier)
    if options.html_out:
        before = (old or {}).get("figures", {})
        write_html(options.html_out, Results(run, made, figures, cases, earlier, before))
    if not complete:
        kept = f" They are in {options.json_out}; the same command goes on there." if options.json_out else ""
        note(f"Interrupted after {len(made)} of {len(cases)} cases.{kept}")
        return _INTERRUPTED
    return 0 if _high_enough(figures["figures"], bounds) else 1


def _chosen(cases: Sequence[Case], options: Options) -> list[Case]:
    found = [case for case in cases if not options.only or options.only in case.tags]
    found = found[: options.limit] if options.limit else found
    if not found:
        raise InputError("No case is left to run. Check the file, --only and --limit.")
    return found


def _described(mode: Mode[Judged], paths: Sequence[Path], cases: Sequence[Case], options: Options) -> dict[str, Any]:
    """What makes a run that run: with the same of these it can be repeated, and gone on with."""
    return {
        "mode": options.mode,
        "files": [path.name for path in paths],
        "only": options.only,
        "case_set": hashlib.sha256("\n".join(map(repr, cases)).encode()).hexdigest()[:12],
        "version": version("persona"),
        **mode.described(cases),
    }


def _earlier(mode: Mode[Judged], path: Path | None, old: dict[str, Any] | None) -> dict[str, Judged]:
    """The baseline's cases by their id."""
    return {one.id: one for one in outcomes(path, old, TypeAdapter(mode.kind))} if path and old else {}


def _run(mode: Mode[Judged], cases: Sequence[Case], made: list[Judged], report: Report[Judged]) -> bool:
    """The cases that are not made yet, one by one, each kept as it comes; whether all of them were reached."""
    known = {one.id for one in made}
    todo = [case for case in cases if case.id not in known]
    report.write(made, complete=False)  # a file that cannot be written is told before the work
    try:
        with progress_bar() as bar:
            for case in bar.track(todo, total=len(cases), completed=len(made), description="asking"):
                made.append(mode.run(case))
                report.keep(made)
    except KeyboardInterrupt:
        return False
    finally:
        report.write(made, complete=len(made) == len(cases) and not any(one.error for one in made))
    return True


def _print_figures(figures: Mapping[str, Figures], old: Mapping[str, Any] | None) -> None:
    plain, before = figures.get("plain"), (old or {}).get("figures", {})
    more = [*(["Plain prompt", "Share"] if plain else []), *(["Before"] if old else [])]
    table = Table("Figure", "Count", "Share", *more, box=None, pad_edge=False)
    for name, value in figures["figures"].items():
        row = [name.replace("_", " "), amount(value), share(value)]
        if plain:
            row += [amount(plain.get(name)), share(plain.get(name))]
        if old:
            row.append(f"{amount(before.get(name))} {share(before.get(name))}".strip())
        table.add_row(*row)
    out().print(table)


def _print_failures(made: Sequence[Judged]) -> None:
    for one in made:
        if one.failed:
            say(f"{one.id}  {line(one.question)}  {line(one.told)}")


def _print_changes(made: Sequence[Judged], earlier: Mapping[str, Judged]) -> None:
    """Which cases are better, worse or only answered in other words."""
    pairs = [(one.id, earlier[one.id], one) for one in made if one.id in earlier]
    better = [name for name, before, after in pairs if after.worth > before.worth]
    worse = [name for name, before, after in pairs if after.worth < before.worth]
    changed = [name for name, before, after in pairs if after.worth == before.worth and after.said != before.said]
    for title, ids in (("better", better), ("worse", worse), ("changed", changed)):
        say(f"{title}: {len(ids)}  {' '.join(ids)}")


def _bounds(terms: Sequence[str]) -> dict[str, float]:
    """Each NAME=VALUE."""
    try:
        return {name: float(value) for name, _, value in (term.partition("=") for term in terms)}
    except ValueError as error:
        raise InputError("--fail-under takes NAME=VALUE, as in answered_right=0.8.") from error


def _high_enough(figures: Figures, bounds: Mapping[str, float]) -> bool:
    """Whether each share, or number, reaches its bound."""
    if missing := bounds.keys() - figures.keys():
        raise InputError(f"This run has no figure {', '.join(sorted(missing))}. There are: {', '.join(figures)}.")
    low = {name: bound for name, bound in bounds.items() if level(figures[name]) < bound}
    for name, bound in low.items():
        note(f"{name} is {level(figures[name]):.3f}, and {bound:g} was asked for.", style="red")
    return not low
