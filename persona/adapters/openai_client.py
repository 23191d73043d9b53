"""The connection to an OpenAI-style server: address, key, timeouts, and what its errors mean.

Knows how llama.cpp's server, vLLM and the like word their refusals. Knows nothing of chats. Nothing is imported or
contacted before the first call.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cached_property
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from persona.adapters.proxies import proxy_for
from persona.errors import ContextExceeded, ModelError, ModelGarbled, ModelMissing, ModelUnreachable
from persona.importing import IMPORTS

if TYPE_CHECKING:
    import httpx
    import openai

CONNECT_SECONDS = 5.0
REPLY_SECONDS = 600.0  # between two pieces; a cold load counts as one
LOOK_SECONDS = 10.0  # for questions that load nothing

_TOO_LONG = re.compile(r"context.*(exceed|length|size)|exceed.*context|too (long|large)", re.IGNORECASE | re.DOTALL)
_LOADING = re.compile(r"loading", re.IGNORECASE)


class Loading(ModelError):
    """The server is up and loads its model: ask again in a moment."""


class Server:
    """Where the server is, asked anew for each call since the built-in one may have moved."""

    def __init__(self, address: Callable[[], str], key: str, kind: str) -> None:
        self._address = address
        self._kind = kind
        self._key = key

    def base(self) -> str:
        """The address with its /v1. Raises ModelError where there is none, or the server cannot be started."""
        address = self._address().rstrip("/")
        if not address:
            raise ModelUnreachable("No model server is named: set PERSONA_OPENAI_URL to its address, with /v1.")
        return address if urlsplit(address).path else f"{address}/v1"

    @property
    def key(self) -> str:
        """The client wants one even where the server does not."""
        return self._key or "none"

    @contextmanager
    def connection(self) -> Iterator[httpx.Client]:
        """A client for one call. What of the reply was not read by then is given up at the end, and the call with it.

        The client of OpenAI leaves that to the garbage collector, and the server goes on writing until it comes round.
        """
        with IMPORTS:
            import httpx

        replies: list[httpx.Response] = []
        hooks = {"response": [replies.append]}
        try:
            yield httpx.Client(transport=self._pool, event_hooks=hooks, timeout=self.patience(), follow_redirects=True)
        finally:
            for reply in replies:
                reply.close()

    @cached_property
    def _pool(self) -> httpx.HTTPTransport:
        """Connections kept open from call to call, shared by threads."""
        with IMPORTS:
            import httpx

        return httpx.HTTPTransport(proxy=proxy_for(self.base()))

    def patience(self, seconds: float = REPLY_SECONDS) -> httpx.Timeout:
        """Seconds to wait for the next piece; connecting is quicker."""
        with IMPORTS:
            import httpx

        return httpx.Timeout(seconds, connect=CONNECT_SECONDS)

    def get(self, path: str) -> dict[str, Any]:
        """The JSON at a path, for questions that load nothing. Raises httpx's errors and ValueError."""
        with self.connection() as http:
            reply = http.get(self.base() + path, headers=self._headers(), timeout=self.patience(LOOK_SECONDS))
        found: dict[str, Any] = reply.raise_for_status().json()
        return found

    def post(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        """The JSON that a path answers. Raises httpx's errors and ValueError."""
        with self.connection() as http:
            reply = http.post(self.base() + path, json=body, headers=self._headers())
        answered: dict[str, Any] = reply.raise_for_status().json()
        return answered

    def models(self) -> list[str]:
        """The ids of what it serves. Raises ModelError."""
        with self.translated(""):
            return [str(entry["id"]) for entry in self.get("/models")["data"]]

    def _headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self._key}"} if self._key else {}

    # --- errors ---

    @contextmanager
    def translated(self, model: str) -> Iterator[None]:
        """The clients' errors as ours."""
        with IMPORTS:
            import httpx
            import openai

        try:
            yield
        except openai.APIStatusError as error:
            raise self._refused(model, error.status_code, _reason(error)) from error
        except httpx.HTTPStatusError as error:
            raise self._refused(model, error.response.status_code, error.response.text) from error
        except (openai.APITimeoutError, httpx.ReadTimeout, httpx.WriteTimeout, httpx.PoolTimeout) as error:
            late = not isinstance(error.__cause__, httpx.ConnectTimeout)
            raise ModelUnreachable(self._silent() if late else self._absent()) from error
        except (
            openai.APIConnectionError,
            httpx.ConnectError,
            httpx.ConnectTimeout,
            httpx.UnsupportedProtocol,
        ) as error:
            cut = isinstance(error.__cause__, httpx.RemoteProtocolError | httpx.ReadError)
            raise ModelUnreachable(self.broke_off() if cut else self._absent()) from error
        except httpx.TransportError as error:
            raise ModelUnreachable(self.broke_off()) from error
        except openai.APIError as error:  # in mid-stream
            raise self._refused(model, 500, _reason(error)) from error
        except (
            ValueError,
            LookupError,
            TypeError,
            AttributeError,
        ) as error:  # no JSON, or not the fields there must be
            raise ModelGarbled(
                f"{self._who} sent a reply that could not be understood. {self._check('it is an OpenAI-style server')}"
            ) from error

    def broke_off(self) -> str:
        """The message for a reply without an end."""
        return f"{self._who} broke off in the middle of its reply. Ask again, or restart it."

    def _refused(self, model: str, status: int, reason: str) -> ModelError:
        reason = " ".join(reason.split())[:300].rstrip(".") or "no reason given"
        if status == 503 and _LOADING.search(reason):
            return Loading(f"{self._who} is still loading its model. Ask again in a moment.")
        if status == 404:
            return ModelMissing(f"{self._who} has no model {model} ({reason}). {self._check('the model is right')}")
        if status in (401, 403):
            return ModelError(f"{self._who} wants another key ({reason}). Set PERSONA_OPENAI_KEY.")
        if status in (400, 413, 500) and _TOO_LONG.search(reason):
            return ContextExceeded(
                f"The request does not fit the model's context window ({reason}). Set PERSONA_CONTEXT_WINDOW to what "
                "the server was started with."
            )
        if status == 429:
            return ModelError(f"{self._who} asks to wait ({reason}). Ask again in a minute.")
        return ModelError(f"{self._who} could not answer: {reason}. Ask again, or look at its log.")

    @property
    def _who(self) -> str:
        return "The built-in model" if self._kind == "builtin" else f"The model server at {self.base()}"

    def _absent(self) -> str:
        return f"{self._who} does not answer. {self._check('it runs')}"

    def _silent(self) -> str:
        return f"{self._who} went silent. Ask again, or restart it when it stays so."

    def _check(self, what: str) -> str:
        if self._kind == "builtin":
            return "Run `persona doctor`."
        return f"Check that {what}, and PERSONA_OPENAI_URL (it ends in /v1) and PERSONA_MODEL."


def _reason(error: openai.APIError) -> str:
    """What the server said; the client's own message wraps it in Python's notation."""
    body = error.body
    if isinstance(body, dict):
        inner = body.get("error", body)
        return str(inner.get("message", inner) if isinstance(inner, dict) else inner)
    return str(body or error.message)
