"""A proxy between a contender and its model server that counts what every chat costs.

All contenders go through it, so that none is measured by its own word. The figures are the server's: llama.cpp sends
with each piece of a reply how many tokens of the prompt it read and how many it had in its cache, so that a call that
the contender gives up in the middle is counted as well. Knows nothing of who asks.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import TracebackType
from typing import Any

import httpx

from tests.loopback import Exchange, LoopbackServer

_PATIENCE = httpx.Timeout(900, connect=10)  # a long prompt on a slow machine is silent for minutes
_SETTLE = 60.0  # seconds that a call which was given up may take to end


@dataclass(frozen=True, slots=True)
class Call:
    """One chat: tokens of the prompt, those of them that were read anew, tokens written, seconds."""

    sent: int
    read: int
    written: int
    seconds: float


class Meter(LoopbackServer):
    """Serves at `url` what the server at `upstream()` (with /v1) serves; `take` gives the calls since the last time."""

    def __init__(self, upstream: Callable[[], str]) -> None:
        super().__init__()
        self._upstream = upstream
        self._calls: list[Call] = []
        self._running = 0
        self._quiet = threading.Condition()
        self._http_client = httpx.Client(timeout=_PATIENCE, trust_env=False)
        self.routes = {"GET /v1/models": self._models, "POST /v1/chat/completions": self._chat}

    @property
    def url(self) -> str:
        """The address with /v1."""
        return f"{self.address}/v1"

    def take(self) -> list[Call]:
        """The calls since the last time, once none is running any more."""
        with self._quiet:
            if not self._quiet.wait_for(lambda: not self._running, _SETTLE):
                raise TimeoutError("A call that was given up did not end at the model server.")
            calls, self._calls = self._calls, []
        return calls

    def __exit__(self, kind: type[BaseException] | None, value: object, trace: TracebackType | None) -> None:
        super().__exit__(kind, value, trace)
        self._http_client.close()

    def _models(self, exchange: Exchange) -> None:
        reply = self._http_client.get(f"{self._upstream()}/models")
        exchange.text(reply.status_code, reply.text, "application/json")

    def _chat(self, exchange: Exchange) -> None:
        with self._quiet:
            self._running += 1
        bill = _Bill()
        began = time.monotonic()
        try:
            self._pass_on(exchange, bill)
        finally:
            with self._quiet:
                self._running -= 1
                self._calls.append(bill.call(time.monotonic() - began))
                self._quiet.notify_all()
            self.received.clear()

    def _pass_on(self, exchange: Exchange, bill: _Bill) -> None:
        body = dict(exchange.body)
        if body.get("stream"):
            body["timings_per_token"] = True
            body["stream_options"] = {"include_usage": True}
        where = f"{self._upstream()}/chat/completions"
        with self._http_client.stream("POST", where, json=body) as reply:
            if reply.status_code == 200 and body.get("stream"):
                exchange.begin("text/event-stream")
                for event in _events(reply):
                    bill.read(event)
                    exchange.chunk(event)
                exchange.end()
                return
            text = reply.read().decode()
            bill.read(f"data: {text}")
            exchange.text(reply.status_code, text, "application/json")


class _Bill:
    """What a call has come to so far, by the latest figures that were seen."""

    def __init__(self) -> None:
        self._timings: dict[str, Any] = {}
        self._usage: dict[str, Any] = {}

    def read(self, event: str) -> None:
        """Look for figures in an event."""
        for line in event.splitlines():
            try:
                value = json.loads(line.removeprefix("data:"))
            except ValueError:
                continue
            if isinstance(value, dict):
                self._timings = value.get("timings") or self._timings
                self._usage = value.get("usage") or self._usage

    def call(self, seconds: float) -> Call:
        """The usage tells what was sent, the timings what was read; a server without timings tells it in the details."""
        details = self._usage.get("prompt_tokens_details") or {}
        cached = int(self._timings.get("cache_n") or details.get("cached_tokens") or 0)
        sent = int(self._usage.get("prompt_tokens") or cached + self._timings.get("prompt_n", 0))
        written = int(self._usage.get("completion_tokens") or self._timings.get("predicted_n") or 0)
        return Call(sent, sent - cached, written, seconds)


def _events(reply: httpx.Response) -> Iterator[str]:
    """Server-sent events, each with the blank line at its end."""
    lines: list[str] = []
    for line in reply.iter_lines():
        if line:
            lines.append(line)
        elif lines:
            yield "\n".join(lines) + "\n\n"
            lines = []
    if lines:
        yield "\n".join(lines) + "\n\n"
