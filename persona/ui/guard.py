"""No traceback ever reaches the reader: trouble becomes one sentence. Knows nothing of what is drawn.

Who visits a public demo cannot mend it, and learns no address or path of it: what is wrong stands in the log.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import wraps
from typing import ParamSpec

import streamlit as st

from persona.errors import Busy, InputError, PersonaError, SettingsError
from persona.jobs import UNEXPECTED
from persona.settings import is_public
from persona.ui.text import plain

TROUBLE = "Something is wrong on this demo's side. Try again in a minute; if it stays, its keeper finds the reason in the log."
_P = ParamSpec("_P")
_log = logging.getLogger(__name__)


def guarded(draw: Callable[_P, None]) -> Callable[_P, None]:
    """A page or a part of one whose errors are shown as sentences. Streamlit's own signals pass: they are no Exception."""

    @wraps(draw)
    def safely(*args: _P.args, **kwargs: _P.kwargs) -> None:
        try:
            draw(*args, **kwargs)
        except PersonaError as error:
            st.error(plain(told(error)), icon=":material/error:")
        except Exception:
            _log.exception("a page could not be drawn")
            st.error(UNEXPECTED, icon=":material/error:")

    return safely


def told(error: PersonaError) -> str:
    """What the reader is told of it: all, unless it is a visitor's and no matter of what they did."""
    theirs = isinstance(error, InputError | Busy) and not isinstance(error, SettingsError)
    if theirs or not is_public():
        return str(error)
    _log.warning("a visitor was told of trouble: %s", error)
    return TROUBLE
