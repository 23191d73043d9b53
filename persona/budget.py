"""What fits the context window, and what was dropped so that it does. Pure.

Instructions go in first and whole; then what has a rank, the best first, or of a conversation the newest.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from persona.errors import ContextExceeded
from persona.prompts import Prompt
from persona.records import Message, ModelCall
from persona.text import harmless

Values = Mapping[str, str]


def fill(prompt: Prompt, values: Values) -> tuple[Message, ...]:
    """The prompt with those of the values that it has variables for, none of which can pass for a part of the prompt."""
    return prompt.render({name: harmless(value) for name, value in values.items() if name in prompt.variables})


def estimate(messages: Sequence[Message]) -> int:
    """Tokens of the messages, on the high side: three bytes a token and a frame of eight around each message."""
    return sum(len(m.text.encode()) // 3 + 8 for m in messages)


def fitting(prompt: Prompt, tokens: int, values: Callable[[int], Values], most: int) -> int:
    """How many of the items there is room for; at least one is taken to fit, and `check` tells if it does not."""
    counts = range(most, 1, -1)
    return next((n for n in counts if estimate(fill(prompt, values(n))) <= tokens), min(most, 1))


def check(messages: Sequence[Message], tokens: int, step: str) -> None:
    """Raises ContextExceeded if the messages cannot fit."""
    if estimate(messages) > tokens:
        raise ContextExceeded(f"The {step} call does not fit {tokens} tokens. Raise PERSONA_CONTEXT_WINDOW.")


def dropped(what: str, where: str, kept: int, of: int) -> tuple[str, ...]:
    """What to say of the items that did not fit."""
    return (f"{of - kept} of {of} {what}s did not fit {where}",) if kept < of else ()


def trimmed(call: ModelCall) -> str:
    """A sentence where the server read far fewer tokens than were sent, as one with a small context does in silence.

    Compared with the fewest tokens that the messages can have: one for seven letters, or two and a half characters of
    Chinese, Japanese or Korean. English has one for about 4.7. A server that does not count is not suspected.
    """
    text = "".join(message.text for message in call.messages)
    wide = sum(c > "\u2e7f" for c in text)
    fewest = int(wide / 2.5 + (len(text) - wide) / 7)
    read = call.prompt_tokens // max(call.tries, 1)
    if not 0 < read < fewest:
        return ""
    return f"the model server read only {read} of at least {fewest} tokens: raise its context window"
