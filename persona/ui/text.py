"""Text from pages, people and models, shown as text: never as markup, maths, HTML or a remote picture.

A whole text is shown by `st.text`, which reads no markup. `plain` is for labels and sentences that Streamlit reads as
Markdown; `marked` and `table` make HTML in which every character of the text is escaped. Pure.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Sequence
from datetime import datetime
from urllib.parse import quote

JOINER = "\u2060"  # word joiner: no width, no break
_PUNCTUATION = re.compile(r"([!-/:-@\[-`{-~])")  # all of ASCII's; Markdown lets each be escaped
# Streamlit replaces these after Markdown was read, so that a backslash does not help: addresses become links, names
# between colons emoji, icons or a logo, and arrows and the like one sign.
_REPLACED_LATER = re.compile(r"(?:(?<=:)(?=[\w+\-/])|(?<=@)|(?<=www)(?=\.)|(?<=[<>~-])(?=[=>-]))", re.IGNORECASE)
_MARK = "background: rgba(240, 180, 40, .32); color: inherit; border-radius: .2em; padding: .05em .1em"
_WHOLE = "white-space: pre-wrap; overflow-wrap: anywhere; unicode-bidi: plaintext"
_CELL = "text-align: left; vertical-align: top; padding: .3em .9em .3em 0; overflow-wrap: break-word"
_RULE = "border-bottom: 1px solid rgba(128, 128, 128, .3)"
_TABLE = "border-collapse: collapse; width: 100%; font-size: .875rem; margin-bottom: .75rem"
_NARROW = 3  # columns that a phone has room for


def plain(text: str) -> str:
    """Markdown that shows exactly this text; paragraphs and line ends stay, blanks around a line do not."""
    broken = _REPLACED_LATER.sub(JOINER, text.replace("\0", "\ufffd"))
    lines = [
        _PUNCTUATION.sub(r"\\\1", line.strip())
        for line in re.split(r"\r\n|[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]", broken)
    ]
    return re.sub(r"(?<=\S)\n(?=\S)", "  \n", "\n".join(lines))


def marked(text: str, spans: Iterable[tuple[int, int]] = ()) -> str:
    """HTML that shows exactly this text, with the spans of characters marked; overlapping ones are joined."""
    parts: list[str] = []
    at = 0
    for first, last in sorted(spans):
        start, end = max(first, at), min(last, len(text))
        if start < end:
            parts.append(html.escape(text[at:start]))
            parts.append(f'<mark style="{_MARK}">{html.escape(text[start:end])}</mark>')
            at = end
    parts.append(html.escape(text[at:]))
    return f'<div style="{_WHOLE}">{"".join(parts)}</div>'


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """An HTML table of texts. One of many columns is of class "wide", and its cells know what stands above them."""
    wide = ' class="wide"' if len(head) > _NARROW else ""
    top = "".join(_cell("th", cell) for cell in head)
    body = "".join(f"<tr>{''.join(map(_named_cell, row, head))}</tr>" for row in rows)
    return f'<div style="overflow-x: auto"><table{wide} style="{_TABLE}"><tr>{top}</tr>{body}</table></div>'


def _named_cell(text: str, name: str) -> str:
    return _cell("td", text, f' data-name="{html.escape(name)}"')


def _cell(kind: str, text: str, more: str = "") -> str:
    return f'<{kind} style="{_CELL}; {_RULE}"{more}>{html.escape(text)}</{kind}>'


def link(label: str, url: str) -> str:
    """A Markdown link; only the label where the address is none of the web."""
    if not re.match(r"https?://\S", url):
        return plain(label)
    return f"[{plain(label)}]({quote(url, safe=':/?#@!$&+,;=%~-._')})"


def sentence(text: str) -> str:
    """The text with a capital in front and a full stop at the end."""
    text = text.strip()
    ended = text if not text or text[-1] in ".!?。！？…" else f"{text}."
    return ended[:1].upper() + ended[1:]


def initials(title: str) -> str:
    """One or two letters that stand for a name where there is no picture."""
    words = [word for word in re.split(r"[\s\-–,.]+", re.sub(r"\(.*?\)", "", title)) if word[:1].isalnum()]
    if not words:
        return title[:1].upper()
    return words[0][0].upper() + (words[-1][0].upper() if len(words) > 1 else "")


def day(moment: datetime) -> str:
    """The day in the reader's time, as in "5 March 2026"."""
    local = moment.astimezone()
    return f"{local.day} {local:%B %Y}"


def seconds(number: float) -> str:
    """As in "0.4 s", "12 s", "2 min 5 s"."""
    if number < 60:
        return f"{number:.1f} s" if number < 10 else f"{number:.0f} s"
    return f"{int(number) // 60} min {int(number) % 60} s"
