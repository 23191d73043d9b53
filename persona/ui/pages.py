"""The pages and their addresses. A page names another through here, so that no page imports another."""

from __future__ import annotations

import streamlit as st
from streamlit.navigation.page import Page


def people() -> Page:
    """Who can be interviewed; the first page."""
    from persona.ui import people as drawn

    return st.Page(drawn.page, title="People", icon=":material/group:", url_path="people", default=True)


def interview() -> Page:
    """An interview; `?person=…&thread=…` says which."""
    from persona.ui import interview as drawn

    return st.Page(drawn.page, title="Interview", icon=":material/forum:", url_path="interview")
