"""One log line for each call to the outside: whom, what for, for which request, how long it took and how it ended.

What is asked, said or looked for is no part of a line unless `show_texts` was called. Knows nothing of those it calls.
"""

from __future__ import annotations

import json
import logging
import re
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_NONE = "-"
_LONGEST = 2000  # characters of a text
_request: ContextVar[str] = ContextVar("request", default=_NONE)
_texts = False
_log = logging.getLogger(__name__)


def serve(request: str = "") -> None:
    """What this thread calls from now on is called for that request; for none in particular when it is empty."""
    _request.set(request or _NONE)


def to_stderr() -> None:
    """Show these lines, and what else persona logs, on standard error."""
    logging.basicConfig(format="%(asctime)s %(name)s: %(message)s", stream=sys.stderr)
    logging.getLogger("persona").setLevel(logging.INFO)


def show_texts(wanted: bool) -> None:
    """Whether the lines of this process hold texts, too."""
    global _texts  # noqa: PLW0603 - as logging's own levels, it is the process's
    _texts = wanted


def without_password(address: str) -> str:
    """The address as anybody may see it: without a name and a password."""
    return re.sub(r"//[^/@]*@", "//", address)


@contextmanager
def logged(whom: str, what: str, text: str = "", **facts: object) -> Iterator[dict[str, object]]:
    """Log one line when the block ends; `facts` and what the block adds to them stand in it, `text` only if wanted."""
    began, outcome = time.monotonic(), "ok"
    try:
        yield facts
    except GeneratorExit:
        outcome = "given up"
        raise
    except BaseException as error:
        outcome = type(error).__name__
        raise
    finally:
        if "address" in facts:
            facts["address"] = without_password(str(facts["address"]))
        told = {"to": whom, "call": what, "request": _request.get(), **facts}
        told |= {"seconds": f"{time.monotonic() - began:.2f}", "outcome": outcome}
        told |= {"text": text[:_LONGEST]} if _texts and text else {}
        _log.info(" ".join(f"{name}={_shown(value)}" for name, value in told.items()))


def _shown(value: object) -> str:
    """On one line whatever it holds, and in quotation marks where it would not be one word."""
    text = str(value)
    return text if re.fullmatch(r"[\w./:@%?&=+~-]+", text) else json.dumps(text)
