"""The small picture beside what a persona says: their portrait, else their initials."""

from __future__ import annotations

import html
from zlib import crc32

from persona.records import Build
from persona.ui.state import Engine

_HUES = 12


def avatar(engine: Engine, build: Build | None, title: str = "") -> str:
    """What `st.chat_message` takes: a file, or a drawing of the initials."""
    return _drawn(build.title if build else title)


def _drawn(title: str) -> str:
    hue = crc32(title.encode()) % _HUES * 360 // _HUES
    letters = "".join(word[0] for word in title.split()[:2] if word[:1].isalnum()).upper() or "?"
    return (
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 64 64">'
        f'<rect width="64" height="64" fill="hsl({hue} 32% 42%)"/>'
        '<text x="32" y="33" fill="#fff" font-family="sans-serif" font-size="26" text-anchor="middle" '
        f'dominant-baseline="central">{html.escape(letters)}</text></svg>'
    )
