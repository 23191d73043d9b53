"""A model call that ends as soon as its reader wants no more, even while the server is silent.

Whoever reads a stream is blocked until its next piece, which can take a minute. So each call of a turn that can be
stopped is read in a thread of its own, piece by piece as it is asked for, and is left to that thread when it stops.
Knows nothing of what a call is for.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from contextlib import closing
from contextvars import copy_context
from queue import Empty, SimpleQueue
from threading import Thread
from typing import cast

from persona.ports import ChatModel
from persona.records import ChatRequest, Delta, ModelStatus

_LOOK = 0.05  # seconds between two looks whether to stop
_CLOSING = 0.3  # seconds that a call is given to close before it is left to its thread


class Stopped(Exception):
    """The reader wants no more of this turn."""

    def __init__(self) -> None:
        super().__init__("stopped by the reader")


class Stoppable:
    """A ChatModel whose calls raise Stopped as soon as `cancelled`."""

    def __init__(self, model: ChatModel, cancelled: Callable[[], bool]) -> None:
        self._model, self._cancelled = model, cancelled

    @property
    def name(self) -> str:
        """The model's."""
        return self._model.name

    @property
    def context_window(self) -> int:
        """The model's."""
        return self._model.context_window

    def chat(self, request: ChatRequest) -> Iterator[Delta]:
        """The model's reply. Raises Stopped."""
        return _read(self._model.chat(request), self._cancelled)

    def status(self) -> ModelStatus:
        """The model's."""
        return self._model.status()


def _read(deltas: Iterator[Delta], cancelled: Callable[[], bool]) -> Iterator[Delta]:
    wanted: SimpleQueue[bool] = SimpleQueue()
    came: SimpleQueue[Delta | Exception | None] = SimpleQueue()

    def read() -> None:
        with closing(cast("Generator[Delta, None, None]", deltas)):
            while wanted.get():
                try:
                    came.put(next(deltas, None))
                except Exception as error:  # whatever it is, it is raised where the reply is read
                    came.put(error)
                    return

    reader = Thread(target=copy_context().run, args=(read,), name="model-call", daemon=True)
    reader.start()
    try:
        while True:
            wanted.put(True)
            delta = _next(came, cancelled)
            if delta is None:
                return
            if isinstance(delta, Exception):
                raise delta
            yield delta
    finally:
        wanted.put(False)
        reader.join(_CLOSING)


def _next(came: SimpleQueue[Delta | Exception | None], cancelled: Callable[[], bool]) -> Delta | Exception | None:
    while not cancelled():
        try:
            return came.get(timeout=_LOOK)
        except Empty:
            continue
    raise Stopped
