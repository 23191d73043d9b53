"""The visitor's cookie, over the real server: signed, out of scripts' reach, and the only way to be known."""

from __future__ import annotations

import asyncio
import stat
from pathlib import Path
from typing import Any

import httpx
import pytest
from itsdangerous import Signer
from starlette.types import Message, Receive, Scope, Send

from persona.ui import visitors
from persona.ui.visitors import COOKIE, VisitorCookie, cookie_secret
from tests.app_server import AppServer


class Seen:
    """An ASGI app that keeps what it is told of its visitor, and who was here meanwhile."""

    def __init__(self) -> None:
        self.visitors: list[tuple[str, str]] = []
        self.here: list[list[str]] = []

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        told = [value for name, value in scope["headers"] if name == b"x-persona-visitor"]
        assert len(told) == 1
        id_, _, network = told[0].decode().partition(" ")
        self.visitors.append((id_, network))
        self.here.append(visitors.presence.here())
        await send({"type": "http.response.start", "status": 200})
        await send({"type": "http.response.body", "body": b""})


def ask(app: VisitorCookie, *headers: tuple[str, str], scheme: str = "http", client: str = "192.0.2.7") -> str:
    """The cookie that comes with one request, empty if there is none."""
    raw = [(name.encode(), value.encode()) for name, value in headers]
    scope: dict[str, Any] = {"type": "http", "path": "/", "scheme": scheme, "headers": raw, "client": (client, 4711)}
    sent: list[Message] = []

    async def send(message: Message) -> None:
        sent.append(message)

    async def receive() -> Message:
        raise AssertionError("nobody reads")

    asyncio.run(app(scope, receive, send))
    return dict(sent[0].get("headers", [])).get(b"set-cookie", b"").decode()


@pytest.fixture
def seen() -> Seen:
    return Seen()


@pytest.fixture
def app(seen: Seen) -> VisitorCookie:
    return VisitorCookie(seen, lambda: "a secret")


def test_a_new_visitor_gets_a_cookie_that_scripts_cannot_read_and_is_known_by_it(
    app: VisitorCookie, seen: Seen
) -> None:
    given = ask(app)
    assert {"HttpOnly", "SameSite=Lax", "Path=/"} <= set(given.split("; "))
    assert "Secure" not in given
    assert ask(app, ("cookie", given.partition(";")[0])) == ""
    assert seen.visitors[0] == seen.visitors[1]
    assert "Secure" in ask(app, scheme="https").split("; ")


def test_a_cookie_that_was_made_up_or_signed_by_another_is_not_believed(app: VisitorCookie, seen: Seen) -> None:
    ask(app)
    known = seen.visitors[0][0]
    for value in (known, f"{known}.", f"{known}.AAAA", Signer("another secret", salt=COOKIE).sign(known).decode()):
        assert ask(app, ("cookie", f"{COOKIE}={value}")).startswith(f"{COOKIE}=")
    assert len({id_ for id_, _ in seen.visitors}) == 5


def test_the_header_that_says_who_asks_cannot_be_sent_from_outside(app: VisitorCookie, seen: Seen) -> None:
    ask(app, ("X-Persona-Visitor", "somebody 10.0.0.1"), ("x-persona-visitor", "else 10.0.0.1"))
    ((id_, network),) = seen.visitors
    assert id_ not in {"somebody", "else"}
    assert network == "192.0.2.7"


@pytest.mark.parametrize(
    ("client", "network"),
    [
        ("198.51.100.4", "198.51.100.4"),
        ("2001:db8:1:2:aaaa::1", "2001:db8:1:2::/64"),
        ("::ffff:198.51.100.4", "198.51.100.4"),
        ("testclient", "unknown"),
    ],
)
def test_a_network_is_what_one_household_shares(app: VisitorCookie, seen: Seen, client: str, network: str) -> None:
    ask(app, client=client)
    assert seen.visitors[0][1] == network


def test_a_visitor_is_here_while_connected_and_a_moment_longer(
    app: VisitorCookie, seen: Seen, monkeypatch: pytest.MonkeyPatch
) -> None:
    ask(app)
    id_ = seen.visitors[0][0]
    assert id_ in seen.here[0]
    assert id_ in visitors.presence.here()
    monkeypatch.setattr(visitors, "_STAYS", 0.0)
    assert id_ not in visitors.presence.here()


def test_those_who_never_come_again_are_forgotten_though_nobody_asks_who_is_here(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(visitors, "_STAYS", 0.0)
    presence = visitors.Presence()
    for number in range(20):
        presence.arrive(str(number))
        presence.leave(str(number))
    assert len(presence._last) <= 1


def test_the_secret_is_a_file_that_only_its_owner_reads_or_a_setting(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PERSONA_HOME", str(tmp_path / "home"))
    first = cookie_secret()
    assert cookie_secret() == first == (tmp_path / "home" / "secret").read_text()
    assert stat.S_IMODE((tmp_path / "home" / "secret").stat().st_mode) == 0o600
    monkeypatch.setenv("PERSONA_SECRET", "shared by two machines")
    assert cookie_secret() == "shared by two machines"


def test_an_empty_file_is_no_secret(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PERSONA_HOME", str(tmp_path))
    (tmp_path / "secret").write_text("")
    assert len(cookie_secret()) > 20


def test_without_a_data_folder_the_server_still_answers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("PERSONA_HOME", str(tmp_path / "file"))
    assert len(cookie_secret()) > 20


def test_the_app_that_streamlit_runs_gives_the_cookie_and_knows_it_again(tmp_path: Path) -> None:
    nobody = {"PERSONA_LLM": "openai", "PERSONA_OPENAI_URL": "http://127.0.0.1:9/v1"}
    with AppServer(tmp_path / "log.txt", PERSONA_HOME=str(tmp_path), **nobody) as server, httpx.Client() as browser:
        given = browser.get(server.url).headers["set-cookie"]
        assert given.startswith(f"{COOKIE}=")
        assert "HttpOnly" in given
        assert COOKIE not in browser.get(server.url).headers.get("set-cookie", "")
    assert "Traceback" not in (tmp_path / "log.txt").read_text()
