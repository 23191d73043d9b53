"""The app with nothing but what comes along: a sample, the built-in model, and somebody in a browser."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from persona.wiring import Wiring
from tests.app_server import AppServer
from tests.browser import PATIENCE, chromium, visitor
from tests.core import settings

pytestmark = [pytest.mark.browser, pytest.mark.builtin]
expect.set_options(timeout=PATIENCE)


@pytest.fixture
def page(builtin_model: Path, tmp_path: Path) -> Iterator[Page]:
    """Somebody who comes to the app after `make run`: it starts the model, which outlives it."""
    (tmp_path / "models").symlink_to(builtin_model.parent)
    wiring = Wiring(settings(tmp_path, llm="builtin"))
    for _ in wiring.loader.samples():
        pass
    wiring.database.close()
    home = {"PERSONA_HOME": str(tmp_path), "PERSONA_LLM": "builtin"}
    try:
        with chromium() as browser, AppServer(tmp_path / "app.txt", **home) as app, visitor(browser, app) as them:
            made = them.new_page()
            made.goto(app.url)
            yield made
    finally:
        wiring.builtin.stop()


def test_a_sample_is_interviewed_with_the_model_that_comes_along(page: Page) -> None:
    expect(page.get_by_text("the built-in model").first).to_be_visible()
    card = page.locator("[class*='st-key-card-']").filter(has=page.get_by_role("heading", name="Marie Curie"))
    card.get_by_role("button", name="Interview").click()
    said = page.locator(".stChatMessage .said")
    expect(said.first).to_contain_text("Hello, I am Marie Curie.")

    page.get_by_test_id("stChatInputTextArea").fill("Where were you born?")
    page.keyboard.press("Enter")
    expect(page.locator(".sources summary").first).to_be_visible()
    expect(said.last).to_contain_text("Warsaw")

    page.get_by_test_id("stChatInputTextArea").fill("Why is the sky blue?")
    page.keyboard.press("Enter")
    expect(page.get_by_text("Why there is no answer")).to_be_visible()
    expect(page.get_by_text("You could ask instead:")).to_be_visible()
    expect(page.locator(".stChatMessage").last.locator(".sources")).to_have_count(0)
