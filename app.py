"""Streamlit's entry: navigation, nothing else."""

import streamlit as st

from persona.ui import pages

st.set_page_config(page_title="Persona: interview anyone on Wikipedia", page_icon=":material/forum:")
st.navigation([pages.people(), pages.interview()]).run()
