"""The sidebar's line on what answers, in words, and what to do when nothing does."""

from __future__ import annotations

import streamlit as st

from persona.jobs import PREPARE, Job
from persona.records import ModelStatus
from persona.ui.guard import guarded
from persona.ui.state import Engine
from persona.ui.text import plain, seconds, sentence

_EVERY = 1.0  # seconds between two looks while something is about to change


def model_line(engine: Engine) -> None:
    """Draw the line; it follows by itself while the status is not known or the built-in model is being made."""
    waiting = engine.status() is None or _preparing(engine) is not None
    with st.sidebar:
        st.fragment(_draw, run_every=_EVERY if waiting else None)(engine, waiting)


@guarded
def _draw(engine: Engine, waiting: bool) -> None:
    status, job = engine.status(), _preparing(engine)
    if waiting and status is not None and job is None:
        st.rerun()  # nothing more to wait for
    if job:
        _progress(job)
    elif status is None:
        st.caption("Checking which model answers …")
    elif status.ready:
        st.caption(_words(status))
        failed = engine.jobs.find(PREPARE)
        if failed and failed.error:
            st.warning(plain(failed.error), icon=":material/warning:")
    else:
        trouble = " ".join(filter(None, (sentence(status.problem), sentence(status.remedy))))
        st.warning(f"No model answers. {plain(trouble)}", icon=":material/warning:")


def _preparing(engine: Engine) -> Job | None:
    job = engine.jobs.find(PREPARE)
    return job if job and job.ended is None else None


def _progress(job: Job) -> None:
    done, total = job.latest if isinstance(job.latest, tuple) else (0, 0)
    so_far = f"{done / 1e6:,.0f} of {total / 1e6:,.0f} MB, {seconds(job.seconds)}" if total else "starting"
    st.progress(done / total if total else 0.0, text=f"Setting up the built-in model, once: {so_far}")


def _words(status: ModelStatus) -> str:
    if status.kind == "builtin":
        name = status.model.removesuffix(".gguf")
        return f"**Answers:** the built-in model on this computer ({plain(name)}). Nothing you ask leaves it."
    if status.kind == "ollama":
        return f"**Answers:** {plain(status.model)} on Ollama ({plain(status.address)})."
    named = f"{plain(status.model)} on " if status.model else ""
    return f"**Answers:** {named}the server at {plain(status.address)}."
