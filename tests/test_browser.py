"""The whole app in headless Chromium: a real `streamlit run`, the real embedder and gate, a scripted model by HTTP."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect

from persona.adapters.markdown import read_markdown
from persona.settings import Settings
from persona.wiring import Wiring
from tests.app_server import AppServer
from tests.browser import chromium
from tests.loopback import Exchange, WireReply
from tests.openai_style import OpenAIStyleServer

pytestmark = pytest.mark.browser
PATIENCE = 120_000  # milliseconds, on a busy machine
expect.set_options(timeout=PATIENCE)
MODEL = "llama-test"  # by its name one that does not think: nothing is held back for that
HOSTILE = "$5 million and $10 million, <b>b</b>, :red[x], ![x](http://127.0.0.1:9/x.png), ~~y~~, :smile:, a -> b"
PAGE = f"""---
title: Benedikt Aul
description: {HOSTILE}
---

Benedikt Aul built organs in the valley of the Zern.

## Youth \\*and\\* school

Benedikt Aul was born in Talheim. His brother Lukas, three years older, taught him to whistle in thirds.
He was paid {HOSTILE} by the bishop.

## Workshop

His workshop stood beside the mill, and his apprentice Greta Senn tuned the reeds.
"""
BROTHER = "Who taught you to whistle?"
ANSWER = "My brother Lukas taught me to whistle in thirds. He was three years older than I am."


class Unhurried(OpenAIStyleServer):
    """Takes its time for each piece of a streamed reply, and after some waits until it may `go_on`."""

    def __init__(self) -> None:
        super().__init__(models=(MODEL,))
        self.go_on = threading.Event()

    def _stream(self, exchange: Exchange, reply: WireReply) -> None:
        send = exchange.chunk
        sent = 0

        def slowly(text: str) -> None:
            nonlocal sent
            sent += 1
            if sent > 30:  # more than what is held back until it can be no NOT FOUND
                self.go_on.wait(60)
            time.sleep(0.03)
            send(text)

        exchange.chunk = slowly  # type: ignore[method-assign]
        super()._stream(exchange, reply)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as launched:
        yield launched


@pytest.fixture(scope="module")
def model() -> Iterator[OpenAIStyleServer]:
    with Unhurried() as server:
        yield server


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory, model: OpenAIStyleServer, browser: Browser) -> Iterator[AppServer]:
    """The app on a data folder with one person in it. The browser is asked for first: without it nothing is started."""
    home = tmp_path_factory.mktemp("home")
    file = home / "aul.md"
    file.write_text(PAGE, encoding="utf-8")
    wiring = Wiring(Settings(home=home))
    for _ in wiring.ingest.load(read_markdown(file)):
        pass
    wiring.database.close()
    settings = {"PERSONA_LLM": "openai", "PERSONA_OPENAI_URL": model.url, "PERSONA_MODEL": MODEL}
    with AppServer(home / "log.txt", PERSONA_HOME=str(home), **settings) as server:
        yield server


@pytest.fixture
def context(browser: Browser, app: AppServer) -> Iterator[BrowserContext]:
    """A fresh visitor. Fails if the page asked anything of another address."""
    made = browser.new_context(viewport={"width": 1200, "height": 900})
    made.set_default_timeout(PATIENCE)
    asked: list[str] = []
    made.on("request", lambda request: asked.append(request.url))
    yield made
    made.close()
    elsewhere = [url for url in asked if not url.startswith((app.url, app.url.replace("http", "ws"), "data:", "blob:"))]
    assert not elsewhere, elsewhere


@pytest.fixture
def page(context: BrowserContext) -> Page:
    return context.new_page()


def begin(page: Page, app: AppServer) -> None:
    """From the first page to an interview."""
    page.goto(app.url)
    page.get_by_role("button", name="Interview", exact=True).click()
    expect(page.get_by_text("Hello, I am Benedikt Aul.")).to_be_visible()


def ask(page: Page, question: str) -> None:
    page.get_by_test_id("stChatInputTextArea").fill(question)
    page.keyboard.press("Enter")


def answers(page: Page) -> list[str]:
    """The texts of the bubbles."""
    return [text.inner_text() for text in page.locator(".stChatMessage .said").all()]


def test_an_answer_streams_and_stays_with_its_sources_in_every_tab(
    page: Page, app: AppServer, model: OpenAIStyleServer
) -> None:
    model.go_on.clear()
    model.replies.append(f"{ANSWER} {HOSTILE}")
    begin(page, app)
    ask(page, BROTHER)
    page.keyboard.press("Enter")
    expect(page.get_by_text("My brother Lukas").filter(has_text="▌")).to_be_visible(timeout=240_000)
    model.go_on.set()

    expect(page.get_by_text("1. Youth *and* school")).to_be_visible()
    expect(page.get_by_role("button", name="Stop")).to_have_count(0)
    assert answers(page)[1:] == [BROTHER, f"{ANSWER} {HOSTILE}"]
    page.get_by_text("1. Youth *and* school").click()
    expect(page.locator("mark").first).to_contain_text("His brother Lukas")
    expect(page.get_by_text("A simulation from the file aul.md")).to_be_visible()
    page.get_by_text("Why this answer").click()
    expect(page.get_by_text("Model calls", exact=True)).to_be_visible()

    seen = answers(page)
    page.reload()
    expect(page.get_by_text("1. Youth *and* school")).to_be_visible()
    assert answers(page) == seen
    second = page.context.new_page()
    second.goto(page.url)
    expect(second.get_by_text("1. Youth *and* school")).to_be_visible()
    assert answers(second) == seen


def test_stop_keeps_what_came(page: Page, app: AppServer, model: OpenAIStyleServer) -> None:
    model.go_on.clear()
    model.replies.append(f"{ANSWER} " * 20)
    begin(page, app)
    ask(page, BROTHER)
    expect(page.get_by_text("My brother Lukas").filter(has_text="▌")).to_be_visible()
    page.get_by_role("button", name="Stop").click()
    model.go_on.set()

    expect(page.get_by_text("Stopped. What had come until then is kept.")).to_be_visible()
    expect(page.get_by_role("button", name="Try again")).to_be_visible()
    page.reload()
    expect(page.get_by_text("Stopped. What had come until then is kept.")).to_be_visible()
    part = answers(page)[-1]
    assert part.startswith("My brother Lukas")
    assert len(part) < len(ANSWER) * 20


def test_a_refusal_shows_its_reason_and_no_model_is_asked(page: Page, app: AppServer, model: OpenAIStyleServer) -> None:
    before = len(model.chats)
    begin(page, app)
    ask(page, "Why is the sky blue?")

    expect(page.get_by_text("Why there is no answer: Nothing on the page is about this.")).to_be_visible()
    expect(page.locator(".sources")).to_have_count(0)
    assert len(model.chats) == before


def test_hostile_text_is_shown_as_text_on_cards_and_labels(page: Page, app: AppServer) -> None:
    page.goto(app.url)
    expect(page.get_by_text(f"{HOSTILE}.")).to_be_visible()
    begin(page, app)
    caption = page.get_by_role("main").get_by_test_id("stCaptionContainer").first
    expect(caption).to_be_visible()
    assert caption.inner_text().replace("\u2060", "") == HOSTILE
    assert page.locator(".katex, .stMain img:not([data-testid])").count() == 0


def test_the_page_is_usable_on_a_phone(page: Page, app: AppServer) -> None:
    page.set_viewport_size({"width": 390, "height": 800})
    begin(page, app)
    ask(page, "Hello!")

    expect(page.get_by_test_id("stChatInputTextArea")).to_be_in_viewport()
    expect(page.get_by_text("A simulation from the file aul.md")).to_be_in_viewport()
    expect(page.get_by_test_id("stChatMessage")).to_have_count(3)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    page.get_by_test_id("stExpandSidebarButton").click()
    page.get_by_role("link", name=re.compile("People")).click()
    expect(page.get_by_role("heading", name="Interview anyone on Wikipedia")).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
