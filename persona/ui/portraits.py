"""A person's face: the picture that the data folder holds, else the initials."""

from __future__ import annotations

import html
from pathlib import Path
from zlib import crc32

import streamlit as st

from persona.ui.text import initials

_HUES = 12


def portrait(file: Path | None, title: str, width: int) -> None:
    """Draw it, `width` pixels wide and as high; style.css makes both round."""
    if file:
        st.image(str(file), width=width, alt=title)
    else:
        hue = crc32(title.encode()) % _HUES * 360 // _HUES
        style = f"width:{width}px;height:{width}px;font-size:{width * 0.38:.0f}px;--hue:{hue}"
        st.html(
            f'<div class="initials" style="{style}" role="img" aria-label="{html.escape(title)}">'
            f"{html.escape(initials(title))}</div>",
            width="content",
        )
