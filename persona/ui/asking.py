"""From what was typed to a turn: each question becomes one turn, however often Streamlit runs the page.

A question is held in the tab's session_state under its thread only until the page has read the thread, and then the
store has it. What cannot be asked now, as while the thread answers, is put back into the box where it was typed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import streamlit as st

from persona.errors import Busy, PersonaError
from persona.records import Turn, new_id
from persona.ui.guard import told
from persona.ui.state import Engine

_HELD = "held"  # session_state: thread -> Held
_REFUSED = "refused"  # session_state: thread -> why the latest question could not be asked
_ONE_BY_ONE = "One answer at a time: ask this when the answer is there, or stop it first."
_NEW = "new_threads"  # session_state: person -> the id that the next new thread with them will have


@dataclass(frozen=True, slots=True)
class Held:
    """A question that the store does not have yet. `instead_of` is the turn it is another try at."""

    text: str
    request_id: str
    instead_of: str | None = None


def hold(thread: str, text: str, instead_of: str | None = None) -> None:
    """Keep a question until the page asks it."""
    st.session_state.get(_REFUSED, {}).pop(thread, None)
    st.session_state.setdefault(_HELD, {})[thread] = Held(text, new_id(), instead_of)


def box(thread: str) -> str:
    """The key of the box in which questions of that thread are typed."""
    return f"ask-{thread}"


def new_thread(person: str) -> str:
    """The id of a thread with them that is not begun; the same until its first question is stored."""
    id_: str = st.session_state.setdefault(_NEW, {}).setdefault(person, new_id())
    return id_


def put_back(lost: str, thread: str) -> None:
    """What was asked in a thread that turned out to be gone is in the box of another one."""
    if question := st.session_state.get(_HELD, {}).pop(lost, None):
        st.session_state[box(thread)] = question.text


def ask(engine: Engine, person: str, thread: str, turns: Sequence[Turn], path: Sequence[Turn]) -> bool:
    """Hand the held question to the runner; whether it is stored now. To be called before the box is drawn.

    It follows the last turn of `path`, the branch that is read, or what it is asked instead of. `turns` are all. What
    cannot be asked now is in the box again, unless a turn keeps its words, and `refused` tells why.
    """
    question: Held | None = st.session_state.get(_HELD, {}).pop(thread, None)
    running = next((turn for turn in turns if turn.state == "running"), None)
    if question is None:
        if running is None and refused(thread) == _ONE_BY_ONE:
            del st.session_state[_REFUSED][thread]
        return False
    if running and question.text == running.question.asked:  # Enter was pressed twice
        return False
    replaced = next((turn for turn in turns if turn.id == question.instead_of), None)
    last = path[-1].id if path else None
    try:
        if running:
            raise Busy(_ONE_BY_ONE, 0)
        engine.history.start(person, thread)
        engine.runner.submit(question.text, thread, replaced.parent if replaced else last, question.request_id)
    except PersonaError as error:
        st.session_state.setdefault(_REFUSED, {})[thread] = told(error)
        if replaced is None or question.text != replaced.question.asked:
            st.session_state[box(thread)] = question.text
        return False
    begun = st.session_state.get(_NEW, {})
    if begun.get(person) == thread:
        del begun[person]
    return True


def refused(thread: str) -> str:
    """Why the latest question to that thread could not be asked, in a sentence; empty where it was."""
    why: str = st.session_state.get(_REFUSED, {}).get(thread, "")
    return why
