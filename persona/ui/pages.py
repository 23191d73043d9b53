"""The pages and their addresses. A page names another through here, so that no page imports another."""

from __future__ import annotations

from pathlib import Path

import streamlit as st
from streamlit.navigation.page import Page

_HERE = Path(__file__).parent


def prepare() -> None:
    """What all pages have in common: the tab's title and icon, and a little style.

    The icon is a file of ours: for an emoji or one of Streamlit's icons the browser would ask a server elsewhere.
    """
    st.set_page_config(page_title="Persona: interview anyone on Wikipedia", page_icon=str(_HERE / "icon.svg"))
    st.html(_HERE / "style.css")


def people() -> Page:
    """Who can be interviewed; the first page."""
    from persona.ui import people as drawn

    return st.Page(drawn.page, title="People", icon=":material/group:", url_path="people", default=True)


def interview() -> Page:
    """An interview; `?person=…&thread=…` says which."""
    from persona.ui import interview as drawn

    return st.Page(drawn.page, title="Interview", icon=":material/forum:", url_path="interview")
