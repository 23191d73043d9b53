"""The page of those who can be interviewed: finding another one, and a card for each who is loaded."""

from __future__ import annotations

from collections import Counter

import streamlit as st

from persona.errors import PersonaError
from persona.records import Build, Person
from persona.text import count
from persona.ui import pages, state
from persona.ui.about import facts
from persona.ui.guard import guarded, told
from persona.ui.loads import follow, loads
from persona.ui.model_line import model_line, offer
from persona.ui.portraits import portrait
from persona.ui.search import search
from persona.ui.state import Engine
from persona.ui.text import plain, sentence

_FACE = 72  # pixels
_MANY = 24  # cards that are drawn unless the reader wants all
_ALL = "all_cards"  # session_state
_UNDELETED = "undeleted"  # session_state: why the latest deletion failed


@guarded
def page() -> None:
    """The whole page."""
    st.title("Interview anyone on Wikipedia", anchor=False)
    st.markdown(
        "Choose a person, or find another one. They answer in the first person, only from what their page says, and "
        "show where each answer comes from."
    )
    engine = state.engine()
    model_line(engine, offers=engine.settings.public)
    if engine.settings.public:
        st.caption(state.PUBLIC)
    else:
        offer(engine)
        search(engine)
        loads(engine)
    if why := st.session_state.get(_UNDELETED):
        st.error(plain(why), icon=":material/error:")
    _cards(engine)


def _cards(engine: Engine) -> None:
    people = engine.library.people()
    if not people:
        _nobody(engine)
        return
    threads = Counter(thread.person for thread in engine.history.threads() if thread.title)
    mine = [person for person in people if person.source != "sample"]
    samples = [person for person in people if person.source == "sample"]
    loaded = "Loaded" if engine.settings.public else "Loaded by you"
    for heading, group in ((loaded, mine), ("Samples", samples)):
        if group:
            st.subheader(heading, anchor=False)
            shown = len(group) if st.session_state.get(_ALL) else _MANY
            _grid(engine, group[:shown], threads)
            if len(group) > shown and st.button(f"Show all {len(group):,}", icon=":material/expand_more:"):
                st.session_state[_ALL] = True
                st.rerun()


def _grid(engine: Engine, people: list[Person], threads: Counter[str]) -> None:
    for start in range(0, len(people), 2):
        for column, person in zip(st.columns(2), people[start : start + 2], strict=False):
            build = engine.library.build(person.build)
            if build:
                with column.container(border=True, height="stretch", key=f"card-{person.id}"):
                    _card(engine, person, build, threads[person.id])


def _nobody(engine: Engine) -> None:
    if any(job.key == state.SAMPLES for job in engine.jobs.running()):
        return
    if engine.settings.public:
        st.info("Nobody is loaded yet. Come back later.")
        return
    st.info("Nobody is loaded yet. Find a page above, or begin with the two samples that come with the program.")
    if st.button("Load the samples", type="primary"):
        follow(engine.add_samples())
        st.rerun()


def _card(engine: Engine, person: Person, build: Build, threads: int) -> None:
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        portrait(engine.lookup.portrait(build.picture), person.title, _FACE)
        st.subheader(plain(person.title), anchor=False)
    if person.source == "sample":
        st.badge("Sample", icon=":material/menu_book:", color="green")
    st.text(sentence(build.description))
    st.caption(facts(person, build, threads))
    if engine.embedder_name and build.embedder != engine.embedder_name and not engine.settings.public:
        st.warning("Indexed with another embedder than is set now: press Reload before you ask.")
    with st.container(horizontal=True, vertical_alignment="center"):
        if st.button("Interview", type="primary", key=f"interview-{person.id}"):
            st.switch_page(pages.interview(), query_params={"person": person.id})
        if engine.settings.public:
            return
        if st.button("Reload", key=f"reload-{person.id}", type="tertiary", help="Read the page again."):
            follow(engine.reload(person))
            st.rerun()
        if st.button("Delete", key=f"delete-{person.id}", type="tertiary"):
            _delete(engine, person, threads)


@st.dialog("Delete?", icon=":material/delete:")
def _delete(engine: Engine, person: Person, threads: int) -> None:
    """Asks, and says what stays."""
    kept = f"{count(threads, 'interview').capitalize()} with them can still be read." if threads else ""
    again = "The page can be loaded again at any time." if person.source != "markdown" else "The file itself stays."
    gone = f"**{plain(person.title)}** can then no longer be interviewed."
    st.markdown(" ".join(filter(None, (gone, kept, again))))
    with st.container(horizontal=True):
        if st.button("Delete", type="primary", key="delete-now", on_click=_forget, args=(engine, person)):
            st.rerun()
        if st.button("Keep", key="delete-not"):
            st.rerun()


def _forget(engine: Engine, person: Person) -> None:
    """What is drawn here would go with the dialog."""
    st.session_state[_UNDELETED] = ""
    try:
        engine.delete(person)
    except PersonaError as error:
        st.session_state[_UNDELETED] = told(error)
