"""Finding and keeping people in headless Chromium: a real `streamlit run`, MediaWiki and embedder."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from functools import cache
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from urllib.request import urlopen

import pytest
from playwright.sync_api import Browser, BrowserContext, Locator, Page, expect

from persona.adapters.markdown import read_markdown
from persona.settings import Settings
from persona.wiring import Wiring
from tests.app_server import AppServer
from tests.browser import PATIENCE, chromium, visitor
from tests.mediawiki import PORTRAYED
from tests.ollama_server import QWEN3, OllamaServer
from tests.wiki_server import status, wiki_answering

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
def pages_may_come() -> threading.Event:
    """While it is not set, the wiki is silent when it is asked for a page's text."""
    event = threading.Event()
    event.set()
    return event


@pytest.fixture(scope="module")
def wiki(mediawiki: str, pages_may_come: threading.Event) -> Iterator[str]:
    """The tests' MediaWiki, behind what lets a page wait and gives the same reply at once the second time."""
    hidden = mediawiki.removesuffix("/api.php")

    @cache
    def reply(path: str) -> tuple[str, bytes]:
        with urlopen(f"{hidden}{path}") as found:
            return found.headers["Content-Type"], found.read()

    def pass_on(handler: BaseHTTPRequestHandler) -> None:
        if "extracts" in handler.path:
            pages_may_come.wait(PATIENCE / 1000)
        kind, body = reply(handler.path.removeprefix("/some/where"))
        here = handler.headers["Host"].encode()
        status(200, {"Content-Type": kind}, body.replace(hidden.partition("//")[2].encode(), here))(handler)

    for name in PORTRAYED:
        reply(f"/portraits/{name.replace(' ', '_')}.jpg")
    with wiki_answering(pass_on) as server:
        yield server.api


@pytest.fixture(scope="module")
def app(browser: Browser, home: Path, ollama: OllamaServer, wiki: str) -> Iterator[AppServer]:
    """The app over the tests' wiki. The browser is asked for first: without it nothing is started."""
    model = {"PERSONA_LLM": "ollama", "PERSONA_OLLAMA_HOST": ollama.address}
    with AppServer(home / "log.txt", PERSONA_HOME=str(home), PERSONA_WIKI_API=wiki, **model) as server:
        yield server


@pytest.fixture
def context(browser: Browser, app: AppServer, pages_may_come: threading.Event) -> Iterator[BrowserContext]:
    """A fresh visitor, who asks nobody but the app: pictures come from the data folder."""
    expect.set_options(timeout=PATIENCE)
    with visitor(browser, app, height=1000) as made:
        yield made
    pages_may_come.set()


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


def find(page: Page, typed: str, text: str) -> Locator:
    """What the wiki has for it; typed again as long as a busy wiki does not answer in time."""
    late = page.locator(".stAlert").filter(has_text="did not answer in time")
    for _ in range(10):
        field(page).fill("")
        expect(late).to_have_count(0)
        field(page).fill(typed)
        expect(option(page, text).or_(late).first).to_be_visible()
        if late.count() == 0:
            break
    return option(page, text).first


def _joined(text: str) -> re.Pattern[str]:
    return re.compile("\u2060?".join(map(re.escape, text)))


def fits(page: Page) -> bool:
    return bool(page.evaluate("document.documentElement.scrollWidth <= window.innerWidth"))


def load(page: Page, name: str) -> None:
    find(page, name, name).click()
    expect(page.get_by_text(re.compile(f"{name} is ready"))).to_be_visible()


def is_drawn(picture: Locator) -> None:
    """Waits until the browser shows its pixels."""
    expect(picture).to_be_visible()
    expect(picture).to_have_js_property("naturalWidth", 320)


def test_a_page_is_found_by_its_first_letters_and_becomes_a_card_with_a_portrait(
    page: Page, home: Path, pages_may_come: threading.Event
) -> None:
    pages_may_come.clear()
    found = find(page, "corn", "Cornelius Vane · Keeper of the lighthouse on Gull Rock")
    is_drawn(page.locator(".st-key-suggestions img").first)
    found.click()
    expect(page.get_by_text(re.compile(r"Loading Cornelius Vane: fetching the page, [\d.]+ s"))).to_be_visible()
    page.get_by_role("button", name="Cancel").click()
    expect(page.get_by_text("Loading Cornelius Vane")).to_have_count(0)

    find(page, "corn", "Cornelius Vane").click()
    expect(page.get_by_text("Loading Cornelius Vane: fetching the page")).to_be_visible()
    pages_may_come.set()
    expect(page.get_by_text(re.compile(r"Cornelius Vane is ready: .+ It took [\d.]+ s\."))).to_be_visible()
    vane = card(page, "Cornelius Vane")
    expect(vane).to_contain_text("Keeper of the lighthouse on Gull Rock.")
    expect(vane).to_contain_text(re.compile(r"No interviews yet · English · .*, revision \d+ of 6 May 2024"))
    is_drawn(vane.get_by_role("img", name="Cornelius Vane"))
    assert list((home / "pictures").glob("*.jpg"))
    page.get_by_role("button", name="Interview now").click()
    expect(page.get_by_text("Hello, I am Cornelius Vane.")).to_be_visible()
    is_drawn(page.locator(".stChatMessage img"))


def test_a_person_is_deleted_after_a_question_and_can_be_found_again(page: Page) -> None:
    load(page, "Mirela Tordesan")
    mirela = card(page, "Mirela Tordesan")
    mirela.get_by_role("button", name="Delete").click()
    asked = page.get_by_role("dialog")
    expect(asked).to_contain_text("Mirela Tordesan can then no longer be interviewed.")
    asked.get_by_role("button", name="Keep").click()
    expect(asked).to_have_count(0)
    expect(mirela).to_be_visible()
    mirela.get_by_role("button", name="Delete").click()
    asked.get_by_role("button", name="Delete", exact=True).click()
    expect(mirela).to_have_count(0)
    page.reload()
    expect(card(page, "Hanne Vik")).to_be_visible()
    expect(mirela).to_have_count(0)
    load(page, "Mirela Tordesan")
    expect(mirela).to_be_visible()


def test_a_missing_model_comes_with_a_bar_and_the_download_can_be_cancelled(page: Page, ollama: OllamaServer) -> None:
    ollama.may_end.clear()
    expect(page.get_by_text(_joined("does not have the model qwen3:8b yet (5.2 GB to download)."))).to_be_visible()
    get = page.get_by_role("button", name=_joined("Get qwen3:8b"))
    bar = page.get_by_text(_joined("Getting qwen3:8b: 2.6 of 5.2 GB, "))
    get.click()
    expect(bar).to_be_visible()
    expect(page.get_by_role("progressbar")).to_have_attribute("aria-valuenow", "50")
    expect(get).to_have_count(0)
    page.get_by_role("button", name="Cancel").click()
    expect(get).to_be_visible()
    expect(bar).to_have_count(0)
    assert ollama.models == {}

    get.click()
    expect(bar).to_be_visible()
    ollama.may_end.set()
    expect(page.get_by_text(_joined("Answers: qwen3:8b on Ollama"))).to_be_visible()
    expect(get).to_have_count(0)
    assert list(ollama.models) == [QWEN3.name]
    ollama.models.clear()


def test_a_disambiguation_page_offers_a_choice(page: Page) -> None:
    find(page, "Halloway", "Halloway").click()
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
    find(page, "wim st", "Wim Stub")
    field(page).focus()
    tab_to(page, "Wim Stub")
    page.keyboard.press("Enter")
    expect(page.get_by_text("Wim Stub is ready")).to_be_visible()

    card(page, "Wim Stub").get_by_role("button", name="Delete").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("dialog")).to_contain_text("Wim Stub can then no longer be interviewed.")
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)
    expect(card(page, "Wim Stub")).to_be_visible()
    card(page, "Wim Stub").get_by_role("button", name="Delete").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("dialog")).to_be_visible()
    tab_to(page, "Delete")
    page.keyboard.press("Enter")
    expect(card(page, "Wim Stub")).to_have_count(0)


def tab_to(page: Page, words: str) -> None:
    """Press Tab until what has these words has the focus."""
    for _ in range(12):
        page.keyboard.press("Tab")
        if words in page.evaluate("document.activeElement.innerText").replace("\u2060", ""):
            return
    raise AssertionError(f"{words} cannot be reached by the keyboard")


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
    box = find(page, "Corneli", "Cornelius Vane").bounding_box()
    assert box
    assert box["x"] >= 0
    assert box["x"] + box["width"] <= 390
    assert box["height"] >= 32  # a finger's size
    assert fits(page)
    vik = card(page, "Hanne Vik")
    expect(vik).to_be_visible()

    find(page, "Quill", "Quill").click()
    expect(page.get_by_text("“Quill” can be one of several pages. Which one?")).to_be_visible()
    assert fits(page)
    vik.get_by_role("button", name="Delete").click()
    expect(page.get_by_role("dialog")).to_be_in_viewport()
    assert fits(page)
    page.get_by_role("button", name="Keep").click()
    expect(page.get_by_role("dialog")).to_have_count(0)
    vik.get_by_role("button", name="Interview", exact=True).click()
    expect(page.get_by_text("Hello, I am Hanne Vik.")).to_be_visible()
    assert fits(page)
