"""How the loads go that this tab asked for, and how they ended: a summary, a choice of titles, or a sentence.

What a tab follows is a list of jobs' ids in its session_state; the jobs themselves belong to the process.
"""

from __future__ import annotations

import streamlit as st

from persona.errors import OtherWiki
from persona.jobs import Job
from persona.records import Choice, Loaded, Progress
from persona.text import count
from persona.ui import pages
from persona.ui.about import language_name
from persona.ui.guard import guarded
from persona.ui.state import Engine
from persona.ui.text import plain, seconds

_MINE = "jobs"  # session_state: the ids of the jobs that this tab started and has not put away
_EVERY = 0.4  # seconds between two looks at what is running


def follow(job: Job) -> None:
    """Show this job until the reader puts it away."""
    st.session_state[_MINE] = [*(id_ for id_ in st.session_state.get(_MINE, []) if id_ != job.id), job.id]


def put_ended_away(engine: Engine) -> None:
    """Whoever asks for somebody new has read how the earlier ones ended."""
    running = {job.id for job in engine.jobs.running()}
    st.session_state[_MINE] = [id_ for id_ in st.session_state.get(_MINE, []) if id_ in running]


def loads(engine: Engine) -> None:
    """Draw what is running in the process, and how this tab's own ended."""
    running = [job for job in engine.jobs.running() if job.loads]
    if running:
        st.fragment(_watch, run_every=_EVERY)(engine, tuple(job.id for job in running))
    for id_ in st.session_state.get(_MINE, []):
        job = engine.jobs.get(id_)
        if job and job.ended is not None and not job.cancelled:
            _outcome(engine, job)


def cancel(engine: Engine, job: Job) -> None:
    """The button that ends what is running."""
    st.button(
        "Cancel", icon=":material/close:", type="tertiary", key=f"cancel-{job.id}", on_click=engine.cancel, args=(job,)
    )


@guarded
def _watch(engine: Engine, shown: tuple[str, ...]) -> None:
    jobs = [job for job in map(engine.jobs.get, shown) if job]
    if any(job.ended is not None for job in jobs):
        st.rerun()
    for job in jobs:
        done, words = _how_far(job)
        st.progress(done, text=f"Loading {plain(job.title)}: {words}, {seconds(job.seconds)}")
        cancel(engine, job)


def _how_far(job: Job) -> tuple[float, str]:
    """From 0 to 1, and in words."""
    match job.latest:
        case Progress("fetched", detail=title):
            return 0.05, plain(f"fetched {title}")
        case Progress("embedding", done=done, total=total):
            return 0.1 + 0.85 * done / max(total, 1), f"embedded {done:,} of {count(total, 'passage')}"
        case Progress("stored") | Loaded():
            return 1.0, "stored"
    return 0.0, "fetching the page"


def _outcome(engine: Engine, job: Job) -> None:
    if job.error:
        away = _failed(engine, job)
    elif job.choice:
        away = _choose(engine, job, job.choice)
    else:
        away = _loaded(job)
    if away:
        _put_away(job)
        st.rerun()


def _failed(engine: Engine, job: Job) -> bool:
    """The sentence, and the one button that helps."""
    st.error(plain(job.error), icon=":material/error:")
    elsewhere = job.trouble if isinstance(job.trouble, OtherWiki) and job.trouble.language else None
    with st.container(horizontal=True):
        if elsewhere and elsewhere.title:
            tongue = language_name(elsewhere.language)
            if st.button(f"Load “{plain(elsewhere.title)}” in {plain(tongue)}", key=f"there-{job.id}", type="primary"):
                _instead(job, engine.load(elsewhere.title, elsewhere.language))
        elif st.button("Try again", key=f"again-{job.id}", type="primary", icon=":material/refresh:"):
            _instead(job, engine.jobs.again(job))
        return st.button("Close", key=f"away-{job.id}", type="tertiary")


def _loaded(job: Job) -> bool:
    for loaded in job.loaded:
        st.success(_summary(loaded, job), icon=":material/check_circle:")
        if loaded.advice:
            st.warning(plain(loaded.advice), icon=":material/translate:")
    with st.container(horizontal=True):
        if len(job.loaded) == 1 and st.button("Interview now", type="primary", key=f"go-{job.id}"):
            _put_away(job)
            st.switch_page(pages.interview(), query_params={"person": job.loaded[0].person.id})
        return st.button("Close", key=f"away-{job.id}", type="tertiary")


def _summary(loaded: Loaded, job: Job) -> str:
    build = loaded.build
    parts = f"{count(len(build.sections), 'section')} in {count(build.chunks, 'passage')}"
    left_out = f", {count(len(build.left_out), 'section')} left out" if build.left_out else ""
    known = " No passage is new." if not loaded.embedded else ""
    elsewhere = job.key.startswith("load ") and job.title.casefold() != build.title.casefold()
    asked = f" (you asked for {plain(job.title)})" if elsewhere else ""
    return f"**{plain(build.title)}**{asked} is ready: {parts}{left_out}. It took {seconds(job.seconds)}.{known}"


def _choose(engine: Engine, job: Job, choice: Choice) -> bool:
    title = plain(choice.asked_for)
    if not choice.options:
        st.warning(f"There is no page called “{title}”, and nothing like it. Check the spelling, or the language.")
        return st.button("Close", key=f"away-{job.id}")
    several = f"“{title}” can be one of several pages. Which one?"
    st.info(
        several
        if choice.reason == "disambiguation"
        else f"There is no page called “{title}”. Did you mean one of these?"
    )
    with st.container(horizontal=True):
        for number, option in enumerate(choice.options):
            if st.button(plain(option), key=f"option-{job.id}-{number}"):
                _instead(job, engine.load(option, job.language))
        return st.button("None of them", key=f"away-{job.id}", type="tertiary")


def _instead(job: Job, next_one: Job) -> None:
    _put_away(job)
    follow(next_one)
    st.rerun()


def _put_away(job: Job) -> None:
    st.session_state[_MINE] = [id_ for id_ in st.session_state.get(_MINE, []) if id_ != job.id]
