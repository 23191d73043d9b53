"""One turn on the page: question, answer as it comes or as it ended, sources, warnings, why."""

from __future__ import annotations

import time
from collections.abc import Callable

import streamlit as st

from persona.records import PATH_SEPARATOR, Answer, Source, Turn, now
from persona.ui.guard import guarded
from persona.ui.state import Engine
from persona.ui.text import link, marked, plain, seconds, sentence
from persona.ui.why import why

PERSONA, READER = ":material/face:", ":material/mic:"  # portraits in the bubbles
_EVERY = 0.3  # seconds between two looks at a running turn
_SLOW = 8.0  # seconds without a word after which we say why it may take long
_LOST = 5.0  # seconds between two looks whether the process that answers is still there
_STOPPED = "Stopped. What had come until then is kept."
_STOPPED_EARLY = "Stopped before an answer had come."


def ended_turn(turn: Turn, again: Callable[[Turn], None] | None = None) -> None:
    """A turn that is over; `again` is called by the button that asks the same once more, where that makes sense."""
    question(turn.question.asked)
    with st.chat_message("assistant", avatar=PERSONA):
        if turn.answer:
            _answer(turn.answer)
        else:
            _without_answer(turn, again)
        why(turn)


def question(text: str) -> None:
    """The reader's bubble."""
    with st.chat_message("user", avatar=READER):
        st.text(text)


def running_turn(engine: Engine, turn: Turn) -> None:
    """A turn that is being answered; it draws itself anew until it ends, and then the whole page once."""
    question(turn.question.asked)
    with st.chat_message("assistant", avatar=PERSONA):
        st.fragment(_watch, run_every=_EVERY)(engine, turn.id)


@guarded
def _watch(engine: Engine, id_: str) -> None:
    turn = engine.history.turn(id_)
    if turn is None or turn.state != "running":
        st.rerun()
    _notice_the_dead(engine, id_)
    if turn.partial:
        st.text(f"{turn.partial} ▌")
    waited = (now() - turn.created_at).total_seconds()
    st.caption(f"{plain(sentence(turn.step or 'starting').rstrip('.'))} … {seconds(waited)}")
    if waited > _SLOW and not turn.partial:
        st.caption("The first answer after a pause takes longer: the model is being loaded.")
    if st.button("Stop", icon=":material/stop_circle:", key=f"stop-{id_}"):
        engine.stop(id_)


def _notice_the_dead(engine: Engine, turn: str) -> None:
    """Another process may have been answering, and ended."""
    looked = st.session_state.get("looked", 0.0)
    if not engine.answers(turn) and time.monotonic() - looked > _LOST:
        st.session_state["looked"] = time.monotonic()
        engine.history.abandon()


def _answer(answer: Answer) -> None:
    st.text(answer.text)
    if not answer.found:
        st.caption(f":material/info: Why there is no answer: {plain(sentence(answer.reason))}")
        return
    if answer.warnings:
        st.caption(f":material/warning: Check this: {plain(sentence('; '.join(answer.warnings)))}")
    if answer.sources:
        st.caption("Sources")
    for source in answer.sources:
        _source(source)


def _source(source: Source) -> None:
    with st.expander(f"{source.number}\\. {_section(source)}", type="compact"):
        st.html(marked(source.text, source.supports))
        about = ["Marked: what supports the answer."] if source.supports else []
        about.append(
            link(f"Open this section, as of revision {source.revision}", source.url)
            if source.url
            else plain(f"From a text on this computer, version {source.revision}.")
        )
        st.caption(" ".join(about))


def _section(source: Source) -> str:
    return plain(source.section.replace(PATH_SEPARATOR, " › "))


def _without_answer(turn: Turn, again: Callable[[Turn], None] | None) -> None:
    if turn.partial:
        st.text(turn.partial)
    if turn.state == "stopped":
        st.caption(f":material/stop_circle: {_STOPPED if turn.partial else _STOPPED_EARLY}")
    else:
        st.error(plain(turn.error), icon=":material/error:")
    if again:
        st.button("Try again", icon=":material/refresh:", key=f"again-{turn.id}", on_click=again, args=(turn,))
