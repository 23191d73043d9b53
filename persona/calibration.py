"""The evidence gate fitted to cases: own questions pass, off-topic ones do not.

A logistic regression (scikit-learn) over the gate's features, classes weighed alike. Each case counts as asked and in a
second form, so that the persona's name neither helps an off-topic question nor is missed in an own one. Knows nothing
of files; `persona calibrate` stores the result with the embedder's name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from persona.addressing import with_you
from persona.cases import Case
from persona.errors import InputError
from persona.figures import Count, count
from persona.gate import LEXICAL, VECTOR, Gate

Features = Mapping[str, float]
Search = Callable[[str], Features]


@dataclass(frozen=True, slots=True)
class Example:
    """One form of a case's question as the gate sees it. `weight` keeps a case at one in all."""

    case: str
    page: str
    features: Features
    own: bool
    as_asked: bool


@dataclass(frozen=True, slots=True)
class Carried:
    """How the gate that some pages gave does on the questions of another."""

    fitted_on: str
    tested_on: str
    own_kept: Count
    off_topic_refused: Count


def examples(case: Case, search: Search) -> Iterator[Example]:
    """The forms of an own or off-topic case; nothing for one that is neither."""
    if not (case.answerable or case.off_topic) or "in-conversation" in case.tags:
        return
    other = with_you(case.alone, case.page) if case.answerable else f"{case.page}, do you know: {case.alone}"
    for n, question in enumerate(dict.fromkeys([case.alone, other])):
        yield Example(case.id, case.page, search(question), case.answerable, n == 0)


def fit_gate(found: Sequence[Example], embedder: str, fitted_on: str) -> Gate:
    """The gate of an embedder, or with "" that of words alone. Raises InputError without both kinds of case."""
    own = np.array([example.own for example in found])
    if own.all() or not own.any():
        raise InputError("The gate needs own questions and off-topic ones (tag “off-topic”) to be fitted.")
    from sklearn.linear_model import LogisticRegression
    from sklearn.preprocessing import StandardScaler

    names = VECTOR if embedder else LEXICAL
    values = np.array([[example.features[name] for name in names] for example in found])
    scaler = StandardScaler().fit(values)  # so that the penalty weighs all features alike
    model = LogisticRegression(C=1.0, class_weight="balanced", max_iter=1000).fit(scaler.transform(values), own)
    threshold = _threshold(model.predict_proba(scaler.transform(values))[:, 1], own)
    each = model.coef_[0] / scaler.scale_
    weights = {name: round(float(w), 4) for name, w in zip(names, each, strict=True)}
    intercept = float(model.intercept_[0] - each @ scaler.mean_)
    return Gate(embedder, weights, round(intercept, 4), round(threshold, 4), fitted_on)


def carried_over(found: Sequence[Example], embedder: str) -> list[Carried]:
    """Each page under the gate of each other page and, where there are more than two, of all the others together.

    A page that lacks own or off-topic questions gives no gate, but can be tested.
    """
    titles = list(dict.fromkeys(example.page for example in found))
    groups = [(title, (title,)) for title in titles]
    carried: list[Carried] = []
    for title in titles:
        others = tuple(other for other in titles if other != title)
        tested = [example for example in found if example.page == title]
        for name, pages in [*groups, *([("all the others", others)] if len(others) > 1 else [])]:
            fitted = [example for example in found if example.page in pages and example.page != title]
            if len({example.own for example in fitted}) == 2:
                carried.append(Carried(name, title, *gate_counts(fit_gate(fitted, embedder, name), tested)))
    return carried


def gate_counts(gate: Gate, found: Sequence[Example]) -> tuple[Count, Count]:
    """Own questions kept and off-topic ones refused, of the examples as asked."""
    asked = [example for example in found if example.as_asked]
    passed = [(example.own, gate.passes(example.features)) for example in asked]
    return count(passes for own, passes in passed if own), count(not passes for own, passes in passed if not own)


def _threshold(scores: np.ndarray, own: np.ndarray) -> float:
    """Where the worse of the two shares, kept and refused, is best; the middle of the places that are alike."""
    places = np.linspace(0.02, 0.98, 193)
    worse = np.array([min((scores[own] >= p).mean(), (scores[~own] < p).mean()) for p in places])
    return float(np.median(places[worse >= worse.max() - 1e-9]))
