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
        with st.container(width=width):  # given a width itself, it would send as few pixels, which fine screens show
            st.image(str(file), width="stretch", alt=title)
    else:
        style = f"width:{width}px;height:{width}px;font-size:{width * 0.38:.0f}px;--hue:{_hue(title)}"
        st.html(
            f'<div class="initials" style="{style}" role="img" aria-label="{html.escape(title)}">'
            f"{html.escape(initials(title))}</div>",
            width="content",
        )


def avatar(file: Path | None, title: str) -> str:
    """The face beside what a persona says, as `st.chat_message` takes it."""
    return str(file) if file else _drawn(title)


def _drawn(title: str) -> str:
    return (
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 64 64">'
        f'<rect width="64" height="64" fill="hsl({_hue(title)} 32% 42%)"/>'
        '<text x="32" y="33" fill="#fff" font-family="sans-serif" font-size="26" text-anchor="middle" '
        f'dominant-baseline="central">{html.escape(initials(title))}</text></svg>'
    )


def _hue(title: str) -> int:
    return crc32(title.encode()) % _HUES * 360 // _HUES
