"""Turns in worker threads: they outlive whoever asked."""

import threading
import time

import pytest

from persona.errors import InputError, StoreError
from persona.records import Question, Turn, new_id, now
from persona.runner import Runner
from tests.core import Talk

FATHER = "My father was Josiah Marsh, a fisherman."
LONG = "I cut my left hand so badly in that storm that it was later amputated. I mended the lamp with a copper kettle."


@pytest.fixture
def runner(ada: Talk) -> Runner:
    return Runner(ada.wiring.interview, ada.wiring.history)


def wait(runner: Runner) -> None:
    until = time.monotonic() + 30
    while runner.running():
        assert time.monotonic() < until, "a turn did not end"
        time.sleep(0.01)


def held(ada: Talk, text: str) -> tuple[threading.Event, threading.Event]:
    """The model answers once the second event is set; the first one tells that it was asked."""
    asked, go = threading.Event(), threading.Event()

    def answer(_: object) -> str:
        asked.set()
        assert go.wait(30)
        return text

    ada.model.scripts["answer"].append(answer)
    return asked, go


def test_a_turn_that_nobody_watches_finishes(ada, runner):
    ada.model.scripts["answer"] += [FATHER]
    turn = runner.submit("Who was your father?", ada.thread())
    wait(runner)
    stored = ada.wiring.history.turn(turn)
    assert (stored.state, stored.answer.text) == ("done", FATHER)
    ada.model.assert_done()


def test_the_question_is_stored_when_submit_returns_and_steps_can_be_read_meanwhile(ada, runner):
    asked, go = held(ada, FATHER)
    turn = runner.submit("Who was your father?", ada.thread())
    assert ada.wiring.history.turn(turn).question.asked == "Who was your father?"
    assert asked.wait(30)
    assert runner.running() == [turn]
    running = ada.wiring.history.turn(turn)
    assert running.state == "running"
    assert running.step.splitlines() == ["searching the page of Ada Marsh", "answering"]
    go.set()
    wait(runner)
    assert ada.wiring.history.turn(turn).state == "done"


def test_a_turn_that_is_stopped_keeps_what_came(ada, runner):
    asked, go = held(ada, LONG)
    turn = runner.submit("How did you lose your hand?", ada.thread())
    assert asked.wait(30)
    runner.stop(turn)
    go.set()
    wait(runner)
    stored = ada.wiring.history.turn(turn)
    assert (stored.state, stored.answer) == ("stopped", None)
    assert LONG.startswith(stored.partial)


def test_stop_does_not_wait_for_the_server(ada, runner):
    asked, go = held(ada, LONG)
    turn = runner.submit("How did you lose your hand?", ada.thread())
    assert asked.wait(30)
    runner.stop(turn)
    wait(runner)
    assert ada.wiring.history.turn(turn).state == "stopped"
    go.set()


def test_stopping_what_does_not_run_does_nothing(ada, runner):
    runner.stop("no such turn")
    ada.model.scripts["answer"] += [FATHER]
    turn = runner.submit("Who was your father?", ada.thread())
    wait(runner)
    runner.stop(turn)
    assert ada.wiring.history.turn(turn).state == "done"


def test_the_same_request_twice_is_one_turn_however_close(ada, runner):
    thread = ada.thread()
    asked, go = held(ada, FATHER)
    one = runner.submit("Who was your father?", thread, request_id=f"double-{thread}")
    assert asked.wait(30)
    other = runner.submit("Who was your father?", thread, request_id=f"double-{thread}")
    go.set()
    wait(runner)
    again = runner.submit("Who was your father?", thread, request_id=f"double-{thread}")
    wait(runner)
    assert one == other == again
    assert len(ada.wiring.history.turns(thread)) == 1
    assert ada.wiring.history.turn(one).answer.text == FATHER
    ada.model.assert_done()


def test_a_double_enter_in_two_threads_is_one_turn(ada, runner):
    thread = ada.thread()
    ada.model.scripts["answer"] += [FATHER]
    meet, ids = threading.Barrier(4, timeout=30), list[str]()

    def press() -> None:
        meet.wait()
        ids.append(runner.submit("Who was your father?", thread, request_id=f"enter-{thread}"))

    workers = [threading.Thread(target=press) for _ in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(30)
    wait(runner)
    assert len(set(ids)) == 1
    assert len(ada.wiring.history.turns(thread)) == 1
    ada.model.assert_done()


def test_what_cannot_be_asked_is_an_error_at_once(ada, runner):
    with pytest.raises(InputError):
        runner.submit("  ", ada.thread())
    with pytest.raises(InputError):
        runner.submit("Who?", "0" * 32)
    assert runner.running() == []


def test_a_turn_of_this_very_process_is_not_taken_for_lost_when_a_runner_starts(ada):
    # one of a killed process is tested with the database
    thread = ada.thread()
    turn = Turn(new_id(), thread, None, new_id(), Question("Who?", "Who?"), "running", now())
    ada.wiring.history.add(turn)
    Runner(ada.wiring.interview, ada.wiring.history)
    assert ada.wiring.history.turn(turn.id).state == "running"


def test_a_turn_whose_end_cannot_be_stored_ends_once_the_store_works_again(ada, runner, monkeypatch):
    asked, go = held(ada, FATHER)
    failed = threading.Event()

    def fail(*_: object) -> None:
        failed.set()
        raise StoreError("The disk is full: make room.")

    monkeypatch.setattr("persona.runner._AGAIN", 0.05)
    turn = runner.submit("Who was your father?", ada.thread())
    assert asked.wait(30)
    for name in ("finish", "progress"):
        monkeypatch.setattr(ada.wiring.history, name, fail)
    go.set()
    assert failed.wait(30)
    assert runner.running() == [turn]
    monkeypatch.undo()
    wait(runner)
    ended = ada.wiring.history.turn(turn)
    assert (ended.state, ended.partial) == ("failed", FATHER)
    assert ended.error == "The answer could not be stored. The disk is full: make room."


def test_a_note_that_cannot_be_stored_does_not_stop_the_answer(ada, runner, monkeypatch):
    asked, go = held(ada, FATHER)

    def fail(*_: object) -> None:
        raise StoreError("The database is locked.")

    monkeypatch.setattr(ada.wiring.history, "progress", fail)
    turn = runner.submit("Who was your father?", ada.thread())
    assert asked.wait(30)
    go.set()
    wait(runner)
    assert ada.wiring.history.turn(turn).answer.text == FATHER
