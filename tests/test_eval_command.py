"""`persona eval`: what is printed, written, gone on with, compared, and with which exit code it ends."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from persona.cli.app import app
from persona.cli.session import make_eval_wiring
from persona.errors import ModelUnreachable
from persona.gate import Gate
from persona.settings import Settings
from persona.wiring import Wiring
from tests.cli_fixture import ILSE, line, minilm
from tests.core import ADA, StepModel, WordEmbedder, page

__all__ = ["line"]
FATHER = {
    "id": "father",
    "page": "Ada Marsh",
    "question": "Who was your father?",
    "answers": ["Josiah Marsh"],
    "section": "Early life",
}
LATIN = {
    "id": "latin",
    "page": "Ada Marsh",
    "question": "Who taught you Latin?",
    "answers": ["Thomas Hale"],
    "section": "Early life -> Schooling",
    "tags": ["school"],
}
SKY = {"id": "sky", "page": "Ada Marsh", "question": "Why is the sky blue?", "answerable": False, "tags": ["off-topic"]}
CASES = [FATHER, LATIN, SKY]
RIGHT = ["My father was Josiah Marsh.", "The vicar Thomas Hale taught me Latin."]
FOLLOW = {
    "id": "storm",
    "page": "Ada Marsh",
    "history": [["user", "When was the storm?"], ["persona", "It was in November 1871."]],
    "question": "Which ship did you save then?",
    "rewrite": "Which ship did Ada Marsh save in November 1871?",
}
ALONE = FOLLOW | {"id": "alone", "question": "Who taught you Latin?", "rewrite": "Who taught Ada Marsh Latin?", "tags": ["stands-alone"]}  # fmt: skip
REWRITTEN = '{"question": "Which ship did Ada Marsh save in November 1871?", "turns": [1]}'


@dataclass
class Exam:
    """`persona eval` in this process, over a page that is loaded and a model that is scripted by step."""

    wiring: Wiring
    folder: Path
    model: StepModel = field(default_factory=StepModel)

    def __call__(self, cases: list[dict[str, Any]], *words: str) -> Result:
        file = self.folder / "cases.jsonl"
        file.write_text("".join(json.dumps(case) + "\n" for case in cases), "utf-8")
        return CliRunner().invoke(app, ["eval", str(file), *words], prog_name="persona")

    def report(self, name: str = "out.json") -> dict[str, Any]:
        return json.loads((self.folder / name).read_text("utf-8"))

    @property
    def out(self) -> str:
        return str(self.folder / "out.json")

    def answers(self, *replies: Any) -> None:
        self.model.scripts["answer"] += replies


def wired(home: Path, model: StepModel, **more: Any) -> Wiring:
    settings = Settings(home=home, model="scripted", wiki_api="http://127.0.0.1:9/api.php")
    parts: dict[str, Any] = {"model": model, "rewrite_model": model, "kind": "scripted", "embedder": minilm()}
    return Wiring(settings, **(parts | more))


@pytest.fixture(scope="session")
def loaded(tmp_path_factory: pytest.TempPathFactory) -> Wiring:
    """Ada Marsh in a folder for all tests, which change nothing of her page."""
    wiring = wired(tmp_path_factory.mktemp("eval"), StepModel())
    list(wiring.ingest.load(page("Ada Marsh", ADA)))
    return wiring


@pytest.fixture
def exam(loaded: Wiring, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Exam]:
    """All calls of the script, and no others, must have been made at the end."""
    made = Exam(loaded, tmp_path)
    fresh = wired(loaded.settings.home, made.model)
    monkeypatch.setattr("persona.cli.session.make_eval_wiring", lambda: fresh)
    monkeypatch.setattr("persona.loading.samples", list)
    yield made
    made.model.assert_done()
    fresh.database.close()


def broken_off(_: object) -> str:
    raise KeyboardInterrupt


# --- turns ---


def test_turns_are_run_printed_and_written(exam):
    exam.answers(*RIGHT)
    result = exam(CASES, "--json", exam.out)
    assert result.exit_code == 0, result.output
    assert "answered right" in result.output
    assert "2 of 2" in result.output
    report = exam.report()
    assert report["complete"] is True
    assert report["figures"]["answered_right"] == {"n": 2, "of": 2}
    assert report["figures"]["refused_right"] == {"n": 1, "of": 1}
    assert report["figures"]["off_topic_answer_calls"] == {"n": 0, "of": 1}
    assert [case["id"] for case in report["cases"]] == ["father", "latin", "sky"]
    assert report["cases"][0]["trace"]["calls"][0]["reply"] == RIGHT[0]


def test_a_report_to_be_looked_at_is_written_also_when_it_was_interrupted(exam):
    exam.answers("My mother Ruth sold herring on the quay.", broken_off)
    html = exam.folder / "out.html"
    assert exam(CASES, "--html", str(html)).exit_code == 130
    text = html.read_text("utf-8")
    assert "My mother Ruth sold herring on the quay." in text
    assert "Her father was <mark>Josiah Marsh</mark>" in text
    assert '<span class="chip bad">interrupted</span>' in text


def test_every_figure_has_its_name(exam):
    exam.answers(*RIGHT)
    exam(CASES, "--json", exam.out)
    assert exam.report()["figures"].keys() >= {
        "answered_right", "refused_right", "refused_wrongly", "right_first", "right_top3", "right_sent", "own_kept",
        "off_topic_refused", "off_topic_answer_calls", "first_person", "fragments", "unsupported", "calls_per_turn",
        "prompt_tokens_per_turn", "seconds_median", "first_token_median",
    }  # fmt: skip


def test_a_run_records_what_it_takes_to_repeat_it(exam):
    exam.answers(*RIGHT)
    exam(CASES, "--json", exam.out)
    run = exam.report()["run"]
    assert run["pages"] == {"Ada Marsh": "1"}
    assert run["prompts"].keys() == {"rewrite", "categorize", "rank", "answer"}
    assert run["settings"]["model"] == "scripted"
    assert run["embedder"] == "all-MiniLM-L6-v2-int8"
    assert (run["mode"], run["files"]) == ("turns", ["cases.jsonl"])
    assert run["gates"].keys() == {"en"}


def test_what_failed_is_printed_with_its_stage_and_what_was_said(exam):
    exam.answers("My mother Ruth sold herring on the quay.", RIGHT[1])
    result = exam(CASES)
    told = r"father  Who was your father\?  \[(leader|nearest)\] My mother Ruth sold herring on the quay\. \(it holds no accepted answer\)"
    assert re.search(told, result.output)
    assert "latin  " not in result.output


def test_search_alone_needs_no_model_and_lists_what_it_missed(exam):
    wrong = FATHER | {"id": "wrong", "section": "Legacy"}
    result = exam([*CASES, wrong], "--retrieval", "--json", exam.out)
    assert result.exit_code == 0
    report = exam.report()
    assert report["figures"]["right_first"] == {"n": 2, "of": 3}
    assert report["run"].keys().isdisjoint({"prompts", "settings"})
    assert "wrong  Who was your father?  " in result.output


# --- rewriting ---


def test_rewriting_is_shown_beside_the_plain_prompt(exam):
    exam.model.scripts["rewrite"] += [REWRITTEN, '{"question": "Who taught you Latin?", "turns": []}']
    exam.answers("Which ship did you save in 1871?", "Who taught you Latin in November 1871?")
    result = exam([FATHER, FOLLOW, ALONE], "--rewrite", "--json", exam.out)
    assert result.exit_code == 0, result.output
    report = exam.report()
    assert report["figures"]["names_held"] == {"n": 4, "of": 4}
    assert report["plain"]["names_held"] == {"n": 1, "of": 4}
    assert report["figures"]["standalone_kept"] == {"n": 1, "of": 1}
    assert report["plain"]["standalone_kept"] == {"n": 0, "of": 1}
    assert report["run"]["prompts"].keys() == {"rewrite", "plain"}
    assert [case["id"] for case in report["cases"]] == ["storm", "alone"], "a case without a rewrite is left out"
    (row,) = [text.split() for text in result.output.splitlines() if text.startswith("names held")]
    assert row == ["names", "held", "4", "of", "4", "1.000", "1", "of", "4", "0.250"]


def test_rewriting_goes_on_where_it_stopped(exam):
    exam.model.scripts["rewrite"] += [REWRITTEN, broken_off]
    exam.answers("Which ship?")
    result = exam([FOLLOW, ALONE], "--rewrite", "--json", exam.out)
    assert (result.exit_code, exam.report()["complete"]) == (130, False)
    exam.model.scripts["rewrite"] += ['{"question": "Who taught you Latin?", "turns": []}']
    exam.answers("Who taught you Latin?")
    result = exam([FOLLOW, ALONE], "--rewrite", "--json", exam.out)
    assert "Going on after 1 cases" in result.output
    assert exam.report()["figures"]["names_held"] == {"n": 4, "of": 4}
    assert exam.report()["complete"] is True


def test_rewriting_has_its_baseline_and_its_bounds(exam):
    exam.model.scripts["rewrite"] += ["{", "{"]
    exam.answers("Which ship?")
    assert exam([FOLLOW], "--rewrite", "--json", exam.out, "--fail-under", "names_held=0.5").exit_code == 1
    exam.model.scripts["rewrite"] += [REWRITTEN]
    exam.answers("Which ship?")
    result = exam([FOLLOW], "--rewrite", "--baseline", exam.out, "--fail-under", "names_held=0.5")
    assert result.exit_code == 0
    assert "better: 1  storm" in result.output


def test_search_and_rewriting_are_two_runs(exam):
    assert exam(CASES, "--retrieval", "--rewrite").exit_code == 2


# --- going on ---


def test_interrupted_it_says_so_keeps_what_it_has_and_goes_on_there(exam):
    exam.answers(RIGHT[0], broken_off)
    result = exam(CASES, "--json", exam.out)
    assert result.exit_code == 130
    assert "Interrupted after 1 of 3 cases." in result.output
    assert "1 of 1" in result.output, "the figures so far"
    assert exam.report()["complete"] is False
    exam.answers(RIGHT[1])
    result = exam(CASES, "--json", exam.out)
    assert result.exit_code == 0
    assert "Going on after 1 cases" in result.output
    assert exam.report()["figures"]["answered_right"] == {"n": 2, "of": 2}


def test_interrupted_without_a_file_nothing_is_said_of_one(exam):
    exam.answers(broken_off)
    result = exam(CASES)
    assert "Interrupted after 0 of 3 cases.\n" in result.output


def test_cases_that_ended_in_an_error_are_asked_again(exam):
    exam.answers(ModelUnreachable("Start it."), RIGHT[1])
    exam(CASES, "--json", exam.out)
    assert exam.report()["complete"] is False
    exam.answers(RIGHT[0])
    exam(CASES, "--json", exam.out)
    assert exam.report()["figures"]["answered_right"] == {"n": 2, "of": 2}


def test_a_run_that_is_whole_is_run_again(exam):
    for _ in range(2):
        exam.answers(RIGHT[0])
        exam([FATHER], "--json", exam.out)


@pytest.mark.parametrize("changed", ["prompts", "settings", "case_set"])
def test_a_run_with_other_prompts_settings_or_cases_starts_anew(exam, changed, monkeypatch, tmp_path):
    exam.answers(RIGHT[0], broken_off)
    exam([FATHER, LATIN], "--json", exam.out)
    wiring = wired(exam.wiring.settings.home, exam.model)
    cases = [FATHER, LATIN]
    if changed == "prompts":
        folder = tmp_path / "prompts"
        folder.mkdir()
        for file in Settings().prompts.glob("*.md"):
            text = file.read_text("utf-8")
            (folder / file.name).write_text(text.replace("# user", "# user\nPlease:", 1), "utf-8")
        wiring = wired(exam.wiring.settings.home, exam.model)
        wiring.settings = wiring.settings.model_copy(update={"prompts": folder})
    if changed == "settings":
        wiring.settings = wiring.settings.model_copy(update={"context_window": 4096})
    if changed == "case_set":
        cases = [FATHER, LATIN | {"answers": ["Hale"]}]
    monkeypatch.setattr("persona.cli.session.make_eval_wiring", lambda: wiring)
    exam.answers(*RIGHT)
    result = exam(cases, "--json", exam.out)
    assert f"holds an earlier run with other {changed}; this one starts anew." in result.output
    wiring.database.close()


def test_a_page_of_another_revision_starts_anew(exam, tmp_path, monkeypatch):
    wiring = wired(tmp_path / "own", exam.model, embedder=WordEmbedder())
    monkeypatch.setattr("persona.cli.session.make_eval_wiring", lambda: wiring)
    list(wiring.ingest.load(page("Ada Marsh", ADA)))
    exam.answers(RIGHT[0], broken_off)
    exam([FATHER, LATIN], "--json", exam.out)
    list(wiring.ingest.load(page("Ada Marsh", ADA, revision="2")))
    exam.answers(*RIGHT)
    assert "an earlier run with other pages" in exam([FATHER, LATIN], "--json", exam.out).output
    wiring.database.close()


# --- comparing, bounds ---


def test_a_baseline_tells_better_worse_and_changed(exam):
    exam.answers("My mother Ruth sold herring on the quay.", RIGHT[1])
    exam([FATHER, LATIN, SKY], "--json", exam.out)
    exam.answers(RIGHT[0], "I paid the vicar with eggs.")
    result = exam([FATHER, LATIN, SKY], "--baseline", exam.out)
    assert "better: 1  father" in result.output
    assert "worse: 1  latin" in result.output
    assert "changed: 0" in result.output
    assert "Before" in result.output
    exam.answers(RIGHT[0], "It was Thomas Hale who taught me Latin.")
    result = exam([FATHER, LATIN, SKY], "--json", exam.out, "--baseline", exam.out)
    assert "changed: 1  latin" in result.output, "its own file was read before it was written"


@pytest.mark.parametrize(
    ("bound", "code"), [("answered_right=1", 1), ("answered_right=0.5", 0), ("calls_per_turn=0.5", 0)]
)
def test_a_figure_under_its_bound_ends_with_1(exam, bound, code):
    exam.answers(RIGHT[0], "I paid the vicar with eggs.")
    result = exam([FATHER, LATIN], "--fail-under", bound)
    assert result.exit_code == code
    assert ("was asked for" in result.output) is bool(code)


def test_a_bound_that_is_none_is_told_before_the_work(exam):
    result = exam(CASES, "--fail-under", "answered_right")
    assert result.exit_code == 1
    assert "NAME=VALUE" in result.output


def test_a_bound_on_a_figure_that_the_run_does_not_have_names_those_it_has(exam):
    result = exam(CASES, "--retrieval", "--fail-under", "answered_right=0.8")
    assert result.exit_code == 1
    assert "no figure answered_right" in result.output
    assert "right_first" in result.output


@pytest.mark.parametrize(
    "content", ["", "[]", '{"figures": {}}', '{"cases": 5}', '{"cases": [5]}', '{"cases": [{"id": "x"}]}']
)
def test_a_baseline_that_is_none_is_told_before_the_work(exam, content, tmp_path):
    (tmp_path / "old.json").write_text(content, "utf-8")
    result = exam(CASES, "--baseline", str(tmp_path / "old.json"))
    assert result.exit_code == 1
    assert "old.json" in result.output
    assert "should not have" not in result.output


@pytest.mark.parametrize("option", ["--json", "--html"])
def test_a_folder_that_is_not_there_is_told_before_the_work(exam, option, tmp_path):
    result = exam(CASES, option, str(tmp_path / "none" / "out"))
    assert result.exit_code == 1
    assert "There is no folder" in result.output


def test_a_file_that_cannot_be_written_is_told_before_the_work(exam, tmp_path):
    (tmp_path / "out.part").mkdir()
    result = exam(CASES, "--json", str(tmp_path / "out"))
    assert result.exit_code == 1
    assert "cannot be written" in result.output


# --- choosing cases, finding pages ---


def test_only_a_tag_and_only_so_many(exam):
    exam.answers(RIGHT[1])
    exam(CASES, "--only", "school", "--json", exam.out)
    assert [case["id"] for case in exam.report()["cases"]] == ["latin"]
    exam.answers(RIGHT[0])
    exam(CASES, "--limit", "1", "--json", exam.out)
    assert [case["id"] for case in exam.report()["cases"]] == ["father"]
    assert "No case is left" in exam(CASES, "--only", "nothing").output


def test_a_page_that_cannot_be_had_is_told_before_the_work(exam):
    result = exam([*CASES, FATHER | {"page": "Nobody Atall"}])
    assert result.exit_code == 1
    assert "should not have" not in result.output


def test_a_page_of_another_embedder_is_loaded_again(exam, tmp_path, monkeypatch):
    wiring = wired(tmp_path / "own", exam.model, embedder=WordEmbedder())
    monkeypatch.setattr("persona.cli.session.make_eval_wiring", lambda: wiring)
    sample = tmp_path / "ilse.md"
    sample.write_text(ILSE, "utf-8")
    monkeypatch.setattr("persona.loading.samples", lambda: [sample])
    case = {"id": "1", "page": "Ilse Körvin", "question": "Who was your mother?", "section": "Early life"}
    assert exam([case], "--retrieval").exit_code == 0
    other = wired(tmp_path / "own", exam.model)
    monkeypatch.setattr("persona.cli.session.make_eval_wiring", lambda: other)
    assert exam([case], "--retrieval", "--json", exam.out).exit_code == 0
    assert exam.report()["run"]["embedder"] == "all-MiniLM-L6-v2-int8"
    for made in (wiring, other):
        made.database.close()


def test_the_gate_that_was_fitted_is_the_one_that_is_evaluated(line):
    never = Gate("", {"coverage": 0.0}, -9.0, 0.5)
    never.save(line.wiring.gates)
    assert make_eval_wiring().gate("de") == never


def test_what_eval_asks_is_stored_apart_wherever_the_app_s_stores_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PERSONA_HOME", str(tmp_path))
    monkeypatch.setenv("PERSONA_DATABASE", f"sqlite:///{tmp_path / 'app.db'}")
    monkeypatch.setenv("PERSONA_CHROMA", "http://127.0.0.1:9")
    wiring = make_eval_wiring()
    assert wiring.library.people() == []
    wiring.database.close()
    assert not (tmp_path / "app.db").exists()
    assert wiring.settings.chroma_location == str(tmp_path / "eval" / "chroma")
