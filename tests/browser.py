"""Headless Chromium for tests and yardsticks: the browser, and visitors whose pages may ask nobody but the app."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager

from playwright.sync_api import Browser, BrowserContext, sync_playwright

from tests.app_server import AppServer
from tests.needs import need

PATIENCE = 1000 * int(os.environ.get("PERSONA_TEST_PATIENCE", "120"))  # milliseconds; a busy machine needs many
_FLAGS = "--no-sandbox --disable-gpu --disable-background-networking --disable-component-update --disable-sync --no-first-run"


@contextmanager
def chromium() -> Iterator[Browser]:
    """The system's Chromium; without one the test is skipped."""
    found = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    need(found, "no Chromium on this machine")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found, args=_FLAGS.split())
        yield browser
        browser.close()


@contextmanager
def visitor(browser: Browser, app: AppServer, width: int = 1200, height: int = 900) -> Iterator[BrowserContext]:
    """Somebody who was never here. Fails if a page asked anything of another address."""
    made = browser.new_context(viewport={"width": width, "height": height}, accept_downloads=True)
    made.set_default_timeout(PATIENCE)
    asked: list[str] = []
    made.on("request", lambda request: asked.append(request.url))
    yield made
    made.close()
    elsewhere = [url for url in asked if not url.startswith((app.url, app.url.replace("http", "ws"), "data:", "blob:"))]
    assert not elsewhere, elsewhere
