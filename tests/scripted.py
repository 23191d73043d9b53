"""A chat model that says what a test tells it to.

It keeps the contract of ports.ChatModel, which tests/test_chat_contract.py holds it to together with the real
adapters. A call beyond the script fails at once, and `assert_done` fails when a call was missing, or was one too many
and the failure was swallowed on its way.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from persona.records import ChatRequest, Delta, ModelStatus, Usage


@dataclass(frozen=True)
class Reply:
    """A reply in full detail; `error` is raised after the text came, as when a server dies in mid-stream."""

    text: str = ""
    finish: str = "stop"
    usage: Usage | None = None  # None: counted from the texts, four characters a token
    error: Exception | None = None


Scripted = str | Reply | Exception
Script = Scripted | Callable[[ChatRequest], Scripted]


class ScriptedModel:
    """Answers call after call from `replies`: a text, a Reply, an exception to raise, or a function of the request.

    `replies` may be appended to at any time. `requests` holds every request in order, `closed` the positions of those
    whose iterator was closed before the end.
    """

    def __init__(
        self,
        replies: Iterable[Script] = (),
        *,
        name: str = "scripted",
        context_window: int = 8192,
        piece: int = 3,
        status: ModelStatus | None = None,
    ) -> None:
        self.replies: list[Script] = list(replies)
        self.requests: list[ChatRequest] = []
        self.closed: list[int] = []
        self.name = name
        self.context_window = context_window
        self._piece = piece
        self._status = status or ModelStatus("scripted", "", name, ready=True)
        self._lock = threading.Lock()
        self._beyond = 0

    def chat(self, request: ChatRequest) -> Iterator[Delta]:
        """The next reply of the script; nothing happens before the first piece is asked for."""
        position, script = self._next(request)
        reply = _as_reply(script(request) if callable(script) else script)
        text = _until_stop(reply.text, request.stop)
        try:
            if request.stream:
                for start in range(0, len(text), self._piece):
                    yield Delta(text[start : start + self._piece])
            if reply.error:
                raise reply.error
            usage = reply.usage or _count(request, text)
            yield Delta("" if request.stream else text, usage, reply.finish)
        except GeneratorExit:
            self.closed.append(position)
            raise

    def status(self) -> ModelStatus:
        """Ready, unless told otherwise."""
        return self._status

    def assert_done(self) -> None:
        """Fail unless exactly the script's calls were made."""
        assert not self._beyond, f"{self._beyond} calls beyond the script; the last request: {self.requests[-1]}"
        assert not self.replies, f"the script is not finished, {len(self.replies)} left: {self.replies}"

    def _next(self, request: ChatRequest) -> tuple[int, Script]:
        with self._lock:
            self.requests.append(request)
            if not self.replies:
                self._beyond += 1
                raise AssertionError(f"the script is empty, but was asked: {request.messages[-1].text!r}")
            return len(self.requests) - 1, self.replies.pop(0)


def _as_reply(scripted: Scripted) -> Reply:
    if isinstance(scripted, Exception):
        return Reply(error=scripted)
    return Reply(scripted) if isinstance(scripted, str) else scripted


def _until_stop(text: str, stops: Iterable[str]) -> str:
    """What a server leaves of a text: it ends before the first stop string."""
    return text[: min((at for at in map(text.find, stops) if at >= 0), default=len(text))]


def _count(request: ChatRequest, text: str) -> Usage:
    return Usage(sum(len(m.text) for m in request.messages) // 4 + 1, len(text) // 4 + 1)
