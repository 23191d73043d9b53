"""Finding and keeping people in headless Chromium: a real `streamlit run`, MediaWiki and embedder."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, Locator, Page, expect

from persona.adapters.markdown import read_markdown
from persona.settings import Settings
from persona.wiring import Wiring
from tests.app_server import AppServer
from tests.browser import PATIENCE, chromium, visitor
from tests.ollama_server import OllamaServer

pytestmark = [pytest.mark.browser, pytest.mark.wiki]
GULLS = """# Hanne Vik

Hanne Vik counted gulls on Skarholm for nineteen summers.

## Methods

Hanne Vik counted with knots in a red cord, one knot for each hundred gulls.
"""


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as launched:
        yield launched


@pytest.fixture(scope="module")
def ollama() -> Iterator[OllamaServer]:
    with OllamaServer(models=()) as server:
        yield server


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data folder with one person from a file in it."""
    folder = tmp_path_factory.mktemp("home")
    (folder / "vik.md").write_text(GULLS, encoding="utf-8")
    wiring = Wiring(Settings(home=folder))
    for _ in wiring.loader.page(read_markdown(folder / "vik.md")):
        pass
    wiring.database.close()
    return folder


@pytest.fixture(scope="module")
def app(browser: Browser, home: Path, ollama: OllamaServer, mediawiki: str) -> Iterator[AppServer]:
    """The app over the tests' wiki. The browser is asked for first: without it nothing is started."""
    model = {"PERSONA_LLM": "ollama", "PERSONA_OLLAMA_HOST": ollama.address}
    with AppServer(home / "log.txt", PERSONA_HOME=str(home), PERSONA_WIKI_API=mediawiki, **model) as server:
        yield server


@pytest.fixture
def context(browser: Browser, app: AppServer) -> Iterator[BrowserContext]:
    """A fresh visitor, who asks nobody but the app: pictures come from the data folder."""
    expect.set_options(timeout=PATIENCE)
    with visitor(browser, app, height=1000) as made:
        yield made


@pytest.fixture
def page(context: BrowserContext, app: AppServer) -> Page:
    """The page of people."""
    made = context.new_page()
    made.goto(app.url)
    expect(field(made)).to_be_visible()
    return made


def field(page: Page) -> Locator:
    return page.get_by_label("Whom would you like to interview?")


def card(page: Page, name: str) -> Locator:
    return page.locator("[class*='st-key-card-']").filter(has=page.get_by_role("heading", name=name, exact=True))


def option(page: Page, text: str) -> Locator:
    return page.locator(".st-key-suggestions").get_by_role("button", name=_joined(text))


def _joined(text: str) -> re.Pattern[str]:
    return re.compile("\u2060?".join(map(re.escape, text)))


def fits(page: Page) -> bool:
    return bool(page.evaluate("document.documentElement.scrollWidth <= window.innerWidth"))


def test_a_disambiguation_page_offers_a_choice(page: Page) -> None:
    field(page).fill("Halloway")
    option(page, "Halloway").first.click()
    expect(page.get_by_text("“Halloway” can be one of several pages. Which one?")).to_be_visible()
    page.get_by_role("button", name="Tobias Halloway").click()

    expect(page.get_by_text(re.compile(r"Tobias Halloway is ready: 1 section in 1 passage\."))).to_be_visible()
    expect(card(page, "Tobias Halloway")).to_contain_text(
        "Tobias Halloway was a surveyor who measured one valley twice."
    )
    expect(card(page, "Tobias Halloway").get_by_role("img", name="Tobias Halloway")).to_have_text("TH")


def test_a_title_of_another_language_is_a_sentence_with_one_button(page: Page) -> None:
    field(page).fill("de:Foo")
    option(page, "Load the page called “de:Foo”").click()

    expect(page.get_by_text("leads to another wiki. Instead, ask for “Foo” alone")).to_be_visible()
    expect(page.get_by_role("button", name="Load “Foo” in German")).to_be_visible()
    expect(page.get_by_text("--language")).to_have_count(0)


def test_the_keyboard_alone_finds_loads_and_keeps_a_person(page: Page) -> None:
    field(page).focus()
    page.keyboard.type("wim st")
    expect(option(page, "Wim Stub")).to_be_visible()
    for _ in range(8):
        page.keyboard.press("Tab")
        if "Wim Stub" in page.evaluate("document.activeElement.innerText"):
            break
    page.keyboard.press("Enter")
    expect(page.get_by_text("Wim Stub is ready")).to_be_visible()

    card(page, "Wim Stub").get_by_role("button", name="Delete").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("dialog")).to_contain_text("Wim Stub can then no longer be interviewed.")
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)
    expect(card(page, "Wim Stub")).to_be_visible()


def test_a_file_is_read_again_and_said_to_be_gone_when_it_is(page: Page, home: Path) -> None:
    vik = card(page, "Hanne Vik")
    expect(vik).to_contain_text("file vik.md, read")
    (home / "vik.md").write_text(GULLS.replace("nineteen", "twenty"), encoding="utf-8")
    vik.get_by_role("button", name="Reload").click()
    expect(vik).to_contain_text("counted gulls on Skarholm for twenty summers")
    (home / "vik.md").unlink()
    vik.get_by_role("button", name="Reload").click()

    expect(page.get_by_text("is no longer there. Put it back to read it again")).to_be_visible()
    expect(page.get_by_role("button", name="Try again")).to_be_visible()


def test_a_phone_shows_all_of_it_without_scrolling_sideways(page: Page) -> None:
    page.set_viewport_size({"width": 390, "height": 844})
    field(page).fill("Corneli")
    found = option(page, "Cornelius Vane")
    expect(found).to_be_visible()
    box = found.bounding_box()
    assert box
    assert box["x"] >= 0
    assert box["x"] + box["width"] <= 390
    assert box["height"] >= 32  # a finger's size
    assert fits(page)
    expect(card(page, "Hanne Vik")).to_be_visible()
