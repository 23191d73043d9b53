"""What stands in a bubble, as HTML in which every character of a text is escaped. Pure.

One element a bubble: a source opens without asking the server, and stays open when the page is drawn anew.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Sequence
from urllib.parse import quote

from persona.records import PATH_SEPARATOR, Answer, Source, Turn
from persona.text import count
from persona.ui.text import marked, seconds, sentence

_STOPPED = "Stopped. What had come until then is kept."
_STOPPED_EARLY = "Stopped before an answer had come."
_ENDED = "This answer broke off; what had come until then is kept."


def said(text: str, doubtful: Sequence[str] = ()) -> str:
    """Words of the reader or the persona; those that no source holds are marked."""
    shown = html.escape(text)
    if doubtful:
        words = "|".join(re.escape(html.escape(word)) for word in sorted(doubtful, key=len, reverse=True))
        mark = '<span class="doubtful" title="In no source">{}</span>'
        shown = re.sub(rf"(?<!\w)(?:{words})(?!\w)", lambda found: mark.format(found[0]), shown)
    return f'<div class="said">{shown}</div>'


def ended(turn: Turn, title: str) -> str:
    """A turn that is over, without what went wrong: the answer and what stands behind it, or what came of it.

    `title` is the page's, which the sources are from.
    """
    if turn.answer is None:
        part = said(turn.partial) if turn.partial else ""
        return part + _note(_what_became(turn))
    if not turn.answer.found:
        looked = looked_at(turn)
        return "".join((said(turn.answer.text), _note(_reason(turn.answer)), _note(looked) if looked else ""))
    return said(turn.answer.text, turn.answer.unsupported) + _warning(turn.answer) + sources(turn.answer.sources, title)


def progress(turn: Turn, waited: float) -> str:
    """A turn that is being answered: what was done, what is being done, and what came so far."""
    steps = turn.step.splitlines() or ["starting"]
    done = "".join(f'<li class="done">{html.escape(sentence(step).rstrip("."))}</li>' for step in steps[:-1])
    now = f'<li class="now">{html.escape(sentence(steps[-1]).rstrip("."))} … <span>{seconds(waited)}</span></li>'
    part = said(f"{turn.partial} ▌") if turn.partial else ""
    return f'<ol class="steps">{done}{now}</ol>{part}'


def sources(found: Iterable[Source], title: str) -> str:
    """Each under its number; opened, the passage with what supports the answer marked, and where to read on."""
    opened = "".join(f"<details><summary>{_heading(one)}</summary>{_passage(one, title)}</details>" for one in found)
    return f'<div class="sources"><div class="head">Sources</div>{opened}</div>' if opened else ""


def looked_at(turn: Turn) -> str:
    """What was searched before there was no answer; nothing where nothing was."""
    looked = [item.chunk for attempt in turn.trace.attempts for item in attempt.evidence]
    names = list(dict.fromkeys(chunk.path[-1] for chunk in looked))
    if names:
        passages = count(len({chunk.id for chunk in looked}), "passage")
        more = f" and {len(names) - 4} more" if len(names) > 4 else ""
        return f"Looked at: {passages}, in {', '.join(f'“{name}”' for name in names[:4])}{more}."
    return "Looked at: the whole page; no passage was near enough to the question." if turn.trace.gate else ""


def _what_became(turn: Turn) -> str:
    if turn.state == "stopped":
        return _STOPPED if turn.partial else _STOPPED_EARLY
    return _ENDED if turn.partial else ""


def _reason(answer: Answer) -> str:
    return f"Why there is no answer: {sentence(answer.reason)}"


def _warning(answer: Answer) -> str:
    return _note(f"Check this: {sentence('; '.join(answer.warnings))}", "warning") if answer.warnings else ""


def _note(text: str, kind: str = "note") -> str:
    return f'<div class="{kind}">{html.escape(text)}</div>' if text else ""


def _heading(source: Source) -> str:
    return f"{source.number}. {html.escape(source.section.replace(PATH_SEPARATOR, ' › '))}"


def _passage(source: Source, title: str) -> str:
    why = "Marked: what supports the answer. " if source.supports else "Sent with the question; no sentence is marked. "
    page, revision = html.escape(title), html.escape(source.revision)
    if re.match(r"https?://\S", source.url):
        address = html.escape(quote(source.url, safe=":/?#@!$&+,;=%~-._"))
        label = f"Open this section of {page}, as of revision {revision}"
        where = f'<a href="{address}" target="_blank" rel="noopener noreferrer">{label}</a>'
    else:
        where = f"From {page}, a text on this computer, version {revision}."
    return f'<div class="passage">{marked(source.text, source.supports)}<div class="about">{why}{where}</div></div>'
