"""Who is looking at the app: a signed cookie that no script in the browser can read, and who is here now.

The middleware stands in front of everything that the server serves. What it found goes with the request in a header of
our own, which nobody outside can set. Knows no page.
"""

from __future__ import annotations

import ipaddress
import logging
import os
import secrets
import threading
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from itertools import takewhile
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any

import streamlit as st
from itsdangerous import BadSignature, Signer
from starlette.datastructures import MutableHeaders
from starlette.requests import HTTPConnection
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from persona.errors import PersonaError
from persona.records import Visitor, new_id
from persona.settings import load_settings

COOKIE = "persona_visitor"
_HEADER = "x-persona-visitor"
_YEAR = 365 * 24 * 3600  # seconds
_STAYS = 15.0  # seconds for which one request shows that its visitor is here
_log = logging.getLogger(__name__)


class Presence:
    """Which visitors have a page of this process open. Usable from any thread."""

    def __init__(self) -> None:
        self._open: Counter[str] = Counter()
        self._last: dict[str, float] = {}  # by when they left
        self._lock = threading.Lock()

    def arrive(self, visitor: str) -> None:
        """A connection begins."""
        with self._lock:
            self._open[visitor] += 1

    def leave(self, visitor: str) -> None:
        """It ended."""
        with self._lock:
            self._open[visitor] -= 1
            if self._open[visitor] <= 0:
                del self._open[visitor]
            self._last.pop(visitor, None)
            self._last[visitor] = time.monotonic()
            self._forget()

    def here(self) -> list[str]:
        """Those with an open connection, or with one that ended a moment ago."""
        with self._lock:
            self._forget()
            return list({*self._open, *self._last})

    def _forget(self) -> None:
        """Each request without a cookie, as of what watches over the app, is a visitor who never comes again."""
        since = time.monotonic() - _STAYS
        for visitor in [*takewhile(lambda one: self._last[one] <= since, self._last)]:
            del self._last[visitor]


presence = Presence()  # the server's side counts, the pages' side asks; both are in this process


class VisitorCookie:
    """ASGI middleware: gives each visitor a cookie, and each request the header that says who asks.

    `secret` is called once, with the first request.
    """

    def __init__(self, app: ASGIApp, secret: Callable[[], str]) -> None:
        self._app, self._secret = app, secret
        self._made: Signer | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request or websocket."""
        if scope["type"] not in {"http", "websocket"}:
            await self._app(scope, receive, send)
            return
        known = self._known(scope)
        id_ = known or new_id()
        ours = (_HEADER.encode(), f"{id_} {_network(scope)}".encode())
        rest = [(name, value) for name, value in scope["headers"] if name.lower() != ours[0]]
        told = {**scope, "headers": [*rest, ours]}
        presence.arrive(id_)
        try:
            await self._app(told, receive, send if known else self._giving(id_, scope, send))
        finally:
            presence.leave(id_)

    def _known(self, scope: Scope) -> str | None:
        signed = HTTPConnection(scope).cookies.get(COOKIE, "")
        try:
            return self._signer.unsign(signed).decode()
        except BadSignature:
            return None

    def _giving(self, id_: str, scope: Scope, send: Send) -> Send:
        async def giving(message: Message) -> None:
            if message["type"] in {"http.response.start", "websocket.accept"}:
                message.setdefault("headers", [])
                MutableHeaders(scope=message).append("set-cookie", self._cookie(id_, scope))
            await send(message)

        return giving

    def _cookie(self, id_: str, scope: Scope) -> str:
        value = self._signer.sign(id_).decode()
        secure = "; Secure" if scope["scheme"] in {"https", "wss"} else ""
        return f"{COOKIE}={value}; Path=/; Max-Age={_YEAR}; HttpOnly; SameSite=Lax{secure}"

    @property
    def _signer(self) -> Signer:
        if self._made is None:
            self._made = Signer(self._secret(), salt=COOKIE)
        return self._made


def current() -> Visitor | None:
    """Who looks at the page that is being drawn; None outside of a server."""
    id_, _, network = (st.context.headers.get(_HEADER) or "").partition(" ")
    return Visitor(id_, network) if id_ else None


def cookie_secret() -> str:
    """What signs the cookies: PERSONA_SECRET, else a file in the data folder, made when it is first needed."""
    try:
        settings = load_settings()
        return settings.secret or _kept(settings.home / "secret")
    except (PersonaError, OSError) as error:  # the page tells what is wrong; until then nobody stays known
        _log.warning("cookies last until this process ends: %s", error)
        return secrets.token_urlsafe()


def _kept(file: Path) -> str:
    """The file's content. Two processes that make it at once agree on the first one's."""
    if not file.exists():
        file.parent.mkdir(parents=True, exist_ok=True)
        with NamedTemporaryFile("w", dir=file.parent) as draft:  # only its owner may read it
            draft.write(secrets.token_urlsafe())
            draft.flush()
            with suppress(FileExistsError):
                os.link(draft.name, file)
    # with an empty one, as a power cut may leave it, anybody could sign
    return file.read_text() or secrets.token_urlsafe()


def _network(scope: Scope) -> str:
    """What one household or office shares: an IPv4 address, or the first 64 bits of an IPv6 one."""
    host: Any = (scope.get("client") or ("",))[0]
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return "unknown"
    if isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped is None:
        return str(ipaddress.ip_network((address, 64), strict=False))
    return str(getattr(address, "ipv4_mapped", None) or address)
