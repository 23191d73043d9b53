"""`calibrate`: the evidence gate of an embedder fitted to cases, and how well it carries over from page to page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from rich.table import Table

from persona.calibration import Carried, Example, carried_over, examples, fit_gate, gate_counts
from persona.cases import Case, read_cases
from persona.cli import session
from persona.cli.modes import Pages
from persona.cli.output import note, out, progress_bar, say, write_json
from persona.figures import amount, share

if TYPE_CHECKING:
    from persona.wiring import Wiring


def calibrate(paths: Sequence[Path], folder: Path | None, words: bool, as_json: bool) -> None:
    """Fit the gate to all cases and store it; print how each page does under a gate fitted to others."""
    cases = read_cases(paths)
    wiring = session.make_eval_wiring()
    pages = Pages(wiring)
    people = [pages.found(title) for title in dict.fromkeys(case.page for case in cases)]
    found = _examples(wiring, pages, cases)
    embedder = "" if words else wiring.embedder.name
    gate = fit_gate(found, embedder, ", ".join(dict.fromkeys(example.page for example in found)))
    carried = carried_over(found, embedder)
    every = Carried("all", "all", *gate_counts(gate, found))
    stored = gate.save(folder or wiring.gates)
    if as_json:
        write_json(
            {
                "embedder": embedder,
                "pages": {person.title: person.revision for person in people},
                "files": [path.name for path in paths],
                "carried_over": [asdict(one) for one in carried],
                "all": {"own_kept": every.own_kept, "off_topic_refused": every.off_topic_refused},
                "gate": asdict(gate),
                "stored": str(stored),
            }
        )
        return
    _print([*carried, every])
    if not carried:
        note("With cases of one page alone nothing can be said of how the gate carries over; name those of another.")
    say(f"The gate of {embedder or 'words alone'} is stored in {stored}.")


def _examples(wiring: Wiring, pages: Pages, cases: Sequence[Case]) -> list[Example]:
    found: list[Example] = []
    with progress_bar() as bar:
        for case in bar.track(cases, description="searching"):
            found += examples(case, wiring.interview.subject(pages.person(case.page)).searcher.features)
    return found


def _print(carried: Sequence[Carried]) -> None:
    table = Table("Fitted on", "Tested on", "Own kept", "", "Off-topic refused", "", box=None, pad_edge=False)
    for one in carried:
        kept, refused = one.own_kept, one.off_topic_refused
        shares = [share(counts) if counts["of"] else "" for counts in (kept, refused)]
        table.add_row(one.fitted_on, one.tested_on, amount(kept), shares[0], amount(refused), shares[1])
    out().print(table)
