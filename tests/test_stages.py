"""Which attempt of a turn took which of its model calls' time."""

from persona.records import Attempt, ModelCall, Step, Trace
from persona.stages import stage_seconds


def call(step: Step, seconds: float, error: str = "") -> ModelCall:
    return ModelCall(step, "m", "p", (), "r", 1, 1, 0, seconds, 1, error)


def test_each_attempt_has_the_time_of_its_own_calls():
    calls = [
        call("rewrite", 64), call("answer", 1), call("answer", 2), call("categorize", 4), call("rank", 8), call("answer", 16),
    ]  # fmt: skip
    attempts = [
        Attempt("leader", (), "not supported"),
        Attempt("nearest", (), "not found"),
        Attempt("category", (), "no section was chosen"),
        Attempt("ranked", (), "answered"),
    ]
    assert stage_seconds(Trace(tuple(calls), tuple(attempts))) == [1, 2, 4, 24]


def test_thinking_aloud_took_time_of_the_attempt_that_asked_again():
    calls = [call("answer", 1, "it thought aloud"), call("answer", 2), call("answer", 4)]
    attempts = [Attempt("leader", (), "not found"), Attempt("nearest", (), "answered")]
    assert stage_seconds(Trace(tuple(calls), tuple(attempts))) == [3, 4]
