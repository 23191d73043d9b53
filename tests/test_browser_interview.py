"""An interview in headless Chromium: the real app, store, embedder and gate; a model server that is told what to say."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, BrowserContext, Locator, Page, expect

from persona.settings import Settings
from persona.wiring import Wiring
from tests.app_server import AppServer
from tests.browser import PATIENCE, chromium, visitor
from tests.core import page as wiki_page
from tests.openai_style import OpenAIStyleServer

pytestmark = pytest.mark.browser
expect.set_options(timeout=PATIENCE)
MODEL = "llama-test"  # by its name one that does not think: nothing is held back for that
HOSTILE = "$5 million and $10 million, <b>b</b>, :red[x], ![x](http://127.0.0.1:9/x.png), ~~y~~, :smile:, a -> b"
SECTIONS = {
    "Introduction": "Benedikt Aul built organs in the valley of the Zern.",
    "Childhood": "Benedikt Aul was born in Talheim. His brother Lukas, three years older, taught him to whistle in thirds.",
    "Workshop / *Apprentices*": f"His apprentice Greta Senn tuned the reeds. The bishop paid {HOSTILE} for them.",
}
BROTHER = "Who taught you to whistle?"
ANSWER = "My brother Lukas taught me to whistle in thirds."
OTHER = "It was Lukas, my brother, who was three years older."
REEDS = "Who tuned the reeds?"
GRETA = "My apprentice Greta Senn tuned the reeds."


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as launched:
        yield launched


@pytest.fixture(scope="module")
def server() -> Iterator[OpenAIStyleServer]:
    with OpenAIStyleServer(models=(MODEL,)) as made:
        yield made


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory, server: OpenAIStyleServer, browser: Browser) -> Iterator[AppServer]:
    """The app on a data folder with one person in it. The browser is asked for first: without it nothing is started."""
    home = tmp_path_factory.mktemp("home")
    wiring = Wiring(Settings(home=home))
    for _ in wiring.ingest.load(wiki_page("Benedikt Aul", SECTIONS, revision="41")):
        pass
    wiring.database.close()
    settings = {"PERSONA_LLM": "openai", "PERSONA_OPENAI_URL": server.url, "PERSONA_MODEL": MODEL}
    with AppServer(home / "log.txt", PERSONA_HOME=str(home), **settings) as running:
        yield running


@pytest.fixture
def context(browser: Browser, app: AppServer) -> Iterator[BrowserContext]:
    with visitor(browser, app) as made:
        yield made


@pytest.fixture
def model(server: OpenAIStyleServer) -> Iterator[OpenAIStyleServer]:
    """The model server; a test that asks for what is not in its script fails, as does one that leaves something."""
    server.faults.clear()
    yield server
    server.assert_done()


@pytest.fixture
def page(context: BrowserContext, app: AppServer) -> Page:
    """A new interview."""
    made = context.new_page()
    made.goto(f"{app.url}/interview")
    expect(made.get_by_text("Hello, I am Benedikt Aul.")).to_be_visible()
    return made


def ask(page: Page, question: str) -> None:
    page.get_by_test_id("stChatInputTextArea").fill(question)
    page.keyboard.press("Enter")


def said(page: Page) -> list[str]:
    """The texts of the bubbles after the greeting."""
    return [text.inner_text() for text in page.locator(".stChatMessage .said").all()][1:]


def tool(page: Page, name: str) -> Locator:
    """A button under the last turn that has it."""
    return page.get_by_role("button", name=name, exact=True).last


def answered(page: Page, *texts: str) -> None:
    """Waits until the last bubbles say that, and nothing is being answered."""
    for text in texts:
        expect(page.locator(".said").filter(has_text=text).last).to_be_visible()
    expect(page.get_by_role("button", name="Stop")).to_have_count(0)
    expect(tool(page, "Copy")).to_be_visible()


def more(page: Page) -> None:
    """What can be done with the newest thread in the list."""
    page.locator(".st-key-threads").get_by_role("button", name="More").first.click()


def test_a_suggested_question_is_answered_with_sources_that_open_and_all_that_led_to_it(
    page: Page, model: OpenAIStyleServer
) -> None:
    model.replies.append(f"I was born in Talheim. {ANSWER} That was in Lisbon.")
    page.get_by_role("button", name="What was your childhood like?").click()
    answered(page, "I was born in Talheim.")

    expect(page.locator(".doubtful")).to_have_text("Lisbon")
    expect(page.get_by_text("Check this: “Lisbon” is in no source.")).to_be_visible()
    numbers = page.locator(".sources summary").all_inner_texts()
    assert [text.split(".")[0] for text in numbers] == [str(n) for n in range(1, len(numbers) + 1)]
    page.get_by_text("1. Childhood").click()
    expect(page.locator(".sources mark").first).to_be_visible()
    link = page.get_by_role("link", name="Open this section of Benedikt Aul, as of revision 41").first
    expect(link).to_have_attribute("href", "https://wiki.test/wiki/Benedikt_Aul?oldid=41#Childhood")
    page.get_by_text("Why this answer").click()
    page.get_by_text("1. answer: ").click()
    expect(page.locator("details.call")).to_contain_text("His brother Lukas")
    expect(page.get_by_text(re.compile(r"^answer\.md, [0-9a-f]{12}$"))).to_be_visible()
