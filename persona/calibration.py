"""The evidence gate fitted to cases: own questions pass, off-topic ones do not.

A logistic regression (scikit-learn) over the gate's features, classes weighed alike. Each case counts as asked and in a
second form, so that the persona's name neither helps an off-topic question nor is missed in an own one. Knows nothing
of files; `persona calibrate` stores the result with the embedder's name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from persona.cases import Case
from persona.errors import InputError
from persona.retrieval import LEXICAL, VECTOR, Gate, with_you

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
class GateFigures:
    """How a gate does on examples as asked."""

    kept: int
    own: int
    refused: int
    off_topic: int


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


def gate_figures(gate: Gate, found: Sequence[Example]) -> GateFigures:
    """Counts over the examples as asked."""
    asked = [example for example in found if example.as_asked]
    own = [example for example in asked if example.own]
    off = [example for example in asked if not example.own]
    kept, refused = (sum(gate.passes(e.features) for e in own), sum(not gate.passes(e.features) for e in off))
    return GateFigures(kept, len(own), refused, len(off))


def _threshold(scores: np.ndarray, own: np.ndarray) -> float:
    """Where the worse of the two shares, kept and refused, is best; the middle of the places that are alike."""
    places = np.linspace(0.02, 0.98, 193)
    worse = np.array([min((scores[own] >= p).mean(), (scores[~own] < p).mean()) for p in places])
    return float(np.median(places[worse >= worse.max() - 1e-9]))
