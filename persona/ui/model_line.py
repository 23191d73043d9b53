"""What answers, in words, and another choice; what would be better, with one button that helps.

The sidebar of each page has the choice; the page of people also says what would be better. Both follow by themselves
while something is about to change: a server is started, a model comes.
"""

from __future__ import annotations

import streamlit as st

from persona.answering import Health, Offer, named
from persona.errors import PersonaError
from persona.jobs import PREPARE, PULL, Job
from persona.records import ModelStatus
from persona.ui.guard import guarded
from persona.ui.loads import cancel
from persona.ui.own import model_name
from persona.ui.state import FRESH, Engine
from persona.ui.text import plain, seconds, sentence

_EVERY = 1.0  # seconds between two looks while something is about to change
_CHOICE, _NOTE, _CHANGED = "answering", "answering_note", "answering_changed"  # session_state
_AUTO = ("auto", "")


def model_line(engine: Engine, offers: bool = True) -> None:
    """The sidebar's part: the choice; with `offers` all that `offer` says, for pages that have no room for it.

    In a public demo its keeper chooses the model.
    """
    with st.sidebar:
        pace = _pace(engine) if offers else None  # one part of a page that looks again is enough
        st.fragment(_line, run_every=pace)(engine, _seen(engine), offers)


def offer(engine: Engine) -> None:
    """The page's part: what answers, how far a model has come, and what would be better."""
    st.fragment(_offers, run_every=_pace(engine))(engine, _seen(engine))


def _pace(engine: Engine) -> float:
    """Seconds between two looks; a server can come and go at any time."""
    return _EVERY if engine.health() is None or _working(engine) else FRESH


def _seen(engine: Engine) -> object:
    """What is drawn, so that a change is noticed."""
    health = engine.health()
    if health is None:
        return None
    there = tuple((one.kind, one.model) for one in health.there)
    working = tuple(job.id for job in _working(engine))
    return health.answers.kind, health.answers.model, health.answers.ready, health.offer, there, working


def _working(engine: Engine) -> list[Job]:
    return [job for job in engine.jobs.running() if not job.loads]


@guarded
def _line(engine: Engine, seen: object, offers: bool) -> None:
    if _seen(engine) != seen or st.session_state.pop(_CHANGED, False):
        st.rerun()
    health = engine.health()
    if offers:
        for job in _working(engine):
            _progress(engine, job)
    if health is None:
        st.caption("Checking which model answers …")
        return
    told = not engine.settings.public and _choice(engine, health)
    if health.answers.ready:
        if offers and not told:
            st.caption(_words(health.answers, engine.settings.public))
    elif engine.settings.public:
        st.warning("No model answers at the moment. Try again later.", icon=":material/warning:")
    elif offers and health.offer:
        _draw(engine, health.offer, "sidebar", works=False)
    if note := st.session_state.get(_NOTE):
        st.caption(plain(note))


@guarded
def _offers(engine: Engine, seen: object) -> None:
    if _seen(engine) != seen:
        st.rerun()
    health = engine.health()
    working = _working(engine)
    for job in working:
        _progress(engine, job)
    for job in _failed(engine):
        st.error(plain(job.error), icon=":material/error:")
        if st.button("Try again", key=f"pull-again-{job.id}", icon=":material/refresh:"):
            engine.jobs.again(job)
            st.rerun()
    if health and health.answers.ready:
        st.caption(_words(health.answers))
    if health and health.offer and not working and not _failed(engine):
        _draw(engine, health.offer, "page", works=health.answers.ready)


def _failed(engine: Engine) -> list[Job]:
    """The latest job of each kind, if it failed."""
    keys = {PREPARE, *(job.key for job in engine.jobs.ended() if job.key.startswith(PULL))}
    return [job for key in sorted(keys) if (job := engine.jobs.find(key)) and job.error]


# --- the choice ---


def _choice(engine: Engine, health: Health) -> bool:
    """A menu of all that could answer, unless there is nothing to choose; whether it tells who does."""
    options = {_AUTO: "Automatic", **{(one.kind, one.model): _option(one) for one in health.there}}
    settings, answers = engine.settings, health.answers
    current = _AUTO if settings.llm == "auto" else (answers.kind, answers.model)
    options.setdefault(current, _option(answers))
    if len(options) <= 2 and current == _AUTO:
        return False
    st.session_state[_CHOICE] = current
    st.selectbox(
        "Who answers",
        list(options),
        format_func=lambda option: options.get(option, ""),
        key=_CHOICE,
        on_change=_chosen,
        args=(engine,),
    )
    return current != _AUTO


def _option(status: ModelStatus) -> str:
    if status.kind == "builtin":
        return "Built-in model"
    where = "Ollama" if status.kind == "ollama" else status.address
    return f"{status.model} · {where}" if status.model else where


def _chosen(engine: Engine) -> None:
    _answer_with(engine, *st.session_state[_CHOICE])


def _answer_with(engine: Engine, kind: str, model: str) -> None:
    try:
        against = engine.answer_with(kind, model)
        note = f"Until the program ends: {against} is set, and counts again then." if against else ""
    except PersonaError as error:
        note = str(error)
    st.session_state[_NOTE] = note
    st.session_state[_CHANGED] = True


def _words(status: ModelStatus, public: bool = False) -> str:
    """Visitors of a public demo are not told where it is."""
    if public:
        return f"**Answers:** {plain(model_name(status.model) or 'a language model')}."
    if status.kind == "builtin":
        return f"**Answers:** {plain(named(status))}, on this computer. Nothing you ask leaves it."
    where = f" ({plain(status.address)})" if status.kind == "ollama" else ""
    return f"**Answers:** {plain(named(status))}{where}."


# --- what would be better ---


def _draw(engine: Engine, better: Offer, where: str, *, works: bool) -> None:
    words = plain(sentence(better.words))
    if works:
        st.info(words, icon=":material/lightbulb:")
    else:
        st.warning(words, icon=":material/warning:")
    if st.button(_label(better), key=f"offer-{where}", icon=_ICONS[better.action]):
        _act(engine, better)
        st.rerun()


_ICONS = {"pull": ":material/download:", "choose": ":material/swap_horiz:", "look": ":material/refresh:"}


def _label(better: Offer) -> str:
    if better.action == "pull":
        return f"Get {plain(better.model)}"
    if better.action == "choose":
        return f"Let {plain(better.model) if better.kind != 'builtin' else 'the built-in model'} answer"
    return "Look again"


def _act(engine: Engine, better: Offer) -> None:
    if better.action == "pull":
        engine.pull(better.model)
    elif better.action == "choose":
        _answer_with(engine, better.kind, better.model)
    else:
        engine.look()


def _progress(engine: Engine, job: Job) -> None:
    done, total = job.latest if isinstance(job.latest, tuple) else (0, 0)
    what = "Setting up the built-in model, once" if job.key == PREPARE else f"Getting {plain(job.title)}"
    so_far = f"{_size(done, total)}, {seconds(job.seconds)}" if total else "starting"
    st.progress(done / total if total else 0.0, text=f"{what}: {so_far}")
    if job.key != PREPARE:
        cancel(engine, job)


def _size(done: int, total: int) -> str:
    if total < 2e9:
        return f"{done / 1e6:,.0f} of {total / 1e6:,.0f} MB"
    return f"{done / 1e9:.1f} of {total / 1e9:.1f} GB"
