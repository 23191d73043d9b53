"""The list of interviews: begin, open, rename, delete with undo, search and export.

A choice only changes the address; the page is drawn from that.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace

import streamlit as st

from persona.export import Interview, file_name, to_json, to_markdown
from persona.records import Person, Thread
from persona.ui.guard import guarded
from persona.ui.own import model_name
from persona.ui.state import Engine
from persona.ui.text import plain

_MANY = 8  # interviews that are shown without a scroll bar of their own
_TALLEST = 380  # pixels
_MOST = 60  # interviews listed; the others are found by a search
_SEARCH = "search"  # session_state
_DELETED = "deleted"  # session_state: the thread that was deleted last
_LIST = "threads"  # the class st-key-threads of interview.css


def threads(engine: Engine, person: Person | None, current: Thread | None) -> None:
    """Draw all of it. The list is of `person`, a search goes through everybody's."""
    if person:
        st.button("New interview", icon=":material/add:", width="stretch", on_click=_open, args=(person.id, ""))
    begun = [one for one in engine.history.threads() if one.title]
    _undo(engine)
    if not begun:
        return
    words = st.text_input("Search what was said", key=_SEARCH, placeholder="A word of a question or an answer").strip()
    if words:
        listed = [one for one in engine.history.search(words) if one.title]
        st.caption("Found, latest first" if listed else "Nothing was said with these words.")
    else:
        listed = [one for one in begun if person and one.person == person.id]
        if listed:
            st.caption("Interviews, latest first")
    if listed:
        tall = len(listed) > _MANY
        with st.container(height=_TALLEST if tall else "content", border=False, gap="xxsmall", key=_LIST):
            for one in listed[:_MOST]:
                _row(engine, one, current, named=bool(words))


def _row(engine: Engine, thread: Thread, current: Thread | None, *, named: bool) -> None:
    """A button, since two may have the same title, and a choice goes by that; beside it what can be done."""
    open_now = current is not None and thread.id == current.id
    with st.container(horizontal=True, gap="xxsmall", vertical_alignment="center"):
        who = engine.library.known(thread.person) if named else None
        st.button(
            plain(f"{thread.title} · {who.title}" if who else thread.title),
            key=f"thread-{thread.id}",
            type="secondary" if open_now else "tertiary",
            width="stretch",
            on_click=_open,
            args=(thread.person, thread.id),
        )
        more = st.popover(
            "More", icon=":material/more_horiz:", type="tertiary", key=f"more-{thread.id}", on_change="rerun"
        )
    if more.open:
        with more:
            _more(engine, thread, current)


@guarded
def _more(engine: Engine, thread: Thread, current: Thread | None) -> None:
    key = f"title-{thread.id}"

    @guarded
    def rename() -> None:
        engine.history.rename(thread.id, st.session_state[key])

    st.text_input("Title", thread.title, key=key, max_chars=200, on_change=rename)
    interview = _interview(engine, thread)
    if interview:
        _download("Export as Markdown", "md", "text/markdown", interview, lambda: to_markdown(interview))
        _download("Export as JSON", "json", "application/json", interview, lambda: _as_text(interview))
    st.button(
        "Delete",
        icon=":material/delete:",
        width="stretch",
        key=f"delete-{thread.id}",
        on_click=_delete,
        args=(engine, thread, current is not None and current.id == thread.id),
    )


def _interview(engine: Engine, thread: Thread) -> Interview | None:
    person = engine.library.known(thread.person)
    if person is None:
        return None
    history = engine.history
    build = engine.library.build(person.build)
    if build and engine.settings.public:  # where files lie is the keeper's business
        build = replace(build, origin="", embedder=model_name(build.embedder))
    return Interview(thread, person, build, history.turns(thread.id), history.ratings(thread.id))


def _download(label: str, ending: str, kind: str, interview: Interview, made: Callable[[], str]) -> None:
    st.download_button(
        label,
        made,
        file_name(interview, ending),
        kind,
        key=f"{ending}-{interview.thread.id}",
        icon=":material/download:",
        width="stretch",
        on_click="ignore",
    )


def _as_text(interview: Interview) -> str:
    return json.dumps(to_json(interview), ensure_ascii=False, indent=2) + "\n"


@guarded
def _delete(engine: Engine, thread: Thread, is_open: bool) -> None:
    for turn in engine.history.turns(thread.id):
        engine.stop(turn.id)  # later nobody could, and the next question would have to wait for it
    engine.history.remove(thread.id)
    st.session_state[_DELETED] = thread
    if is_open:
        _open(thread.person, "")


def _undo(engine: Engine) -> None:
    thread: Thread | None = st.session_state.get(_DELETED)
    if thread is None:
        return
    with st.container(horizontal=True, vertical_alignment="center"):
        st.caption(f"Deleted: {plain(thread.title)}")
        st.button("Undo", icon=":material/undo:", type="tertiary", on_click=_restore, args=(engine, thread))


@guarded
def _restore(engine: Engine, thread: Thread) -> None:
    engine.history.restore(thread.id)
    st.session_state.pop(_DELETED, None)
    _open(thread.person, thread.id)


def _open(person: str, thread: str) -> None:
    st.query_params.from_dict({"person": person, **({"thread": thread} if thread else {})})
