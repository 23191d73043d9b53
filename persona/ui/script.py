"""What Streamlit runs for each look at a page: navigation, nothing else."""

import streamlit as st

from persona.ui import pages

pages.prepare()
st.navigation([pages.people(), pages.interview()]).run()
