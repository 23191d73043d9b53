"""The state of the app for whoever watches over it: /health as JSON, /health.txt in words.

Looks at what a question needs and starts nothing. The status is 200 where somebody can answer, else 503. In a public
demo no more is told than that. Knows no page.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from persona.checkup import Check, in_words, is_sound, look
from persona.errors import PersonaError
from persona.settings import Settings, is_public, load_settings
from persona.wiring import Wiring

_NEEDED = ("data folder", "model", "database", "vector store", "indexes")
_FRESH = 3.0  # seconds for which what was seen is repeated, however often it is asked for
_MARKS = {"ok": "✓", "off": "–", "warning": "!", "error": "✗"}


class Health:
    """Looks, and remembers for a moment what it saw. Usable from any thread."""

    def __init__(self, wired: Callable[[Settings], Wiring] = Wiring) -> None:
        self._wired = wired
        self._settings: Settings | None = None
        self._wiring: Wiring | None = None
        self._seen: list[Check] = []
        self._at = float("-inf")
        self._lock = threading.Lock()

    def routes(self) -> list[Route]:
        """Where it is told."""
        return [Route("/health", self.as_json), Route("/health.txt", self.as_words)]

    def as_json(self, _: Request) -> Response:
        """All of it as one object; the keys are a promise to scripts."""
        checks, sound = self._look()
        told = {"ok": sound, "state": in_words(sound), "checks": [] if self._public else list(map(_as_data, checks))}
        return JSONResponse(told, 200 if sound else 503)

    def as_words(self, _: Request) -> Response:
        """A line a check, then the whole."""
        checks, sound = self._look()
        lines = [] if self._public else [_as_line(check) for check in checks]
        return PlainTextResponse("\n".join([*lines, in_words(sound)]) + "\n", 200 if sound else 503)

    def _look(self) -> tuple[list[Check], bool]:
        with self._lock:  # one look for all who ask meanwhile
            if time.monotonic() - self._at > _FRESH:
                self._seen = self._looked()
                self._at = time.monotonic()
            return self._seen, is_sound(self._seen)

    def _looked(self) -> list[Check]:
        try:
            wiring = self._current()
        except PersonaError as error:
            return [Check("settings", "error", str(error))]
        return list(look(wiring, _NEEDED))

    def _current(self) -> Wiring:
        """As the app is now: another model may have been chosen there, and Ollama have come or gone."""
        settings = load_settings()
        if self._wiring is None or settings != self._settings:
            self._wiring, self._settings = self._wired(settings), settings
        if settings.llm == "auto":
            self._wiring.follow(self._wiring.ollama_status())
        return self._wiring

    @property
    def _public(self) -> bool:
        return self._wiring.settings.public if self._wiring else is_public()


def _as_data(check: Check) -> dict[str, str]:
    return {"name": check.name, "state": check.state, "message": check.message, "remedy": check.remedy}


def _as_line(check: Check) -> str:
    said = " ".join(f"{text.rstrip('.')}." for text in (check.message, check.remedy) if text)
    return f"{_MARKS[check.state]} {check.name}: {' '.join(said.split())}"
