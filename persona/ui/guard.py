"""No traceback ever reaches the reader: trouble becomes one sentence. Knows nothing of what is drawn."""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import wraps
from typing import ParamSpec

import streamlit as st

from persona.errors import PersonaError
from persona.jobs import UNEXPECTED
from persona.ui.text import plain

_P = ParamSpec("_P")
_log = logging.getLogger(__name__)


def guarded(draw: Callable[_P, None]) -> Callable[_P, None]:
    """A page or a part of one whose errors are shown as sentences. Streamlit's own signals pass: they are no Exception."""

    @wraps(draw)
    def safely(*args: _P.args, **kwargs: _P.kwargs) -> None:
        try:
            draw(*args, **kwargs)
        except PersonaError as error:
            st.error(plain(str(error)), icon=":material/error:")
        except Exception:
            _log.exception("a page could not be drawn")
            st.error(UNEXPECTED, icon=":material/error:")

    return safely
