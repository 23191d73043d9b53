"""The page of those who can be interviewed: cards, loading another, reload, delete."""

from __future__ import annotations

from collections import Counter

import streamlit as st

from persona.records import Build, Choice, Loaded, Person, Progress
from persona.ui import pages, state
from persona.ui.about import LANGUAGES, facts, language_name
from persona.ui.guard import guarded
from persona.ui.jobs import PREPARE, Job
from persona.ui.model_line import model_line
from persona.ui.state import Engine
from persona.ui.text import count, plain, seconds, sentence

_MINE = "jobs"  # session_state: the ids of the jobs that this tab started and has not put away
_EVERY = 0.4  # seconds between two looks at what is running


@guarded
def page() -> None:
    """The whole page."""
    st.title("Interview anyone on Wikipedia", anchor=False)
    st.markdown(
        "Choose a person, or load another one from Wikipedia. They answer in the first person, only from what their "
        "page says, and show where each answer comes from."
    )
    engine = state.engine()
    model_line(engine)
    _load_form(engine)
    _jobs(engine)
    _cards(engine)


def _load_form(engine: Engine) -> None:
    with st.form("load", border=True):
        name, tongue, go = st.columns([5, 3, 1.4], vertical_alignment="bottom")
        title = name.text_input("Name of a Wikipedia page", placeholder="Ada Lovelace", max_chars=300)
        language = tongue.selectbox(
            "Language",
            _languages(engine.settings.language),
            format_func=language_name,
            accept_new_options=True,
            help="Another language: type the code that stands in front of wikipedia.org in its address, such as cy.",
        )
        sent = go.form_submit_button("Load", type="primary", width="stretch")
    if sent:
        if title.strip():
            _put_all_away(engine)
            _follow(engine.load(title.strip(), language))
        else:
            st.warning("Type a name first.")


def _languages(first: str) -> list[str]:
    return [first, *(code for code in LANGUAGES if code != first)]


def _follow(job: Job) -> None:
    st.session_state[_MINE] = [*(id_ for id_ in st.session_state.get(_MINE, []) if id_ != job.id), job.id]


# --- what is running, and how it ended ---


def _jobs(engine: Engine) -> None:
    running = [job for job in engine.jobs.running() if job.key != PREPARE]
    if running:
        st.fragment(_watch, run_every=_EVERY)(engine, tuple(job.id for job in running))
    for id_ in st.session_state.get(_MINE, []):
        job = engine.jobs.get(id_)
        if job and job.ended is not None:
            _outcome(engine, job)


@guarded
def _watch(engine: Engine, shown: tuple[str, ...]) -> None:
    jobs = [job for job in map(engine.jobs.get, shown) if job]
    if any(job.ended is not None for job in jobs):
        st.rerun()
    for job in jobs:
        done, words = _how_far(job)
        st.progress(done, text=f"Loading {plain(job.title)}: {words}, {seconds(job.seconds)}")


def _how_far(job: Job) -> tuple[float, str]:
    """From 0 to 1, and in words."""
    match job.latest:
        case Progress("fetched", detail=title):
            return 0.05, plain(f"fetched {title}")
        case Progress("embedding", done=done, total=total):
            return 0.1 + 0.85 * done / max(total, 1), f"embedding {done:,} of {total:,} passages"
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
    st.error(plain(job.error), icon=":material/error:")
    with st.container(horizontal=True):
        if st.button("Try again", key=f"again-{job.id}"):
            _put_away(job)
            _follow(engine.jobs.again(job))
            st.rerun()
        return st.button("Close", key=f"away-{job.id}", type="tertiary")


def _loaded(job: Job) -> bool:
    for loaded in job.loaded:
        st.success(_summary(loaded, job), icon=":material/check_circle:")
        if loaded.advice:
            st.warning(plain(loaded.advice))
    with st.container(horizontal=True):
        if len(job.loaded) == 1 and st.button("Interview now", type="primary", key=f"go-{job.id}"):
            _put_away(job)
            st.switch_page(pages.interview(), query_params={"person": job.loaded[0].person.id})
        return st.button("Close", key=f"away-{job.id}")


def _summary(loaded: Loaded, job: Job) -> str:
    build = loaded.build
    parts = f"{count(len(build.sections), 'section')} in {count(build.chunks, 'passage')}"
    left_out = f", {count(len(build.left_out), 'section')} left out" if build.left_out else ""
    unchanged = " Nothing had changed." if not loaded.embedded else ""
    elsewhere = job.key.startswith("load ") and job.title.casefold() != build.title.casefold()
    asked = f" (you asked for {plain(job.title)})" if elsewhere else ""
    return f"**{plain(build.title)}**{asked} is ready: {parts}{left_out}. It took {seconds(job.seconds)}.{unchanged}"


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
            if st.button(plain(option), key=f"take-{job.id}-{number}"):
                _put_away(job)
                _follow(engine.load(option, job.language))
                st.rerun()
        return st.button("None of them", key=f"away-{job.id}", type="tertiary")


def _put_away(job: Job) -> None:
    st.session_state[_MINE] = [id_ for id_ in st.session_state.get(_MINE, []) if id_ != job.id]


def _put_all_away(engine: Engine) -> None:
    """Whoever asks for somebody new has read how the earlier ones ended."""
    running = {job.id for job in engine.jobs.running()}
    st.session_state[_MINE] = [id_ for id_ in st.session_state.get(_MINE, []) if id_ in running]


# --- cards ---


def _cards(engine: Engine) -> None:
    people = engine.library.people()
    if not people:
        _nobody(engine)
        return
    interviews = Counter(thread.person for thread in engine.history.threads() if thread.title)
    # those that the reader loaded come before the samples
    ordered = sorted(people, key=lambda person: person.source == "sample")
    for start in range(0, len(ordered), 2):
        for column, person in zip(st.columns(2), ordered[start : start + 2], strict=False):
            build = engine.library.build(person.build)
            if build:
                with column.container(border=True, height="stretch"):
                    _card(engine, person, build, interviews[person.id])


def _nobody(engine: Engine) -> None:
    if any(job.key == state.SAMPLES for job in engine.jobs.running()):
        return
    st.info("Nobody is loaded yet. Load a page above, or begin with the two samples that come with the program.")
    if st.button("Load the samples"):
        _follow(engine.add_samples())
        st.rerun()


def _card(engine: Engine, person: Person, build: Build, interviews: int) -> None:
    st.subheader(plain(person.title), anchor=False)
    if person.source == "sample":
        st.badge("Sample", icon=":material/menu_book:", color="green")
    st.text(sentence(build.description) or "No description.")
    st.caption(facts(person, build, interviews))
    if engine.embedder_name and build.embedder != engine.embedder_name:
        st.warning("Indexed with another embedder than is set now: reload before you ask.")
    with st.container(horizontal=True, vertical_alignment="center"):
        if st.button("Interview", type="primary", key=f"interview-{person.id}"):
            st.switch_page(pages.interview(), query_params={"person": person.id})
        if person.source != "markdown" and st.button("Reload", key=f"reload-{person.id}", help="Read the page again."):
            _follow(engine.reload(person))
            st.rerun()
        with st.popover("Delete"):
            _delete(engine, person, interviews)


def _delete(engine: Engine, person: Person, interviews: int) -> None:
    kept = f" The {count(interviews, 'interview')} with them stay stored." if interviews else ""
    st.markdown(f"Delete **{plain(person.title)}**? They can be loaded again.{kept}")
    if st.button("Yes, delete", type="primary", key=f"delete-{person.id}"):
        engine.library.delete(person.id)
        st.rerun()
