"""Who is interviewed, and which interview with them: the sidebar of the interview page.

A choice only changes the address; the page is drawn from that.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import streamlit as st

from persona.records import Person, Thread
from persona.ui.state import Engine
from persona.ui.threads import threads

_PERSON = "chosen_person"  # session_state; the address is what counts


def sidebar(engine: Engine, people: Sequence[Person], person: Person | None, thread: Thread | None) -> None:
    """Draw both choices."""
    with st.sidebar:
        if people:
            titles = _titles(people)
            st.session_state[_PERSON] = person.id if person else None
            st.selectbox(
                "Person",
                list(titles),
                format_func=lambda id_: titles.get(id_, ""),
                key=_PERSON,
                on_change=_other_person,
            )
        threads(engine, person, thread)
        st.divider()


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
    st.query_params.from_dict({"person": st.session_state[_PERSON]})
