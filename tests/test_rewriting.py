"""Rewriting alone: what is held, invented, kept and unparsable, of our step and of the plain prompt beside it."""

from dataclasses import replace
from pathlib import Path

import pytest

from persona.cases import Case, read_cases
from persona.errors import ModelUnreachable
from persona.prompts import load_prompts
from persona.records import ChatRequest
from persona.rewriting import RewriteExaminer, RewriteOutcome, figures, has_rewrite, judged
from persona.steps import VARIABLES, Steps
from tests.scripted import ScriptedModel

ROOT = Path(__file__).parents[1]
STORM = Case(
    "s1",
    "Ada Marsh",
    "Which ship did you save then?",
    history=(
        ("user", "When was the great storm?"),
        ("persona", "It was in November 1871, when Enoch Pike was dead."),
    ),
    rewrite="Which ship did Ada Marsh save in the storm of November 1871?",
)
ALONE = replace(STORM, id="a1", question="Who taught you Latin?", rewrite="Who taught Ada Marsh Latin?", tags=("stands-alone",))  # fmt: skip
OURS = '{"question": "Which ship did Ada Marsh save in the storm of November 1871?", "turns": [1]}'


def put(case: Case, *replies) -> RewriteOutcome:
    model = ScriptedModel(replies)
    steps = Steps(model, model, load_prompts(ROOT / "prompts", VARIABLES))
    outcome = RewriteExaminer(steps, model).ask(case)
    model.assert_done()
    return outcome


# --- both rewriters ---


def test_a_case_is_put_to_our_step_and_to_the_plain_prompt():
    outcome = put(STORM, OURS, "Which ship was saved in 1871?")
    assert outcome.ours.text == STORM.rewrite
    assert (outcome.ours.held, outcome.ours.missed) == (("1871", "ada", "marsh", "november"), ())
    assert outcome.plain.text == "Which ship was saved in 1871?"
    assert (outcome.plain.held, outcome.plain.missed) == (("1871",), ("ada", "marsh", "november"))
    assert not outcome.failed


def test_the_plain_prompt_has_the_same_conversation_and_neither_examples_nor_a_schema():
    seen: list[ChatRequest] = []

    def plain(request: ChatRequest) -> str:
        seen.append(request)
        return "Which ship?"

    put(STORM, OURS, plain)
    (request,) = seen
    assert len(request.messages) == 1
    assert request.schema is None
    for text in ("Interviewer: When was the great storm?", "Ada Marsh: It was in November 1871", STORM.question):
        assert text in request.messages[0].text


def test_the_plain_prompt_is_fitted_to_a_small_window():
    history = tuple(
        pair for n in range(60) for pair in (("user", f"What of letter {n}?"), ("persona", "It was long. " * 12))
    )
    model = ScriptedModel(["{}", "{}", "Which ship?"], context_window=2048)
    steps = Steps(model, model, load_prompts(ROOT / "prompts", VARIABLES))
    RewriteExaminer(steps, model).ask(replace(STORM, history=history))
    told = model.requests[-1].messages[0].text
    assert "letter 59" in told
    assert "letter 0?" not in told
    assert len(told) < 3 * 2048


def test_a_rewrite_that_the_step_throws_away_leaves_the_question_as_asked():
    outcome = put(STORM, '{"question": "Which ship did Napoleon save?", "turns": []}', "Which ship did Napoleon save?")
    assert (outcome.ours.text, outcome.ours.rejected, outcome.ours.unparsable) == (STORM.question, True, False)
    assert (outcome.ours.invented, outcome.plain.invented) == ((), ("napoleon",))
    assert outcome.ours.held == ()
    assert outcome.failed


def test_what_cannot_be_read_is_unparsable_and_right_in_nothing():
    outcome = put(ALONE, "I would rather not.", "No.", "   ")
    assert (outcome.ours.unparsable, outcome.plain.unparsable) == (True, True)
    assert (outcome.ours.kept, outcome.plain.kept) == (False, False)
    assert outcome.ours.length is None
    assert outcome.failed


def test_a_model_that_fails_is_an_error_of_the_case_and_nothing_is_right():
    outcome = put(STORM, ModelUnreachable("Start it."))
    assert (outcome.error, outcome.said, outcome.failed) == ("Start it.", "Start it.", True)
    assert figures([outcome.ours])["names_held"] == {"n": 0, "of": 4}
    assert figures([outcome.ours])["unparsable"] == {"n": 1, "of": 1}


# --- judged ---


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("Who taught you Latin?", True),
        ("Who taught Ada Marsh Latin?", True),
        ("who taught Marsh latin", True),
        ("Who did teach you Latin?", False),
        ("Who taught you Latin in November 1871?", False),
        ("Who taught her Latin?", False),
        ("Who was Ada Marsh's Latin teacher?", False),
        ("Which ship did Ada Marsh save?", False),
    ],
)
def test_a_question_that_stands_alone_is_kept_word_for_word_but_for_the_name(text, kept):
    assert judged(ALONE, text, None).kept is kept


def test_names_are_counted_of_cases_that_lean_on_their_past_only():
    assert judged(ALONE, "Who taught you Latin?", None).missed == ()
    assert judged(STORM, "Which ship did you save?", None).kept is None


def test_a_name_is_invented_if_neither_question_nor_conversation_nor_title_holds_it():
    text = "Which ship of Robert Stevenson did Ada Marsh and Pike save in November 1872?"
    assert judged(STORM, text, None).invented == ("1872", "robert", "stevenson")


def test_length_is_in_words_of_the_humans():
    assert judged(STORM, "Which ship did Ada Marsh save?", None).length == 0.5


def test_figures_count_names_one_by_one_and_the_rest_by_case():
    made = [
        judged(STORM, STORM.rewrite, None, rejected=False),
        judged(STORM, "Which ship of Napoleon?", None, rejected=False),
        judged(STORM, "", None, unparsable=True, rejected=False),
        judged(ALONE, ALONE.question, None, rejected=True),
    ]
    assert figures(made) == {
        "names_held": {"n": 4, "of": 12},
        "invented": {"n": 1, "of": 4},
        "standalone_kept": {"n": 1, "of": 1},
        "unparsable": {"n": 1, "of": 4},
        "rejected": {"n": 1, "of": 4},
        "length_median": 0.8,
    }


def test_a_case_is_worth_more_the_more_names_it_holds():
    whole, part = (
        put(STORM, OURS, "x"),
        put(STORM, '{"question": "Which ship did Ada Marsh save then?", "turns": []}', "x"),
    )
    assert whole.worth > part.worth > put(STORM, "{", "{", "x").worth


# --- our own cases ---


def cases(name: str) -> list[Case]:
    return read_cases([ROOT / "tests" / "cases" / f"{name}.jsonl"])


def test_each_of_our_cases_can_be_judged():
    assert all(map(has_rewrite, cases("rewrites")))
    assert all(map(has_rewrite, cases("standalone")))
    assert not has_rewrite(replace(STORM, history=()))
    assert not has_rewrite(replace(STORM, rewrite=""))


@pytest.mark.parametrize("case", cases("standalone"), ids=lambda case: case.id)
def test_a_human_rewrite_of_what_stands_alone_keeps_it(case):
    assert judged(case, case.rewrite, None).kept
    assert judged(case, case.question, None).kept
    last = next(text for who, text in reversed(case.history) if who == "user")
    assert not judged(case, last, None).kept


@pytest.mark.parametrize("case", cases("rewrites"), ids=lambda case: case.id)
def test_a_human_rewrite_of_a_follow_up_is_right(case):
    human = judged(case, case.rewrite, None)
    assert (human.missed, human.length) == ((), 1.0)
    assert human.held
    assert judged(case, case.question, None).held == ()
