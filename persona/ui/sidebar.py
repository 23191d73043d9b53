"""Who is interviewed, and which interview with them: the sidebar of the interview page.

A choice only changes the address; the page is drawn from that.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import streamlit as st

from persona.records import Person, Thread
from persona.ui.state import Engine
from persona.ui.text import plain

_MANY = 8  # interviews that are shown without a scroll bar of their own
_TALLEST = 360  # pixels
_PERSON = "chosen_person"  # session_state; the address is what counts
_LIST = "interviews"  # the class st-key-interviews of style.css


def sidebar(engine: Engine, people: Sequence[Person], person: Person | None, thread: Thread | None) -> None:
    """Draw both choices."""
    if not people:
        return
    titles = _titles(people)
    with st.sidebar:
        st.session_state[_PERSON] = person.id if person else None
        st.selectbox(
            "Person", list(titles), format_func=lambda id_: titles.get(id_, ""), key=_PERSON, on_change=_other_person
        )
        if person:
            st.button("New interview", icon=":material/add:", width="stretch", on_click=_open, args=(person.id, ""))
            _threads(engine, person, thread)
        st.divider()


def _threads(engine: Engine, person: Person, current: Thread | None) -> None:
    threads = [one for one in engine.history.threads(person.id) if one.title]
    if not threads:
        return
    st.caption("Interviews, latest first")
    with st.container(height=_TALLEST if len(threads) > _MANY else "content", border=False, gap="xxsmall", key=_LIST):
        for one in threads:  # buttons, since two may have the same title, and a choice goes by that
            open_now = current is not None and one.id == current.id
            st.button(
                plain(one.title),
                key=f"thread-{one.id}",
                type="secondary" if open_now else "tertiary",
                width="stretch",
                on_click=_open,
                args=(person.id, one.id),
            )


def _titles(people: Sequence[Person]) -> dict[str, str]:
    """By id, the title; with language and source, and then with a number, where several have it."""
    called = Counter(person.title for person in people)
    taken: Counter[str] = Counter()
    titles: dict[str, str] = {}
    for person in people:
        alone = called[person.title] == 1
        title = person.title if alone else f"{person.title} ({person.language}, {person.source})"
        taken[title] += 1
        titles[person.id] = title if taken[title] == 1 else f"{title} {taken[title]}"
    return titles


def _other_person() -> None:
    _open(st.session_state[_PERSON], "")


def _open(person: str, thread: str) -> None:
    st.query_params.from_dict({"person": person, **({"thread": thread} if thread else {})})
