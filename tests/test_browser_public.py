"""A public demo in headless Chromium: visitors with cookies of their own, who get at nothing that is not theirs.

The app, its line and its stores are the real ones; the model server says what it is told to, when it is told to.
"""

from __future__ import annotations

import re
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import ExitStack, closing
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect

from persona.records import now
from persona.settings import Settings
from persona.ui.guard import TROUBLE
from persona.ui.visitors import COOKIE
from persona.wiring import Wiring
from tests.app_server import AppServer
from tests.browser import PATIENCE, chromium, visitor
from tests.core import page as wiki_page
from tests.loopback import WireReply
from tests.openai_style import OpenAIStyleServer
from tests.reader import wait_for
from tests.test_browser_interview import MODEL, ask, said

pytestmark = pytest.mark.browser
expect.set_options(timeout=PATIENCE)
SECTIONS = {
    "Introduction": "Rasmus Lohe built bridges of rope over the gorges of Ennmark.",
    "Childhood": "Rasmus Lohe was born in Vassby. His aunt Signe taught him to tie the anchor hitch.",
}
HITCH, HITCH_ANSWER = "Who taught you to tie the anchor hitch?", "My aunt Signe taught me to tie the anchor hitch."
LEFT = 50  # seconds after which one is gone: 15 that a visit is believed to last, 30 that are waited, and the looks


class Model(OpenAIStyleServer):
    """Answers everybody the same, once `go_on` is set; or refuses with what it is `ailing` from."""

    def __init__(self) -> None:
        super().__init__(models=(MODEL,))
        self.go_on = threading.Event()
        self.ailing = ""

    def next_reply(self, body: dict[str, Any]) -> WireReply:
        if self.ailing:
            return WireReply(status=500, error=self.ailing)
        self.go_on.wait(PATIENCE / 1000)
        return WireReply(HITCH_ANSWER)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as launched:
        yield launched


@pytest.fixture(scope="module")
def server() -> Iterator[Model]:
    with Model() as made:
        yield made


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("home")
    wiring = Wiring(Settings(home=made))
    for _ in wiring.ingest.load(wiki_page("Rasmus Lohe", SECTIONS)):
        pass
    wiring.database.close()
    return made


@pytest.fixture(scope="module")
def app(browser: Browser, home: Path, server: Model) -> Iterator[AppServer]:
    settings = {"PERSONA_LLM": "openai", "PERSONA_OPENAI_URL": server.url, "PERSONA_MODEL": MODEL}
    with AppServer(home / "log.txt", PERSONA_HOME=str(home), PERSONA_PUBLIC="1", **settings) as running:
        yield running
    assert "Traceback" not in (home / "log.txt").read_text()


@pytest.fixture
def model(server: Model, home: Path) -> Iterator[Model]:
    """Answers at once unless it is told otherwise; what others asked in the last minutes is forgotten."""
    server.go_on.set()
    server.ailing = ""
    change(home, "DELETE FROM tickets")
    yield server
    server.go_on.set()


@pytest.fixture
def two(browser: Browser, app: AppServer) -> Iterator[tuple[BrowserContext, BrowserContext]]:
    with ExitStack() as stack:
        one, other = (stack.enter_context(visitor(browser, app)) for _ in range(2))
        yield one, other


def change(home: Path, statement: str, *values: object) -> None:
    with closing(sqlite3.connect(home / "persona.db", timeout=30)) as database, database:
        database.execute(statement, values)


def states(home: Path) -> list[str]:
    with closing(sqlite3.connect(home / "persona.db", timeout=30)) as database:
        return [state for (state,) in database.execute("SELECT state FROM turns ORDER BY created_at")]


def interview(who: BrowserContext, app: AppServer) -> Page:
    made = who.new_page()
    made.goto(f"{app.url}/interview")
    expect(made.get_by_text("Hello, I am Rasmus Lohe.")).to_be_visible()
    return made


def told(page: Page, text: str) -> None:
    expect(page.locator(".said").filter(has_text=text).last).to_be_visible()


def test_each_visitor_has_a_cookie_that_no_script_reads_and_sees_no_thread_but_their_own(
    two: tuple[BrowserContext, BrowserContext], app: AppServer, model: Model, browser: Browser
) -> None:
    one, other = two
    mine = interview(one, app)
    ask(mine, HITCH)
    told(mine, HITCH_ANSWER)
    theirs = interview(other, app)

    cookies = [{cookie["name"]: cookie for cookie in who.cookies()}[COOKIE] for who in two]
    assert all(cookie["httpOnly"] and cookie["sameSite"] == "Lax" for cookie in cookies)
    assert cookies[0]["value"] != cookies[1]["value"]
    assert COOKIE not in mine.evaluate("document.cookie")

    def sees_nothing(page: Page) -> None:
        page.goto(mine.url)
        expect(page.get_by_text("That interview is not stored on this computer.")).to_be_visible()
        assert said(page) == []
        expect(page.locator(".st-key-threads")).to_have_count(0)
        expect(page.get_by_text(HITCH)).to_have_count(0)

    assert "thread=" in mine.url
    sees_nothing(theirs)
    with visitor(browser, app) as forger:  # the id is in the cookie, its signature is not to be had
        id_ = cookies[0]["value"].partition(".")[0]
        forged = f"{id_}.{cookies[1]['value'].partition('.')[2]}"
        forger.add_cookies([{"name": COOKIE, "value": forged, "url": app.url}])
        sees_nothing(forger.new_page())
        assert forger.cookies()[0]["value"] not in {forged, cookies[0]["value"]}, "they got one of their own"
    mine.reload()
    told(mine, HITCH_ANSWER)


def test_visitors_find_nothing_to_load_delete_or_switch_and_no_address(
    two: tuple[BrowserContext, BrowserContext], app: AppServer, model: Model
) -> None:
    page = two[0].new_page()
    page.goto(app.url)
    expect(page.get_by_text("This is a public demo")).to_be_visible()
    main = page.get_by_test_id("stMainBlockContainer")
    expect(main.get_by_role("button")).to_have_text(["Interview"])
    expect(main.get_by_role("textbox")).to_have_count(0)
    expect(page.get_by_text(f"Answers: {MODEL}.")).to_be_visible()
    expect(page.get_by_label("Who answers")).to_have_count(0)

    model.ailing = f"no room in /srv/models at {model.url}"
    asking = interview(two[0], app)
    expect(asking.get_by_text(f"Answers: {MODEL}.")).to_be_visible()
    expect(asking.get_by_label("Who answers")).to_have_count(0)
    ask(asking, HITCH)
    expect(asking.get_by_text(TROUBLE)).to_be_visible()
    asking.get_by_text("Why this answer").click()
    expect(asking.locator("details.call")).to_have_count(1)
    for shown in (page.content(), asking.content()):
        assert "/srv/models" not in shown
        assert model.address.removeprefix("http://") not in shown
    model.ailing = ""
    asking.get_by_role("button", name="Try again").click()
    told(asking, HITCH_ANSWER)


def test_who_waits_sees_their_place_asks_one_question_at_a_time_and_loses_it_by_leaving(
    two: tuple[BrowserContext, BrowserContext], app: AppServer, model: Model, home: Path, browser: Browser
) -> None:
    one, other = two
    model.go_on.clear()
    first = interview(one, app)
    ask(first, HITCH)
    expect(first.locator(".steps .now")).to_contain_text("Answering")
    second = interview(other, app)
    ask(second, HITCH)
    expect(second.get_by_text(re.compile(r"umber 1 in line, about \d+ second"))).to_be_visible()

    eager = interview(other, app)
    ask(eager, HITCH)
    expect(eager.get_by_text("Your last question is not answered yet.")).to_be_visible()
    expect(eager.get_by_test_id("stChatInputTextArea")).to_have_value(HITCH)
    ask(eager, "Hello!")
    expect(eager.locator(".said")).to_have_count(3)  # two greetings, as no model has to be waited for

    address, kept = second.url, other.storage_state()
    other.close()
    assert states(home).count("running") == 2
    wait_for(lambda: "interrupted" in states(home), LEFT + PATIENCE / 1000)
    model.go_on.set()
    told(first, HITCH_ANSWER)
    again = browser.new_context(storage_state=kept)
    again.set_default_timeout(PATIENCE)
    back = again.new_page()
    back.goto(address)
    expect(back.get_by_text("Nobody was here any more when this question's turn came: ask again.")).to_be_visible()
    back.get_by_role("button", name="Try again").click()
    told(back, HITCH_ANSWER)
    again.close()


def test_the_eleventh_question_of_a_network_is_told_when_to_come_back_and_so_is_the_fifty_first_of_a_visitor(
    two: tuple[BrowserContext, BrowserContext], app: AppServer, model: Model, home: Path
) -> None:
    pages = [interview(who, app) for who in two]
    for number in range(10):  # both come from one address
        page = pages[number % 2]
        ask(page, "Hello!")
        expect(page.locator(".said")).to_have_count(3 + number // 2 * 2)
    ask(pages[0], HITCH)
    limit = "10 questions in 10 minutes came from your network"
    expect(pages[0].get_by_text(re.compile(f"{limit}.*Try again in about (10|[1-9]) minutes"))).to_be_visible()
    box = pages[0].get_by_test_id("stChatInputTextArea")
    expect(box).to_have_value(HITCH)

    long_ago = (now() - timedelta(hours=3)).replace(tzinfo=None).isoformat(" ")
    change(home, "UPDATE tickets SET entered_at = ?", long_ago)
    box.press("Enter")
    told(pages[0], HITCH_ANSWER)

    columns = "visitor, network, worker, entered_at, beat_at, seen_at, ended_at"
    mine = "(SELECT visitor FROM tickets ORDER BY number DESC LIMIT 1)"
    copies = (
        f"WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 44) "
        f"INSERT INTO tickets (turn, number, {columns}) SELECT 'old-' || i, 1000 + i, {columns} "
        f"FROM n, (SELECT * FROM tickets WHERE visitor = {mine} AND entered_at = ? LIMIT 1)"
    )
    change(home, copies, long_ago)  # five of their own, 44 more, and the one that was answered: fifty
    ask(pages[0], "Thank you!")
    expect(
        pages[0].get_by_text(re.compile("50 questions in a day came from you.*Try again in about 21 hours"))
    ).to_be_visible()
    ask(pages[1], "Thank you!")
    told(pages[1], "You are welcome.")
