"""`persona calibrate`: the gate that is fitted, where it is stored, and how it does on pages that it has not seen."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

from persona.calibration import Example, carried_over, examples, fit_gate, gate_counts
from persona.cases import Case
from persona.cli.app import app
from persona.errors import InputError
from persona.gate import LEXICAL, load_gate
from persona.settings import Settings
from persona.wiring import Wiring
from tests.cli_fixture import line
from tests.core import ADA, WordEmbedder, page

__all__ = ["line"]


def example(where: str, coverage: float, *, own: bool, as_asked: bool = True) -> Example:
    features = dict.fromkeys(LEXICAL, 0.0) | {"coverage": coverage, "ties": 2.0, "matched": 0.5}
    return Example(f"{where}{coverage}", where, features, own, as_asked)


def of(where: str, own: list[float], off: list[float]) -> list[Example]:
    return [*(example(where, c, own=True) for c in own), *(example(where, c, own=False) for c in off)]


APART = of("A", [0.8, 0.9, 1.0], [0.0, 0.1, 0.2])
MIXED = of("B", [0.9, 1.0, 0.1], [0.0, 0.95, 0.05])


def test_a_gate_is_fitted_between_own_and_off_topic_questions():
    gate = fit_gate(APART, "", "A")
    assert gate_counts(gate, APART) == ({"n": 3, "of": 3}, {"n": 3, "of": 3})
    assert gate.fitted_on == "A"


def test_only_questions_as_asked_are_counted():
    more = [*APART, example("A", 0.0, own=True, as_asked=False)]
    assert gate_counts(fit_gate(APART, "", "A"), more) == ({"n": 3, "of": 3}, {"n": 3, "of": 3})


def test_two_pages_are_tested_under_each_others_gate():
    carried = carried_over([*APART, *MIXED], "")
    assert [(one.fitted_on, one.tested_on) for one in carried] == [("B", "A"), ("A", "B")]
    under_a = carried[1]
    assert (under_a.own_kept, under_a.off_topic_refused) == ({"n": 2, "of": 3}, {"n": 2, "of": 3})
    assert under_a.own_kept == gate_counts(fit_gate(APART, "", ""), MIXED)[0]


def test_three_pages_are_tested_under_each_other_one_and_under_all_the_others():
    third = of("C", [0.7], [0.3])
    carried = [(one.fitted_on, one.tested_on) for one in carried_over([*APART, *MIXED, *third], "")]
    assert carried == [
        ("B", "A"), ("C", "A"), ("all the others", "A"),
        ("A", "B"), ("C", "B"), ("all the others", "B"),
        ("A", "C"), ("B", "C"), ("all the others", "C"),
    ]  # fmt: skip


def test_a_page_without_off_topic_questions_gives_no_gate_but_is_tested():
    carried = carried_over([*APART, *of("B", [0.9], [])], "")
    assert [(one.fitted_on, one.tested_on) for one in carried] == [("A", "B")]
    assert carried[0].off_topic_refused == {"n": 0, "of": 0}


def test_a_gate_needs_both_kinds():
    with pytest.raises(InputError, match="off-topic"):
        fit_gate(of("A", [0.9], []), "", "A")


def test_a_case_counts_as_asked_and_with_the_name_put_in_or_taken_out():
    searched: list[str] = []

    def search(question: str) -> dict[str, float]:
        searched.append(question)
        return {}

    own = list(examples(Case("1", "Ada Marsh", "Who taught Ada Marsh to trim?"), search))
    off = list(examples(Case("2", "Ada Marsh", "Why is the sky blue?", answerable=False, tags=("off-topic",)), search))
    assert searched == [
        "Who taught Ada Marsh to trim?", "Who taught you to trim?",
        "Why is the sky blue?", "Ada Marsh, do you know: Why is the sky blue?",
    ]  # fmt: skip
    assert [one.as_asked for one in (*own, *off)] == [True, False, True, False]
    assert list(examples(Case("3", "Ada Marsh", "Did you own a storm glass?", answerable=False), search)) == []


# --- the command ---

OWN = [
    "Who was your father?",
    "Who taught you Latin?",
    "What happened in the storm?",
    "What did you call your fog signal?",
]
OFF = [
    "Why is the sky blue?",
    "How does a diesel engine work?",
    "What is the capital of Peru?",
    "Who won the cup final?",
]


@pytest.fixture
def files(line, monkeypatch):
    """Cases on two pages that are loaded, by an embedder that knows words only."""
    home = line.folder / "home" / "eval"
    wiring = Wiring(Settings(home=home), model=line.model, rewrite_model=line.model, kind="scripted", embedder=WordEmbedder(), gates=line.wiring.gates)  # fmt: skip
    monkeypatch.setattr("persona.cli.session.make_eval_wiring", lambda: wiring)
    monkeypatch.setattr("persona.loading.samples", list)
    paths = []
    for title in ("Ada Marsh", "Ida Marsh"):
        list(wiring.ingest.load(page(title, {path: text.replace("Ada", title[:3]) for path, text in ADA.items()})))
        cases = [{"id": f"{title} {q}", "page": title, "question": q} for q in OWN]
        cases += [
            {"id": f"{title} {q}", "page": title, "question": q, "answerable": False, "tags": ["off-topic"]}
            for q in OFF
        ]
        paths.append(line.write("".join(json.dumps(case) + "\n" for case in cases), f"{title[:3]}.jsonl"))
    yield paths
    wiring.database.close()


def calibrate(*words: object) -> str:
    result = CliRunner().invoke(app, ["calibrate", *map(str, words)], prog_name="persona")
    assert result.exit_code == 0, result.output
    return result.stdout


def test_the_gate_is_stored_where_interviews_find_it(line, files):
    said = calibrate(*files)
    gate = load_gate("words-64", line.wiring.gates)
    assert gate is not None
    assert gate.fitted_on == "Ada Marsh, Ida Marsh"
    assert f"stored in {line.wiring.gates}" in " ".join(said.split()).replace("- ", "-")


def test_each_page_is_told_under_the_others_gate_both_ways(files):
    rows = [" ".join(row.split()) for row in calibrate(*files).splitlines()]
    assert any(row.startswith("Ida Marsh Ada Marsh 4 of 4 1.000 4 of 4") for row in rows), rows
    assert any(row.startswith("Ada Marsh Ida Marsh 4 of 4 1.000 4 of 4") for row in rows), rows
    assert any(row.startswith("all all 8 of 8 1.000 8 of 8") for row in rows), rows


def test_the_json_holds_the_same(files, tmp_path):
    found = json.loads(calibrate(*files, "--into", tmp_path / "gates", "--json"))
    assert [(one["fitted_on"], one["tested_on"]) for one in found["carried_over"]] == [
        ("Ida Marsh", "Ada Marsh"), ("Ada Marsh", "Ida Marsh"),
    ]  # fmt: skip
    assert found["carried_over"][0]["own_kept"] == {"n": 4, "of": 4}
    assert found["all"]["off_topic_refused"] == {"n": 8, "of": 8}
    assert found["pages"] == {"Ada Marsh": "1", "Ida Marsh": "1"}
    assert found["gate"] == json.loads((tmp_path / "gates" / "words-64.json").read_text("utf-8")) | {}


def test_the_gate_of_words_alone_can_be_fitted_too(files, tmp_path):
    found = json.loads(calibrate(*files, "--words", "--into", tmp_path, "--json"))
    assert found["gate"]["embedder"] == ""
    assert found["gate"]["weights"].keys() == set(LEXICAL)


def test_one_page_alone_says_nothing_of_others(files):
    assert "name those of another" in " ".join(CliRunner().invoke(app, ["calibrate", str(files[0])]).output.split())
