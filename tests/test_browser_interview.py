"""An interview in headless Chromium: the real app, store, embedder and gate; a model server that is told what to say."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, Locator, Page, expect

from persona.settings import Settings
from persona.wiring import Wiring
from tests.app_server import AppServer
from tests.browser import PATIENCE, chromium, visitor
from tests.core import page as wiki_page
from tests.loopback import WireReply
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
FOCUSED = """() => {
    let at = document.activeElement;
    while (at && at.shadowRoot && at.shadowRoot.activeElement) at = at.shadowRoot.activeElement;
    return at ? (at.getAttribute("aria-label") || at.textContent).trim() : "";
}"""  # the name of what has the focus


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
    page.get_by_test_id("stMainBlockContainer").get_by_role("button", name="What was your childhood like?").click()
    answered(page, "I was born in Talheim.")

    expect(page.locator(".doubtful")).to_have_text("Lisbon")
    expect(page.get_by_text("Check this: “Lisbon” is in no source.")).to_be_visible()
    numbers = page.locator(".sources summary").all_inner_texts()
    assert [text.split(".")[0] for text in numbers] == [str(n) for n in range(1, len(numbers) + 1)]
    page.get_by_text("1. Childhood").click()
    expect(page.locator(".sources mark").first).to_be_visible()
    link = page.get_by_role("link", name="Open this section of Benedikt Aul, as of revision 41").first
    expect(link).to_have_attribute("href", "https://wiki.test/wiki/Benedikt_Aul?oldid=41#Childhood")
    page.reload()
    expect(page.locator(".doubtful")).to_have_text("Lisbon")
    assert page.locator(".sources summary").all_inner_texts() == numbers
    page.get_by_text("1. Childhood").click()
    expect(page.locator(".sources .passage").first).to_contain_text("His brother Lukas, three years older")
    expect(link).to_have_attribute("href", "https://wiki.test/wiki/Benedikt_Aul?oldid=41#Childhood")
    page.get_by_text("Why this answer").click()
    page.get_by_text("1. answer: ").click()
    expect(page.locator("details.call")).to_contain_text("His brother Lukas")
    expect(page.get_by_text(re.compile(r"^answer\.md, [0-9a-f]{12}$"))).to_be_visible()


def test_stop_acts_at_once_and_what_came_stays_in_every_tab(page: Page, model: OpenAIStyleServer) -> None:
    silent, go_on = threading.Event(), threading.Event()

    def held(_: object) -> str:
        silent.wait(PATIENCE / 1000)
        return ANSWER

    model.replies.append(held)
    ask(page, BROTHER)
    expect(page.locator(".steps .now")).to_contain_text("Answering")
    expect(page.locator(".steps .done")).to_have_text(["Searching the page of Benedikt Aul"])
    page.get_by_role("button", name="Stop").click()
    expect(page.get_by_text("Stopped before an answer had come.")).to_be_visible()
    silent.set()

    model.replies.append(lambda _: WireReply(f"{ANSWER} He was older. " + "He whistled. " * 60, go_on=go_on))
    page.get_by_role("button", name="Try again").click()
    expect(page.get_by_role("button", name="Stop")).to_be_visible()
    go_on.set()
    expect(page.locator(".said").filter(has_text="My brother Lukas").last).to_be_visible()
    answered(page, "My brother Lukas")
    seen = said(page)
    page.reload()
    answered(page, "My brother Lukas")
    assert said(page) == seen
    second = page.context.new_page()
    second.goto(page.url)
    answered(second, "My brother Lukas")
    assert said(second) == seen


def test_what_is_asked_while_an_answer_is_written_stays_in_the_box(page: Page, model: OpenAIStyleServer) -> None:
    go_on = threading.Event()
    model.replies += [ANSWER, '{"question": "Who tuned the reeds?", "turns": []}', WireReply(GRETA, go_on=go_on)]
    box = page.get_by_test_id("stChatInputTextArea")
    ask(page, BROTHER)
    answered(page, ANSWER)
    ask(page, REEDS)
    expect(page.locator(".steps .now")).to_contain_text("Answering")
    for typed in ("Thank you!", "Goodbye!"):
        ask(page, typed)
        expect(box).to_have_value(typed)
        expect(page.get_by_text("One answer at a time: ask this when the answer is there")).to_be_in_viewport()
    tool(page, "Edit the question").click()
    page.get_by_label("The question", exact=True).fill("Who was your brother?")
    page.get_by_role("button", name="Ask this instead").click()
    expect(box).to_have_value("Who was your brother?")
    go_on.set()
    answered(page, GRETA)
    expect(page.get_by_text("One answer at a time")).to_have_count(0)
    expect(box).to_have_value("Who was your brother?")
    ask(page, "Thank you!")
    answered(page, "You are welcome.")
    assert said(page)[:5] == [BROTHER, ANSWER, REEDS, GRETA, "Thank you!"]


def test_versions_edits_and_branches_are_all_kept(page: Page, model: OpenAIStyleServer) -> None:
    model.replies += [ANSWER, OTHER, GRETA]
    ask(page, BROTHER)
    answered(page, ANSWER)
    tool(page, "Another answer").click()
    answered(page, OTHER)
    expect(page.get_by_text("2/2")).to_be_visible()
    tool(page, "The version before").click()
    answered(page, ANSWER)
    page.reload()
    answered(page, ANSWER)
    assert said(page) == [BROTHER, ANSWER]

    tool(page, "Edit the question").click()
    page.get_by_label("The question", exact=True).fill(REEDS)
    page.get_by_role("button", name="Ask this instead").click()
    answered(page, GRETA)
    expect(page.get_by_text("3/3")).to_be_visible()
    assert said(page) == [REEDS, GRETA]

    ask(page, "Thank you!")
    answered(page, "You are welcome.")
    page.get_by_role("button", name="Go on from here").click()
    expect(page.get_by_text("You go on from here. 1 later turn is kept.")).to_be_visible()
    ask(page, "Goodbye!")
    answered(page, "Goodbye, and thank you")
    assert said(page)[:3] == [REEDS, GRETA, "Goodbye!"]
    tool(page, "The version before").click()
    answered(page, "You are welcome.")
    assert said(page)[2] == "Thank you!"
    assert [chat["temperature"] for chat in model.chats[-3:]] == [0.0, 0.8, 0.0]


def test_an_answer_is_rated_with_a_word_of_why(page: Page, model: OpenAIStyleServer) -> None:
    model.replies.append(ANSWER)
    ask(page, BROTHER)
    answered(page, ANSWER)
    tool(page, "A bad answer").click()
    page.get_by_label("What was wrong with it?").fill("Too short")
    page.keyboard.press("Enter")
    expect(page.get_by_text("Kept with the answer.")).to_be_visible()
    page.reload()
    answered(page, ANSWER)
    expect(page.get_by_label("What was wrong with it?")).to_have_value("Too short")
    expect(tool(page, "A bad answer")).to_have_attribute("aria-pressed", "true")
    tool(page, "A bad answer").click()
    expect(page.get_by_label("What was wrong with it?")).to_have_count(0)


def test_a_thread_is_renamed_found_exported_deleted_and_brought_back(
    page: Page, app: AppServer, browser: Browser, model: OpenAIStyleServer
) -> None:
    model.replies.append(GRETA)
    ask(page, REEDS)
    answered(page, GRETA)
    address = page.url
    listed = page.locator(".st-key-threads")
    more(page)
    page.get_by_label("Title").fill("Reeds & *bellows*")
    page.keyboard.press("Enter")
    expect(listed.get_by_role("button", name="Reeds & *bellows*")).to_be_visible()

    with page.expect_download() as markdown:
        page.get_by_role("button", name="Export as Markdown").click()
    written = Path(markdown.value.path()).read_text("utf-8")
    assert written.startswith("# An interview with Benedikt Aul\n")
    assert f"**{REEDS}**\n\n{GRETA}[^1]" in written
    with page.expect_download() as data:
        page.get_by_role("button", name="Export as JSON").click()
    assert json.loads(Path(data.value.path()).read_text("utf-8"))["turns"][0]["answer"]["text"] == GRETA
    page.get_by_role("button", name="Delete").click()
    expect(page.get_by_text("You could begin with:")).to_be_visible()
    expect(listed.get_by_role("button", name="Reeds & *bellows*")).to_have_count(0)
    page.get_by_role("button", name="Undo").click()
    answered(page, GRETA)
    assert page.url == address

    page.get_by_label("Search what was said").fill("greta REEDS")
    page.keyboard.press("Enter")
    expect(listed.get_by_role("button", name="Reeds & *bellows* · Benedikt Aul")).to_be_visible()
    page.get_by_label("Search what was said").fill("zeppelin")
    page.keyboard.press("Enter")
    expect(page.get_by_text("Nothing was said with these words.")).to_be_visible()
    with visitor(browser, app) as stranger:  # an empty session elsewhere
        linked = stranger.new_page()
        linked.goto(address)
        answered(linked, GRETA)
        assert said(linked) == [REEDS, GRETA]


REWRITTEN = '{"question": "What was Benedikt Aul\'s childhood like?", "turns": []}'


def test_a_refusal_says_why_what_was_looked_at_and_what_to_ask_instead(page: Page, model: OpenAIStyleServer) -> None:
    before = len(model.chats)
    ask(page, "Why is the sky blue?")
    expect(page.get_by_text("Why there is no answer: Nothing on the page is about this.")).to_be_visible()
    expect(page.get_by_text("Looked at: the whole page")).to_be_visible()
    expect(page.locator(".sources")).to_have_count(0)
    assert len(model.chats) == before
    model.replies += [REWRITTEN, "I was born in Talheim."]
    page.get_by_test_id("stMainBlockContainer").get_by_role("button", name="What was your childhood like?").click()
    answered(page, "I was born in Talheim.")


def test_a_model_server_that_is_down_is_a_sentence_and_when_it_is_back_the_question_is_answered(
    browser: Browser, tmp_path: Path
) -> None:
    first = OpenAIStyleServer(models=(MODEL,)).__enter__()
    wiring = Wiring(Settings(home=tmp_path))
    for _ in wiring.ingest.load(wiki_page("Benedikt Aul", SECTIONS)):
        pass
    wiring.database.close()
    port = int(first.address.rpartition(":")[2])
    settings = {"PERSONA_LLM": "openai", "PERSONA_OPENAI_URL": first.url, "PERSONA_MODEL": MODEL}
    with AppServer(tmp_path / "log.txt", PERSONA_HOME=str(tmp_path), **settings) as app, visitor(browser, app) as who:
        page = who.new_page()
        page.goto(f"{app.url}/interview")
        expect(page.get_by_text("You could begin with:")).to_be_visible()
        first.stop()
        ask(page, BROTHER)
        expect(page.get_by_role("button", name="Try again")).to_be_visible()
        expect(page.locator(".stAlert").filter(has_text="does not answer").first).to_be_visible()
        with OpenAIStyleServer([ANSWER], (MODEL,), port=port):
            page.get_by_role("button", name="Try again").click()
            answered(page, ANSWER)
    assert "Traceback" not in (tmp_path / "log.txt").read_text()


def test_what_a_model_writes_is_text_and_no_picture_is_fetched(page: Page, model: OpenAIStyleServer) -> None:
    model.replies.append(f"{GRETA} {HOSTILE}")
    ask(page, f"{REEDS} {HOSTILE}")
    answered(page, GRETA)
    assert said(page) == [f"{REEDS} {HOSTILE}", f"{GRETA} {HOSTILE}"]
    expect(page.locator(".sources summary").filter(has_text="Workshop › *Apprentices*").first).to_be_visible()
    assert page.locator(".katex, .stChatMessage img:not([data-testid]), .said b").count() == 0


def test_what_is_said_in_arabic_is_set_from_right_to_left(page: Page, model: OpenAIStyleServer) -> None:
    before = len(model.chats)
    ask(page, "من أنت.")
    bubble = page.locator(".said").filter(has_text="من أنت")
    expect(page.get_by_text("Why there is no answer: ")).to_be_visible()
    assert len(model.chats) == before
    left = """(node, at) => {
        const range = document.createRange();
        range.setStart(node.firstChild, at);
        range.setEnd(node.firstChild, at + 1);
        return range.getBoundingClientRect().left;
    }"""
    assert bubble.evaluate(left, 6) < bubble.evaluate(left, 0), "the full stop is at the left end"


def test_the_keyboard_alone_asks_opens_a_source_and_edits(page: Page, model: OpenAIStyleServer) -> None:
    model.replies += [ANSWER, GRETA]
    page.get_by_test_id("stChatInputTextArea").focus()
    page.keyboard.type(BROTHER)
    page.keyboard.press("Enter")
    answered(page, ANSWER)
    tab_to(page, "1. Childhood")
    page.keyboard.press("Enter")
    expect(page.locator(".sources mark").first).to_be_visible()
    tab_to(page, "Edit the question")
    page.keyboard.press("Enter")
    expect(page.get_by_label("The question", exact=True)).to_be_visible()
    tab_to(page, "The question")
    page.keyboard.press("Control+A")
    page.keyboard.type(REEDS)
    page.keyboard.press("Control+Enter")
    answered(page, GRETA)
    assert said(page) == [REEDS, GRETA]
    tab_to(page, "A good answer")
    page.keyboard.press("Enter")
    expect(tool(page, "A good answer")).to_have_attribute("aria-pressed", "true")
    assert page.evaluate(FOCUSED) == "A good answer", "the next key goes on from there"


def tab_to(page: Page, name: str) -> None:
    """Press Shift+Tab from the end of the page until what has that name has the focus."""
    page.get_by_test_id("stChatInputTextArea").focus()
    for _ in range(40):
        page.keyboard.press("Shift+Tab")
        if page.evaluate(FOCUSED) == name:
            return
    raise AssertionError(f"{name} cannot be reached by the keyboard")


def test_a_phone_shows_an_answer_and_its_tools_without_scrolling_sideways(
    browser: Browser, app: AppServer, model: OpenAIStyleServer
) -> None:
    model.replies.append(ANSWER)
    with visitor(browser, app, width=390, height=800) as who:
        page = who.new_page()
        page.goto(f"{app.url}/interview")
        expect(page.get_by_text("You could begin with:")).to_be_visible()
        ask(page, BROTHER)
        answered(page, ANSWER)
        page.get_by_text("1. Childhood").click()
        expect(page.locator(".sources mark").first).to_be_visible()
        expect(page.get_by_test_id("stChatInputTextArea")).to_be_in_viewport()
        assert page.evaluate("document.documentElement.scrollWidth") <= 390
        for name in ("Copy", "Edit the question", "Another answer", "A good answer"):
            box = tool(page, name).bounding_box()
            assert box
            assert box["x"] + box["width"] <= 390
