"""The three ways of `eval`: whole turns, search alone, rewriting alone. Each says what it needs, asks and counts."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeVar

from persona import evaluation, rewriting
from persona.cases import Case
from persona.cli.output import note
from persona.errors import InputError
from persona.evaluation import Examiner, Outcome
from persona.figures import Figures
from persona.ingest import CHUNKER
from persona.records import Choice, Loaded, Person
from persona.rewriting import RewriteExaminer, RewriteOutcome

if TYPE_CHECKING:
    from persona.wiring import Wiring

ModeName = Literal["turns", "retrieval", "rewrite"]
Judged = TypeVar("Judged", Outcome, RewriteOutcome)


class Mode(Protocol[Judged]):
    """One way to evaluate."""

    kind: type[Judged]

    def takes(self, case: Case) -> bool:
        """Whether the case says what is measured."""

    def described(self, cases: Sequence[Case]) -> dict[str, Any]:
        """What the figures depend on, beside the cases; pages are loaded for it."""

    def run(self, case: Case) -> Judged:
        """One case, put and judged."""

    def figures(self, made: Sequence[Judged]) -> dict[str, Figures]:
        """“figures”, and “plain” where there is a yardstick."""


class Turns:
    """Whole turns over the pages that the cases name, or with `searching` the search and the gate alone."""

    kind = Outcome

    def __init__(self, wiring: Wiring, *, searching: bool) -> None:
        self._wiring, self._searching = wiring, searching
        self._pages = Pages(wiring)
        self._examiner: Examiner | None = None

    def takes(self, case: Case) -> bool:
        """All of them."""
        return True

    def described(self, cases: Sequence[Case]) -> dict[str, Any]:
        """Pages, embedder and gates; of turns the prompts and settings too."""
        wiring = self._wiring
        people = [self._pages.found(title) for title in dict.fromkeys(case.page for case in cases)]
        languages = dict.fromkeys(person.language for person in people)
        described: dict[str, Any] = {
            "pages": {person.title: person.revision for person in people},
            "embedder": wiring.embedder.name,
            "chunker": CHUNKER,
            "gates": {language: _digest(asdict(wiring.gate(language))) for language in languages},
        }
        return described if self._searching else described | _models(wiring)

    def run(self, case: Case) -> Outcome:
        """Made when it is first needed, since a search needs no model."""
        if self._examiner is None:
            self._examiner = Examiner(self._wiring.interview, self._wiring.history, self._pages.person)
        return self._examiner.search(case) if self._searching else self._examiner.ask(case)

    def figures(self, made: Sequence[Outcome]) -> dict[str, Figures]:
        """Of the answers, or of the search."""
        return {"figures": evaluation.figures(made)}


class Rewrites:
    """The rewriting step beside the plain prompt, without pages."""

    kind = RewriteOutcome

    def __init__(self, wiring: Wiring) -> None:
        self._wiring = wiring
        self._examiner = RewriteExaminer(wiring.steps, wiring.rewrite_model)

    def takes(self, case: Case) -> bool:
        """Those with a past and a human's rewrite, or that stand alone."""
        return rewriting.has_rewrite(case)

    def described(self, cases: Sequence[Case]) -> dict[str, Any]:
        """The two prompts and the settings."""
        prompts = {"rewrite": self._wiring.prompts["rewrite"].sha, "plain": self._examiner.plain.sha}
        return {"prompts": prompts, "settings": self._wiring.recorded()}

    def run(self, case: Case) -> RewriteOutcome:
        """Both rewrites."""
        return self._examiner.ask(case)

    def figures(self, made: Sequence[RewriteOutcome]) -> dict[str, Figures]:
        """Of ours and of the yardstick."""
        return {
            "figures": rewriting.figures([one.ours for one in made]),
            "plain": rewriting.figures([one.plain for one in made]),
        }


class Pages:
    """Finds the person of a page, loading the page when it is first asked for."""

    def __init__(self, wiring: Wiring) -> None:
        self._wiring = wiring
        self._found: dict[str, Person] = {}
        self._samples = False

    def person(self, title: str) -> str:
        """The id. Raises InputError when there is no such page."""
        return self.found(title).id

    def found(self, title: str) -> Person:
        """The person. Raises InputError when there is no such page."""
        if title not in self._found:
            self._found[title] = self._stored(title) or self._load(title)
        return self._found[title]

    def _stored(self, title: str) -> Person | None:
        """The person, if the index is of use; the samples are brought up to date before."""
        if not self._samples:
            self._samples = True
            for _ in self._wiring.loader.samples():
                pass
        wiring = self._wiring
        return next((p for p in wiring.library.people() if p.title == title and wiring.ingest.is_current(p)), None)

    def _load(self, title: str) -> Person:
        note(f"loading {title}")
        page = self._wiring.wiki.fetch(title, self._wiring.settings.language)
        if isinstance(page, Choice):
            raise InputError(f"The cases speak of “{title}”, and there is no such page. Correct them.")
        return next(e.person for e in self._wiring.ingest.load(page) if isinstance(e, Loaded))


def _models(wiring: Wiring) -> dict[str, Any]:
    return {"prompts": {step: prompt.sha for step, prompt in wiring.prompts.items()}, "settings": wiring.recorded()}


def _digest(value: Any) -> str:  # noqa: ANN401 - anything that JSON can say
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()[:12]
