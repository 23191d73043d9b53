"""Whom to load: titles of the wiki while the reader types, each a button, with a line and a picture where there are any.

Draws itself anew without the rest of the page. The wiki's answers and pictures come from persona.lookup.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import streamlit as st

from persona.errors import PersonaError
from persona.records import Suggestion
from persona.ui.about import LANGUAGES, language_name
from persona.ui.guard import guarded
from persona.ui.loads import follow, put_ended_away
from persona.ui.portraits import portrait
from persona.ui.state import Engine
from persona.ui.text import plain, sentence

_TYPED, _LANGUAGE, _TAKEN = "typed", "language", "taken"  # session_state
_PAUSE = "300ms"  # after the last letter, before the wiki is asked
_FACE = 44  # pixels


def search(engine: Engine) -> None:
    """Draw the field and what the wiki has for it."""
    with st.container(border=True, key="search"):
        st.fragment(_search)(engine)


@guarded
def _search(engine: Engine) -> None:
    if st.session_state.pop(_TAKEN, False):
        st.rerun()  # the rest of the page shows how the load goes
    name, tongue = st.columns([5, 2.4], vertical_alignment="bottom")
    typed = name.text_input(
        "Whom would you like to interview?",
        key=_TYPED,
        type="search",
        live=_PAUSE,
        placeholder="Ada Lovelace",
        icon=":material/search:",
    )
    language = tongue.selectbox(
        "Language",
        _languages(engine.settings.language),
        key=_LANGUAGE,
        format_func=language_name,
        accept_new_options=True,
        help="Another language: type the code that stands in front of wikipedia.org in its address, such as cy.",
    )
    if typed and typed.strip():
        _results(engine, " ".join(typed.split()), language)


def _languages(first: str) -> list[str]:
    return [first, *(code for code in LANGUAGES if code != first)]


def _results(engine: Engine, typed: str, language: str) -> None:
    found: Sequence[Suggestion] = ()
    trouble = ""
    try:
        found = engine.lookup.suggest(typed, language)
    except PersonaError as error:
        trouble = str(error)
    with st.container(gap="xxsmall", key="suggestions"):
        faces = [_row(engine, one, language, number) for number, one in enumerate(found)]
        if typed.casefold() not in {one.title.casefold() for one in found}:
            st.button(
                f"Load the page called “{plain(typed)}”",
                icon=":material/download:",
                type="tertiary",
                key="as-typed",
                on_click=_take,
                args=(engine, typed, language),
            )
        elif found:
            st.caption("Choose a title, and its page is read.")
    if trouble:
        st.warning(plain(sentence(trouble)), icon=":material/cloud_off:")
    _fill(engine, found, faces)


def _row(engine: Engine, one: Suggestion, language: str, number: int) -> Any:  # noqa: ANN401 - Streamlit's placeholder
    """One suggestion, with initials until its picture is there; the place of the picture."""
    about = f" · {plain(one.description)}" if one.description else ""
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        face = st.empty()
        with face:
            portrait(None, one.title, _FACE)
        st.button(
            f"**{plain(one.title)}**{about}",
            type="tertiary",
            width="stretch",
            wrap=True,
            key=f"take-{language}-{one.title}-{number}",
            on_click=_take,
            args=(engine, one.title, language),
        )
    return face


def _fill(engine: Engine, found: Sequence[Suggestion], faces: Sequence[Any]) -> None:
    """Pictures as they come; the next letter typed ends the wait."""
    for address, file in engine.lookup.pictures(one.picture for one in found):
        for one, face in zip(found, faces, strict=True):
            if one.picture == address:
                with face:
                    portrait(file, one.title, _FACE)


def _take(engine: Engine, title: str, language: str) -> None:
    """Load what was chosen; the field is empty again."""
    put_ended_away(engine)
    follow(engine.load(title, language))
    st.session_state[_TYPED] = ""
    st.session_state[_TAKEN] = True
