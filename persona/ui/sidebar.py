"""Who is interviewed, and which interview with them: the sidebar of the interview page.

A choice only changes the address; the page is drawn from that.
"""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from persona.records import Person, Thread
from persona.ui.state import Engine
from persona.ui.text import plain

_SHOWN = 15  # interviews; the older ones are behind an expander
_PERSON = "person"


def sidebar(engine: Engine, people: Sequence[Person], person: Person | None, thread: Thread | None) -> None:
    """Draw both choices."""
    if not people:
        return
    titles = {one.id: _title(one, people) for one in people}
    with st.sidebar:
        st.session_state[_PERSON] = person.id if person else None
        st.selectbox(
            "Person", list(titles), format_func=lambda id_: titles.get(id_, ""), key=_PERSON, on_change=_other_person
        )
        if person:
            st.button("New interview", icon=":material/add:", width="stretch", on_click=_open, args=(person.id, ""))
            _threads(engine, person, thread)


def _threads(engine: Engine, person: Person, current: Thread | None) -> None:
    threads = [one for one in engine.history.threads(person.id) if one.title]
    if not threads:
        return
    st.caption("Interviews, latest first")
    for one in threads[:_SHOWN]:
        _thread(one, current)
    if threads[_SHOWN:]:
        with st.expander(f"Older ({len(threads) - _SHOWN})", type="compact"):
            for one in threads[_SHOWN:]:
                _thread(one, current)


def _thread(thread: Thread, current: Thread | None) -> None:
    open_now = current is not None and thread.id == current.id
    st.button(
        plain(thread.title),
        key=f"thread-{thread.id}",
        type="secondary" if open_now else "tertiary",
        icon=":material/chat_bubble:" if open_now else None,
        width="stretch",
        on_click=_open,
        args=(thread.person, thread.id),
    )


def _title(person: Person, people: Sequence[Person]) -> str:
    """The title; with the language where several have it."""
    same = [one for one in people if one.title == person.title]
    return person.title if len(same) == 1 else f"{person.title} ({person.language}, {person.source})"


def _other_person() -> None:
    _open(st.session_state[_PERSON], "")


def _open(person: str, thread: str) -> None:
    st.query_params.from_dict({"person": person, **({"thread": thread} if thread else {})})
