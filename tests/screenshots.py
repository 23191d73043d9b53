"""`make screenshots OUT=DIR`: each page of the app, light and dark, 1280 and 390 pixels wide, as PNG files.

Drives headless Chromium over the tests' own MediaWiki and a scripted model; all persons are invented, but for the two
samples that come with the program.
"""

from __future__ import annotations

import argparse
import re
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, Locator, Page, expect

from persona.adapters.markdown import read_markdown
from persona.records import Choice
from persona.settings import Settings
from persona.wiring import Wiring
from tests import mediawiki
from tests.app_server import AppServer
from tests.browser import PATIENCE, chromium
from tests.loopback import WireReply
from tests.ollama_server import LLAMA, QWEN3, OllamaServer

SIZES = {"wide": (1280, 1000), "narrow": (390, 844)}
SCHEMES = ("light", "dark")
LOADED = (("Cornelius Vane", "en"), ("Mirela Tordesan", "en"), ("Ottilie Brandwein", "de"))
GULLS = """# Hanne Vik

Hanne Vik counted the gulls of Skarholm for nineteen summers, with knots in a red cord.

## Methods

One knot stood for each hundred gulls. The cord of 1931 is eleven meters long.
"""
ANSWERS = {
    "Who are you?": "I was the keeper of the lighthouse on Gull Rock for thirty-four years. I am remembered for the night "
    "of 1824 on which I rowed out alone to the wreck of the Bright Anna.",
    "What was your goat called?": "My goat was called Admiral. It once ate a week of weather reports.",
    "What did you burn in the lamp?": "The lamp burned whale oil until 1840, then colza from Marseille.",
}
REFUSED = "What do you think of electric cars?"
HELD, WALKED = "How did you get home when your ship was lost?", "I walked home along the coast in nine days."


class Model(OllamaServer):
    """Knows the answers by their questions; to one it is silent until it may `go_on`."""

    def __init__(self) -> None:
        super().__init__(models=(QWEN3, LLAMA))
        self.go_on = threading.Event()

    def next_reply(self, body: dict[str, Any]) -> WireReply:
        asked = body["messages"][-1].get("content", "")
        if HELD in asked:
            self.go_on.wait(PATIENCE / 1000)
            self.go_on.clear()
            return WireReply(WALKED)  # which ends the turn: none is held twice
        found = next((answer for question, answer in ANSWERS.items() if question in asked), "NOT FOUND")
        return WireReply("{}" if body.get("format") else found)


def people(page: Page) -> None:
    """Who is loaded."""
    expect(page.get_by_text(re.compile("qwen3:.?8b on Ollama")).first).to_be_attached()
    expect(page.get_by_role("heading", name="Sherlock Holmes")).to_be_attached()


def samples(page: Page) -> None:
    """Those that come with the program."""
    people(page)
    _to_top(page, page.get_by_role("heading", name="Samples"))


def searching(page: Page) -> None:
    """What the wiki has for what is being typed."""
    page.get_by_label("Whom would you like to interview?").press_sequentially("t")
    page.get_by_label("Whom would you like to interview?").press_sequentially("o")
    expect(page.get_by_role("button", name="Load the page called “to”")).to_be_visible()
    page.get_by_label("Whom would you like to interview?").fill("cor")
    expect(page.locator(".st-key-suggestions img").first).to_be_visible()


def choosing(page: Page) -> None:
    """A disambiguation page."""
    page.get_by_label("Whom would you like to interview?").fill("Quill")
    page.get_by_role("button", name="Quill", exact=True).click()
    expect(page.get_by_text("can be one of several pages")).to_be_visible()


def deleting(page: Page) -> None:
    """The question before somebody is deleted."""
    page.get_by_role("button", name="Delete").first.click()
    expect(page.get_by_role("dialog")).to_be_visible()


def beginning(page: Page) -> None:
    """An interview that is not begun, with a living person."""
    _interview(page, "Mirela Tordesan")
    expect(page.get_by_text("is a living person")).to_be_visible()


def answering(page: Page) -> None:
    """What is seen until an answer is there."""
    _interview(page, "Cornelius Vane")
    page.get_by_test_id("stChatInputTextArea").fill(HELD)
    page.keyboard.press("Enter")
    expect(page.locator(".steps .now")).to_contain_text("Answering")


def interviewing(page: Page) -> None:
    """Answers, their sources, and a refusal."""
    page.goto(f"{page.url.split('?')[0].rstrip('/')}/interview?thread={THREAD[0]}")
    expect(page.get_by_text("You could ask instead:")).to_be_visible()


def reading_on(page: Page) -> None:
    """A source that is opened."""
    interviewing(page)
    source = page.locator(".sources details").first
    source.locator("summary").click()
    expect(source.locator("mark").first).to_be_visible()
    _to_top(page, page.locator(".stChatMessage").nth(1))


def looking_behind(page: Page) -> None:
    """Why an answer is as it is."""
    interviewing(page)
    why = page.get_by_text("Why this answer").first
    why.click()
    expect(page.get_by_text("Model calls", exact=True)).to_be_visible()
    _to_top(page, why)


def listing(page: Page) -> None:
    """The interviews in the sidebar, and what can be done with one."""
    interviewing(page)
    if page.get_by_test_id("stExpandSidebarButton").is_visible():
        page.get_by_test_id("stExpandSidebarButton").click()
    page.locator(".st-key-threads").get_by_role("button", name="More").first.click()
    expect(page.get_by_role("button", name="Export as Markdown")).to_be_visible()


def _interview(page: Page, name: str) -> None:
    card = page.locator("[class*='st-key-card-']").filter(has=page.get_by_role("heading", name=name))
    card.get_by_role("button", name="Interview").click()
    expect(page.get_by_test_id("stChatInputTextArea")).to_be_visible()


def without_model(page: Page) -> None:
    """Ollama without its model."""
    expect(page.get_by_text("does not have the model")).to_be_visible()


def getting(page: Page) -> None:
    """The model that is being fetched; it was asked for with the first picture."""
    get, bar = page.get_by_role("button", name="Get qwen3"), page.get_by_text("2.6 of 5.2 GB")
    expect(get.or_(bar)).to_be_visible()
    if get.is_visible():
        get.click()
    expect(bar).to_be_visible()


def _to_top(page: Page, part: Locator) -> None:
    """Scrolls there, and again as long as a fresh page follows its own end."""
    for _ in range(10):
        part.evaluate("part => part.scrollIntoView({block: 'start'})")
        page.wait_for_timeout(700)
        if part.evaluate("part => Math.abs(part.getBoundingClientRect().top) < innerHeight / 2"):
            return


_DRAWN = """() => !document.querySelector('[data-testid=stSkeleton]')
    && [...document.images].every(one => one.complete && one.naturalWidth)"""
SHOTS: tuple[Callable[[Page], None], ...] = (
    people, samples, searching, choosing, deleting, beginning, answering, interviewing, reading_on, looking_behind, listing,
)  # fmt: skip
THREAD: list[str] = []


def main(argv: list[str]) -> None:
    """Take them all."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True, help="the folder to write to")
    parser.add_argument("--only", default="", help="the names of pages, such as people,samples")
    options = parser.parse_args(argv)
    options.out.mkdir(parents=True, exist_ok=True)
    expect.set_options(timeout=PATIENCE)
    wanted = [
        shot
        for shot in (*SHOTS, without_model, getting)
        if not options.only or shot.__name__ in options.only.split(",")
    ]
    with (
        tempfile.TemporaryDirectory() as folder,
        Model() as model,
        _app(Path(folder), model) as app,
        chromium() as browser,
    ):
        for shot in wanted:
            if shot in (without_model, getting):
                model.models.clear()
                model.may_end.clear()
            for file in _take(browser, app.url, shot, options.out):
                print(file, flush=True)
                if shot is answering:
                    model.go_on.set()


@contextmanager
def _app(folder: Path, model: OllamaServer) -> Iterator[AppServer]:
    """With people from the wiki, a file and the samples, and an interview."""
    for name in ("wiki", "home"):
        (folder / name).mkdir()
    home = folder / "home"
    with mediawiki.running(folder / "wiki") as api:
        _fill(Settings(home=home, wiki_api=api, llm="ollama", ollama_host=model.address))
        settings = {"PERSONA_HOME": str(home), "PERSONA_WIKI_API": api}
        settings |= {"PERSONA_LLM": "ollama", "PERSONA_OLLAMA_HOST": model.address}
        with AppServer(folder / "log.txt", **settings) as app:
            yield app


def _fill(settings: Settings) -> None:
    wiring = Wiring(settings)
    file = settings.home / "vik.md"
    file.write_text(GULLS, encoding="utf-8")
    for load in (
        wiring.loader.page(read_markdown(file)),
        wiring.loader.samples(),
        *(wiring.loader.title(title, language) for title, language in LOADED),
    ):
        for event in load:
            if isinstance(event, Choice):
                raise TypeError(event)
    vane = next(person for person in wiring.library.people() if person.title == "Cornelius Vane")
    thread, parent = wiring.history.start(vane.id).id, None
    for question in (*ANSWERS, REFUSED):
        *_, last = wiring.interview.ask(question, thread, parent)
        parent = last.turn.id  # type: ignore[union-attr]
    THREAD[:] = [thread]
    wiring.database.close()


def _take(browser: Browser, url: str, shot: Callable[[Page], None], out: Path) -> Iterator[Path]:
    for scheme in SCHEMES:
        for size, (width, height) in SIZES.items():
            context = browser.new_context(viewport={"width": width, "height": height}, color_scheme=scheme)  # type: ignore[arg-type]
            context.set_default_timeout(PATIENCE)
            page = context.new_page()
            page.goto(url)
            expect(page.get_by_label("Whom would you like to interview?")).to_be_visible()
            shot(page)
            page.mouse.move(0, 0)
            page.wait_for_function(_DRAWN)
            page.wait_for_timeout(700)  # animations
            file = out / f"{shot.__name__}-{scheme}-{size}.png"
            page.screenshot(path=file)
            yield file
            context.close()


if __name__ == "__main__":
    main(sys.argv[1:])
