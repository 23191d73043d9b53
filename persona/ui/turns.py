"""One turn on the page: question, answer as it comes or as it ended, and what can be done with it."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import streamlit as st

from persona.branches import beside, newest_below
from persona.line import IN_LINE
from persona.records import Rating, Turn, now
from persona.ui import asking, bubbles
from persona.ui.guard import guarded
from persona.ui.state import Engine
from persona.ui.text import plain
from persona.ui.toolbar import Action, Tool, toolbar
from persona.ui.why import why

READER = ":material/mic:"  # the portrait in the reader's bubbles
_EVERY = 0.3  # seconds between two looks at a running turn
_SLOW = 8.0  # seconds without a word after which we say why it may take long
_LOST = 5.0  # seconds between two looks whether the process that answers is still there
_EDITED = "edited"  # session_state: the turn whose question is being edited
_LONGEST_WHY = 300


@dataclass(frozen=True, slots=True)
class Scene:
    """What the turns of a page share. `turns` are all of the thread; without `can_ask` they can only be read."""

    engine: Engine
    title: str  # of the page
    portrait: str
    turns: Sequence[Turn]
    ratings: Mapping[str, Rating]
    last: str
    can_ask: bool = True


def draw(scene: Scene, turn: Turn) -> None:
    """The two bubbles of a turn."""
    if turn.state == "running":
        question(turn.question.asked)
        with st.chat_message("assistant", avatar=scene.portrait):
            st.fragment(_watch, run_every=_EVERY)(scene.engine, turn.id)
        return
    if scene.can_ask and st.session_state.get(_EDITED) == turn.id:
        _editor(turn)
    else:
        question(turn.question.asked)
    with st.chat_message("assistant", avatar=scene.portrait):
        _ended(scene, turn)


def question(text: str) -> None:
    """The reader's bubble."""
    with st.chat_message("user", avatar=READER):
        st.html(bubbles.said(text))


def _ended(scene: Scene, turn: Turn) -> None:
    if body := bubbles.ended(turn, scene.title):
        st.html(body)
    if turn.error and turn.answer is None:
        st.error(plain(turn.error), icon=":material/error:")
    if turn.answer is None and scene.can_ask and turn.id == scene.last:
        st.button("Try again", icon=":material/refresh:", key=f"again-{turn.id}", on_click=_again, args=(turn,))
    if turn.answer and turn.answer.cut and scene.can_ask and turn.id == scene.last:
        st.button("Go on", icon=":material/more_horiz:", key=f"on-{turn.id}", on_click=_go_on, args=(turn,))
    toolbar(f"tools-{turn.id}", _tools(scene, turn), _text(turn), _place(scene, turn), _Clicked(scene, turn))
    if rating := scene.ratings.get(turn.id):
        _why_rated(scene, rating)
    why(turn)


# --- a turn that is being answered ---


@guarded
def _watch(engine: Engine, id_: str) -> None:
    """Draws itself anew until the turn ends, and then the whole page once."""
    turn = engine.history.turn(id_)
    if turn is None or turn.state != "running":
        st.rerun()
    _notice_the_dead(engine, id_)
    waited = (now() - turn.created_at).total_seconds()
    st.html(bubbles.progress(turn, waited))
    if waited > _SLOW and not turn.partial and IN_LINE not in turn.step:
        st.caption(
            "It takes its time: without a graphics card a model reads slowly, and after a pause it is loaded first."
        )
    if engine.answers(id_):  # what another process answers can be stopped there alone
        st.button("Stop", icon=":material/stop_circle:", key=f"stop-{id_}", on_click=engine.stop, args=(id_,))


def _notice_the_dead(engine: Engine, turn: str) -> None:
    """Another process may have been answering, and ended."""
    looked = st.session_state.get("looked", 0.0)
    if not engine.answers(turn) and time.monotonic() - looked > _LOST:
        st.session_state["looked"] = time.monotonic()
        engine.end_the_dead()


# --- what can be done with one that is over ---


def _tools(scene: Scene, turn: Turn) -> list[Tool]:
    tools: list[Tool] = []
    same = beside(scene.turns, turn)
    if len(same) > 1:
        at = same.index(turn)
        tools.append(Tool("previous", "The version before", disabled=at == 0))
        tools.append(Tool("next", "The version after", disabled=at == len(same) - 1))
    tools.append(Tool("copy", "Copy"))
    if scene.can_ask:
        tools += [Tool("edit", "Edit the question"), Tool("again", "Another answer")]
        if turn.id != scene.last:
            tools.append(Tool("reply", "Go on from here"))
    rating = scene.ratings.get(turn.id)
    if turn.answer:
        tools.append(Tool("good", "A good answer", pressed=rating is not None and rating.good))
        tools.append(Tool("bad", "A bad answer", pressed=rating is not None and not rating.good))
    return tools


def _place(scene: Scene, turn: Turn) -> str:
    same = beside(scene.turns, turn)
    return f"{same.index(turn) + 1}/{len(same)}" if len(same) > 1 else ""


def _text(turn: Turn) -> str:
    return turn.answer.text if turn.answer else turn.partial


@dataclass(frozen=True, slots=True)
class _Clicked:
    """What a tool does; runs before the page is drawn anew."""

    scene: Scene
    turn: Turn

    def __call__(self, action: Action) -> None:
        turn = self.turn
        if action in {"previous", "next"}:
            same = beside(self.scene.turns, turn)
            self._show(newest_below(self.scene.turns, same[same.index(turn) + (1 if action == "next" else -1)]))
        elif action == "edit":
            st.session_state[_EDITED] = turn.id
        elif action == "again":
            _again(turn)
        elif action == "reply":
            self._show(turn)
        elif action in {"good", "bad"}:
            self._rate(good=action == "good")

    @guarded
    def _show(self, turn: Turn) -> None:
        self.scene.engine.history.show(turn.thread, turn.id)

    @guarded
    def _rate(self, *, good: bool) -> None:
        history, rating = self.scene.engine.history, self.scene.ratings.get(self.turn.id)
        if rating and rating.good == good:
            history.unrate(self.turn.id)
        else:
            history.rate(Rating(self.turn.id, good, rating.why if rating else "", now()))


def _again(turn: Turn) -> None:
    asking.hold(turn.thread, turn.question.asked, instead_of=turn.id)


def _go_on(turn: Turn) -> None:
    asking.hold(turn.thread, "Go on.")


def _why_rated(scene: Scene, rating: Rating) -> None:
    key = f"rated-{rating.turn}"

    @guarded
    def keep() -> None:
        words = st.session_state[key].strip()
        scene.engine.history.rate(Rating(rating.turn, rating.good, words, now()))

    label = "What was good about it?" if rating.good else "What was wrong with it?"
    st.text_input(label, rating.why, key=key, max_chars=_LONGEST_WHY, placeholder="A word of why", on_change=keep)
    if rating.why:
        st.caption("Kept with the answer.")


def _editor(turn: Turn) -> None:
    with st.chat_message("user", avatar=READER), st.form(f"edit-{turn.id}", border=False):
        text = st.text_area("The question", turn.question.asked, label_visibility="collapsed")
        with st.container(horizontal=True):
            asked = st.form_submit_button("Ask this instead", type="primary")
            dropped = st.form_submit_button("Leave it as it is", type="tertiary")
    if asked and text.strip() and text.strip() != turn.question.asked:
        asking.hold(turn.thread, text, instead_of=turn.id)
    if asked or dropped:
        del st.session_state[_EDITED]
        st.rerun()
