"""Streamlit's entry: the server. `persona app` and `streamlit run app.py` find `app` here; the pages are in persona/ui."""

from pathlib import Path

from starlette.middleware import Middleware
from streamlit.starlette import App

from persona import ui
from persona.calls import to_stderr
from persona.ui.health import Health
from persona.ui.visitors import VisitorCookie, cookie_secret

to_stderr()
app = App(
    Path(ui.__file__).with_name("script.py"),
    routes=Health().routes(),
    middleware=[Middleware(VisitorCookie, cookie_secret)],
)
