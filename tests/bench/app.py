"""How quick the app is: `python -m tests.bench.app` (see the Makefile), with the figures as JSON on the last line.

The real app, store and embedder, a model server that is told what to say, and headless Chromium. Measured are the time
until a page is drawn when the app is warm, the script's time for a thread of a hundred turns, and what watching a turn
that is being answered takes of the processor that the model needs.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

from playwright.sync_api import Browser, Page
from streamlit.testing.v1 import AppTest

from persona.adapters.markdown import read_markdown, samples
from persona.records import Finished, new_id
from persona.settings import Settings
from persona.ui import state
from persona.ui.state import Engine
from persona.wiring import Wiring
from tests.app_server import AppServer
from tests.browser import chromium
from tests.loopback import WireReply
from tests.openai_style import OpenAIStyleServer
from tests.scripted import ScriptedModel

TURNS = 100
RERUNS = 7
LOADS = 3
WATCHED = 10.0  # seconds
MODEL = "llama-test"
QUESTION = "Tell me about your marriage."
ANSWER = "I married Pierre Curie on 26 July 1895 in the town hall of Sceaux, and I wore a dark blue dress."
SCRIPT = """
from time import perf_counter, thread_time
import streamlit as st
from persona.ui import interview
began, spent = perf_counter(), thread_time()
interview.page()
st.session_state["took"] = perf_counter() - began, thread_time() - spent
"""


def main() -> int:
    """Measure, and print a line for each figure."""
    with TemporaryDirectory() as folder:
        home = Path(folder)
        thread = prepare(home)
        figures = {"turns": TURNS}
        for name, value in (*rerun(home, thread), *in_browser(home, thread)):
            figures[name] = value
    sys.stdout.write(json.dumps(figures) + "\n")
    return 0


def told(name: str, value: float) -> tuple[str, float]:
    """A figure, printed as soon as it is there."""
    sys.stdout.write(f"{name:32} {value:.3f}\n")
    sys.stdout.flush()
    return name, round(value, 3)


def prepare(home: Path) -> str:
    """A data folder with a sample and a thread of so many turns, each as large as a real one; the thread's id."""
    model = ScriptedModel([ANSWER])
    wiring = Wiring(Settings(home=home), model=model, rewrite_model=model, kind="openai")
    curie = next(path for path in samples() if path.stem == "marie_curie")
    for _ in wiring.ingest.load(read_markdown(curie, "sample")):
        pass
    person = wiring.library.people()[0].id
    thread = wiring.history.start(person).id
    *_, last = wiring.interview.ask(QUESTION, thread)
    if not isinstance(last, Finished) or not (last.turn.answer and last.turn.answer.sources):
        raise SystemExit("The turn that is to be copied did not end in an answer with sources.")
    turn = last.turn
    for _ in range(TURNS - 1):
        turn = replace(turn, id=new_id(), parent=turn.id, request_id=new_id())
        wiring.history.add(replace(turn, state="running", answer=None))
        wiring.history.finish(turn)
    wiring.database.close()
    return str(thread)


def rerun(home: Path, thread: str) -> list[tuple[str, float]]:
    """The script's time for that thread, when it was drawn before."""
    model = ScriptedModel()
    wiring = Wiring(Settings(home=home), model=model, rewrite_model=model, kind="openai")
    engine = Engine(wiring)
    state.engine = lambda: engine  # type: ignore[assignment]
    page = AppTest.from_string(SCRIPT, default_timeout=600)
    page.query_params["thread"] = thread
    page.run()
    took = [page.run().session_state["took"] for _ in range(RERUNS)]
    if page.error or len(page.chat_message) < 2 * TURNS:
        raise SystemExit(f"The thread was not drawn: {[error.value for error in page.error]}")
    wiring.database.close()
    return [
        told("rerun_seconds", median(wall for wall, _ in took)),
        told("rerun_processor_seconds", median(spent for _, spent in took)),
    ]


def in_browser(home: Path, thread: str) -> list[tuple[str, float]]:
    """What a visitor waits for, and what watching costs."""
    with OpenAIStyleServer(models=(MODEL,)) as model, chromium() as browser:
        settings = {"PERSONA_LLM": "openai", "PERSONA_OPENAI_URL": model.url, "PERSONA_MODEL": MODEL}
        with AppServer(home / "log.txt", PERSONA_HOME=str(home), **settings) as server:
            address = f"{server.url}/interview"
            drawn(browser, address, new_is_drawn)  # from here on the app is warm
            figures = []
            for name, opened, is_drawn in (
                ("new_page", address, new_is_drawn),
                ("thread_page", f"{address}?thread={thread}", thread_is_drawn),
            ):
                visits = [drawn(browser, opened, is_drawn) for _ in range(LOADS)]
                figures.append(told(f"{name}_first_visit_seconds", median(first for first, _ in visits)))
                figures.append(told(f"{name}_seconds", median(again for _, again in visits)))
            return figures + watching(browser, server, model)


def drawn(browser: Browser, address: str, is_drawn: Callable[[Page], None]) -> tuple[float, float]:
    """Seconds from the address to the drawn page, for somebody who was never here, and when they come again."""
    context = browser.new_context()
    took = []
    for _ in range(2):
        page = context.new_page()
        began = time.perf_counter()
        page.goto(address)
        is_drawn(page)
        took.append(time.perf_counter() - began)
        page.close()
    context.close()
    return took[0], took[1]


def new_is_drawn(page: Page) -> None:
    """An interview that is not begun."""
    page.get_by_role("button", name="Who are you?").wait_for(timeout=600_000)


def thread_is_drawn(page: Page) -> None:
    """The last turn of the thread."""
    page.locator(".sources").nth(TURNS - 1).wait_for(timeout=600_000)


def watching(browser: Browser, server: AppServer, model: OpenAIStyleServer) -> list[tuple[str, float]]:
    """The share of one processor that the app takes with a page open: at rest, and while a turn waits for its model."""
    context = browser.new_context()
    page = context.new_page()
    page.goto(f"{server.url}/interview")
    new_is_drawn(page)
    figures = [told("at_rest_share", share(server))]
    model.replies.append(WireReply(ANSWER, seconds=3 * WATCHED))
    page.get_by_test_id("stChatInputTextArea").fill(QUESTION)
    page.keyboard.press("Enter")
    while not model.chats:
        page.wait_for_timeout(200)
    figures.append(told("watching_share", share(server)))
    context.close()
    return figures


def share(server: AppServer) -> float:
    """Of one processor, over some seconds."""
    began, spent = time.perf_counter(), processor_seconds(server.pid)
    time.sleep(WATCHED)
    return round((processor_seconds(server.pid) - spent) / (time.perf_counter() - began), 3)


def processor_seconds(pid: int) -> float:
    """What a process has used so far; Linux tells."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


if __name__ == "__main__":
    sys.exit(main())
