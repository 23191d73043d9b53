"""The log line of a chat: which model, how much was read and written, and when the first piece came."""

from __future__ import annotations

import time
from collections.abc import Generator
from contextlib import AbstractContextManager, closing

from persona.calls import logged
from persona.records import ChatRequest, Delta


def logged_chat(
    whom: str, model: str, request: ChatRequest, **facts: object
) -> AbstractContextManager[dict[str, object]]:
    """Logs one line when the block ends; its text is the last message, which holds the question."""
    text = request.messages[-1].text if request.messages else ""
    return logged(whom, "chat", text, model=model, messages=len(request.messages), **facts)


def counted(deltas: Generator[Delta], facts: dict[str, object]) -> Generator[Delta]:
    """The same pieces; what they tell goes to the line's facts."""
    began = time.monotonic()
    with closing(deltas):
        for delta in deltas:
            if delta.text and "first" not in facts:
                facts["first"] = f"{time.monotonic() - began:.2f}"
            if delta.usage:
                facts |= {"read": delta.usage.prompt_tokens, "written": delta.usage.output_tokens}
            yield delta
