"""The page of an interview. The address says which, and all that is drawn comes from the store.

No model runs here: a question is handed to the runner, and the page reads what became of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import streamlit as st

from persona.branches import after, newest_below, path_to
from persona.records import Build, Person, Thread, Turn
from persona.suggestions import suggestions
from persona.talk import phrases
from persona.text import count
from persona.ui import asking, bubbles, pages, state
from persona.ui.about import badge
from persona.ui.guard import guarded
from persona.ui.model_line import model_line
from persona.ui.portraits import avatar
from persona.ui.sidebar import sidebar
from persona.ui.state import Engine
from persona.ui.text import plain
from persona.ui.turns import Scene, draw

_INSTEAD = 3  # questions that are offered after a refusal
_STYLE = Path(__file__).parent / "interview.css"


@guarded
def page() -> None:
    """The whole page."""
    st.html(_STYLE)
    engine = state.engine()
    people = engine.library.people()
    wanted = st.query_params.get("thread", "")
    thread = _thread(engine, wanted)
    person = _person(people, thread)
    build = engine.library.build(person.build) if person else None
    if person and build:
        id_ = thread.id if thread else asking.new_thread(person.id)
        if wanted != id_:
            asking.put_back(wanted, id_)
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


def _thread(engine: Engine, wanted: str) -> Thread | None:
    """The thread that the address names."""
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
    portrait = avatar(engine.lookup.portrait(build.picture), person.title)
    _greeting(person, portrait)
    engine.greet(person)
    turns, path = _read(engine, thread)
    if asking.ask(engine, person.id, thread, turns, path):
        turns, path = _read(engine, thread)
    if why := asking.refused(thread):
        st.bottom.warning(plain(why), icon=":material/error:")
    # without a limit of its own: the box would take nothing of a text that is too long, and not say why
    st.chat_input(_placeholder(person), key=asking.box(thread), on_submit=_typed, args=(thread,))
    if path:
        st.query_params["thread"] = thread
    _draw(engine, person.title, portrait, turns, path)
    _offer(engine, person, thread, path)


def _placeholder(person: Person) -> str:
    """The words in the empty input; it reads no markup."""
    return f"Ask {person.title} a question"


def _read(engine: Engine, thread: str) -> tuple[list[Turn], list[Turn]]:
    """All turns of a thread, and the path that is read."""
    turns = engine.history.turns(thread)
    found = engine.history.thread(thread)
    return turns, path_to(turns, found.shown if found else None)


def _typed(thread: str) -> None:
    text = st.session_state.get(asking.box(thread))
    if text and text.strip():
        asking.hold(thread, text)


def _greeting(person: Person, portrait: str) -> None:
    with st.chat_message("assistant", avatar=portrait):
        st.html(bubbles.said(phrases(person.language).hello.replace("{name}", person.title)))


def _draw(
    engine: Engine, title: str, portrait: str, turns: list[Turn], path: list[Turn], *, can_ask: bool = True
) -> None:
    if not path:
        return
    ratings = {rating.turn: rating for rating in engine.history.ratings(path[-1].thread)}
    scene = Scene(engine, title, portrait, turns, ratings, path[-1].id, can_ask)
    for turn in path:
        draw(scene, turn)
    later = after(turns, path[-1])
    if later:
        newest = newest_below(turns, path[-1])
        st.caption(f"You go on from here. {count(later, 'later turn')} {'is' if later == 1 else 'are'} kept.")
        st.button("Back to them", icon=":material/undo:", on_click=_show, args=(engine, newest))


@guarded
def _show(engine: Engine, turn: Turn) -> None:
    engine.history.show(turn.thread, turn.id)


def _offer(engine: Engine, person: Person, thread: str, path: Sequence[Turn]) -> None:
    """Questions to begin with, or to ask instead of one that was refused."""
    last = path[-1].answer if path else None
    if path and (last is None or last.found):
        return
    asked = {turn.question.asked for turn in path}
    made = suggestions(engine.library.chunks(person.build), person.title, person.language)
    fresh = [one for one in made if one not in asked]
    st.caption("You could ask instead:" if path else "You could begin with:")
    with st.container(horizontal=True):
        for number, text in enumerate(fresh[-_INSTEAD:] if path else fresh):
            st.button(plain(text), key=f"suggest-{thread}-{number}", on_click=asking.hold, args=(thread, text))


def _kept(engine: Engine, thread: Thread) -> None:
    """What was said with somebody who is no longer loaded."""
    person = engine.library.known(thread.person)
    title = person.title if person else "Interview"
    st.title(plain(title), anchor=False)
    again = "" if engine.settings.public else "; load the page again to go on"
    st.info(f"This person is no longer loaded. What was said is kept{again}.")
    st.page_link(pages.people(), label="People", icon=":material/group:")
    turns, path = _read(engine, thread.id)
    _draw(engine, title, avatar(None, title), turns, path, can_ask=False)
