"""From what was typed to a turn: each question becomes one turn, however often Streamlit runs the page.

What was typed is held in the tab's session_state under its thread, with the request id it will have, until the store
has it. While a thread answers, the next question waits.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import streamlit as st

from persona.errors import InputError
from persona.records import Turn, new_id
from persona.ui.state import Engine

_HELD = "held"  # session_state: thread -> Held
_NEW = "new_thread"  # session_state: the id that the next new thread will have


@dataclass(frozen=True, slots=True)
class Held:
    """A question that the store does not have yet. `instead_of` is the turn it is another try at."""

    text: str
    request_id: str
    instead_of: str | None = None


def hold(thread: str, text: str, instead_of: str | None = None) -> None:
    """Keep a question until it can be asked."""
    st.session_state.setdefault(_HELD, {})[thread] = Held(text, new_id(), instead_of)


def held(thread: str) -> Held | None:
    """The question that waits for its turn in that thread."""
    found: Held | None = st.session_state.get(_HELD, {}).get(thread)
    return found


def let_go(thread: str) -> None:
    """Forget the question that waits."""
    st.session_state.get(_HELD, {}).pop(thread, None)


def new_thread() -> str:
    """The id of a thread that is not begun; the same until its first question is stored."""
    id_: str = st.session_state.setdefault(_NEW, new_id())
    return id_


def ask(engine: Engine, person: str, thread: str, turns: Sequence[Turn], path: Sequence[Turn]) -> bool:
    """Hand the held question to the runner, unless the thread still answers another; whether it is stored now.

    It follows the last turn of `path`, the branch that is read, or what it is asked instead of. `turns` are all.

    Raises InputError, and then the question is no longer held; other PersonaErrors, and then it still is.
    """
    question = held(thread)
    last = path[-1] if path else None
    if question is None:
        return False
    running = next((turn for turn in turns if turn.state == "running"), None)
    if running:
        if question.text == running.question.asked:  # Enter was pressed twice
            let_go(thread)
        return False
    replaced = next((turn for turn in turns if turn.id == question.instead_of), None)
    parent = replaced.parent if replaced else last.id if last else None
    try:
        engine.history.start(person, thread)
        engine.runner.submit(question.text, thread, parent, question.request_id)
    except InputError:
        let_go(thread)
        raise
    let_go(thread)
    if st.session_state.get(_NEW) == thread:
        del st.session_state[_NEW]
    return True
