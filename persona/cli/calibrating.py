"""`calibrate`: the evidence gate of an embedder fitted to cases, and how well it carries over from page to page."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from persona.calibration import Example, examples, fit_gate, gate_figures
from persona.cases import read_cases
from persona.cli import session
from persona.cli.modes import Pages
from persona.cli.output import say
from persona.retrieval import Gate


def calibrate(paths: Sequence[Path], folder: Path | None, words: bool) -> None:
    """Fit the gate to all cases, store it, and print how each page does under a gate fitted to the others."""
    wiring = session.make_eval_wiring()
    pages = Pages(wiring)
    found: list[Example] = []
    for case in read_cases(paths):
        found += examples(case, wiring.interview.subject(pages.person(case.page)).searcher.features)
    embedder = "" if words else wiring.embedder.name
    titles = list(dict.fromkeys(example.page for example in found))
    for title in titles:
        _print_held_out(title, found, embedder)
    gate = fit_gate(found, embedder, ", ".join(f"{title}" for title in titles))
    _print_figures("all, fitted on all", gate, found)
    stored = gate.save(folder or session.make_wiring().settings.home / "gates")
    say(f"The gate of {embedder or 'words alone'} is stored in {stored}.")


def _print_held_out(title: str, found: Sequence[Example], embedder: str) -> None:
    others = [example for example in found if example.page != title]
    if len({example.own for example in others}) == 2:
        own = [example for example in found if example.page == title]
        _print_figures(f"{title}, fitted on the other pages", fit_gate(others, embedder, ""), own)


def _print_figures(what: str, gate: Gate, found: Sequence[Example]) -> None:
    figures = gate_figures(gate, found)
    say(
        f"{what}: keeps {figures.kept} of {figures.own} own, refuses {figures.refused} of {figures.off_topic} off-topic"
    )
