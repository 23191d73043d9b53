"""Streamlit's entry: navigation, nothing else."""

import streamlit as st

from persona.ui import pages

pages.prepare()
st.navigation([pages.people(), pages.interview()]).run()
