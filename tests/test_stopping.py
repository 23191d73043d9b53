"""A call that can be stopped is the model's own call in every other respect."""

import threading

import pytest

from persona.errors import ModelUnreachable
from persona.records import ChatRequest, Message
from persona.stopping import Stoppable, Stopped
from tests.scripted import Reply, ScriptedModel

REQUEST = ChatRequest((Message("user", "Who was your father?"),), 100, stream=True)


def test_a_reply_comes_as_the_model_gives_it():
    plain, watched = ScriptedModel(["A fisherman."]), ScriptedModel(["A fisherman."])
    assert list(Stoppable(watched, lambda: False).chat(REQUEST)) == list(plain.chat(REQUEST))
    assert (watched.requests, watched.closed) == ([REQUEST], [])


def test_a_piece_is_not_read_before_it_is_asked_for():
    model = ScriptedModel(["A fisherman of Whitby."])
    deltas = Stoppable(model, lambda: False).chat(REQUEST)
    next(deltas)
    deltas.close()
    assert model.closed == [0]


def test_an_error_of_the_model_is_raised_where_the_reply_is_read():
    model = ScriptedModel([Reply("A fi", error=ModelUnreachable("Start it."))])
    said = []
    with pytest.raises(ModelUnreachable, match="Start it"):
        said.extend(delta.text for delta in Stoppable(model, lambda: False).chat(REQUEST))
    assert "".join(said) == "A fi"


def test_a_call_is_closed_after_it_was_stopped_in_a_silence():
    stop, go_on = threading.Event(), threading.Event()

    def silent(_):
        stop.set()
        go_on.wait(30)
        return "A fisherman."

    model = ScriptedModel([silent])
    deltas = Stoppable(model, stop.is_set).chat(REQUEST)
    with pytest.raises(Stopped):
        next(deltas)
    assert model.closed == []
    go_on.set()
    for thread in threading.enumerate():
        if thread.name == "model-call":
            thread.join(30)
    assert model.closed == [0]
