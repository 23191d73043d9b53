"""The page of an interview. The address says which, and all that is drawn comes from the store.

No model runs here: a question is handed to the runner, and the page reads what became of it.
"""

from __future__ import annotations

import streamlit as st

from persona.errors import InputError, PersonaError
from persona.interview import LONGEST_QUESTION
from persona.records import Build, Person, Thread, Turn
from persona.suggestions import suggestions
from persona.talk import phrases
from persona.ui import asking, pages, state
from persona.ui.about import badge
from persona.ui.guard import guarded
from persona.ui.model_line import model_line
from persona.ui.sidebar import sidebar
from persona.ui.state import Engine
from persona.ui.text import plain
from persona.ui.turns import PERSONA, ended_turn, question, running_turn


@guarded
def page() -> None:
    """The whole page."""
    engine = state.engine()
    people = engine.library.people()
    thread = _thread(engine)
    person = _person(people, thread)
    build = engine.library.build(person.build) if person else None
    if person and build:
        id_ = thread.id if thread else asking.new_thread()
        _interview(engine, person, build, id_)
        thread = engine.history.thread(id_)  # by now it may have begun, and then stands in the list
    elif thread:
        _kept(engine, thread)
    else:
        st.title("Interview", anchor=False)
        st.info("Nobody is loaded yet.")
        st.page_link(pages.people(), label="Choose or load a person", icon=":material/group:")
    sidebar(engine, people, person, thread)
    model_line(engine)


def _thread(engine: Engine) -> Thread | None:
    """The thread that the address names."""
    wanted = st.query_params.get("thread", "")
    found = engine.history.thread(wanted) if wanted else None
    if wanted and found is None:
        st.warning("That interview is not stored on this computer. You can begin a new one.")
        del st.query_params["thread"]
    return found


def _person(people: list[Person], thread: Thread | None) -> Person | None:
    """The thread's person; else the one that the address names, else the first."""
    wanted = thread.person if thread else st.query_params.get("person", "")
    found = next((person for person in people if person.id == wanted), None)
    if found is None and thread is None and people:
        if wanted:
            st.warning("That person is not loaded. Here is another one.")
        found = people[0]
    if found:
        st.query_params["person"] = found.id
    return found


@guarded
def _interview(engine: Engine, person: Person, build: Build, thread: str) -> None:
    st.title(plain(person.title), anchor=False)
    if build.description:
        st.caption(plain(build.description))
    with st.bottom:
        st.caption(badge(person, build))
    st.chat_input(
        _placeholder(person),
        key=f"ask-{thread}",
        max_chars=LONGEST_QUESTION,
        on_submit=_typed,
        args=(thread,),
    )
    _greeting(person)
    path = _path(engine, thread)
    trouble = ""
    try:
        if asking.ask(engine, person.id, thread, path):
            path = _path(engine, thread)
    except InputError as error:
        st.error(plain(str(error)))
    except PersonaError as error:
        trouble = str(error)
    if path:
        st.query_params["thread"] = thread
    _turns(engine, thread, path)
    _waiting(thread, trouble)
    if not path and not asking.held(thread):
        _suggestions(engine, person, thread)


def _placeholder(person: Person) -> str:
    """The words in the empty input; it reads no markup."""
    return f"Ask {person.title} a question"


def _path(engine: Engine, thread: str) -> list[Turn]:
    """From the thread's root to its newest turn."""
    turns = engine.history.turns(thread)
    return engine.history.path(turns[-1].id) if turns else []


def _typed(thread: str) -> None:
    text = st.session_state.get(f"ask-{thread}")
    if text and text.strip():
        asking.hold(thread, text)


def _greeting(person: Person) -> None:
    with st.chat_message("assistant", avatar=PERSONA):
        st.text(phrases(person.language).hello.replace("{name}", person.title))


def _suggestions(engine: Engine, person: Person, thread: str) -> None:
    st.caption("For instance:")
    asked = suggestions(engine.library.chunks(person.build), person.title, person.language)
    with st.container(horizontal=True):
        for number, text in enumerate(asked):
            st.button(plain(text), key=f"suggest-{thread}-{number}", on_click=asking.hold, args=(thread, text))


def _turns(engine: Engine, thread: str, path: list[Turn]) -> None:
    for turn in path:
        if turn.state == "running":
            running_turn(engine, turn)
        else:
            last = turn is path[-1]
            ended_turn(turn, again=_again if last else None)


def _again(turn: Turn) -> None:
    asking.hold(turn.thread, turn.question.asked, instead_of=turn.id)


def _waiting(thread: str, trouble: str) -> None:
    """The question that could not be handed over yet, and why."""
    held = asking.held(thread)
    if held is None:
        return
    question(held.text)
    if not trouble:
        st.caption("Will be asked as soon as this answer is there.")
        return
    st.error(plain(trouble), icon=":material/error:")
    with st.container(horizontal=True):
        st.button("Try again", icon=":material/refresh:")
        st.button("Drop the question", type="tertiary", on_click=asking.let_go, args=(thread,))


def _kept(engine: Engine, thread: Thread) -> None:
    """What was said with somebody who is no longer loaded."""
    st.title(plain(thread.title or "Interview"), anchor=False)
    st.info("This person is no longer loaded. What was said is kept; load the page again to go on.")
    st.page_link(pages.people(), label="People", icon=":material/group:")
    for turn in _path(engine, thread.id):
        ended_turn(turn)
