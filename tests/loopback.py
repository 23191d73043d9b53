"""What the scripted model servers share: an HTTP server in a thread, replies from a script, every request recorded."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self

PIECE = 4  # characters of a token


@dataclass(frozen=True)
class WireReply:
    """What the server does with one request for a reply. The defaults do nothing unusual."""

    text: str = ""
    thinking: str = ""  # comes first, in the field that a server has for it
    status: int = 200  # another one refuses, with `error`
    error: str = ""  # with status 200: comes in mid-stream, after the text
    broken: bool = False  # the connection ends after the text, without an end of the reply
    clean_end: bool = False  # the same, but the HTTP message is complete
    garbage: bool = False  # what comes is no JSON
    seconds: float = 0.0  # of silence before it begins
    go_on: threading.Event | None = None  # waited for after the first piece
    prompt_tokens: int | None = None  # None: counted, PIECE characters a token
    cached_tokens: int = 0


Script = str | WireReply | Callable[[dict[str, Any]], "str | WireReply"]


@dataclass(frozen=True)
class Received:
    """A request as it came."""

    method: str
    path: str
    body: dict[str, Any]
    headers: dict[str, str]


class ClientGone(Exception):
    """The client closed the connection in the middle of a reply."""


class LoopbackServer:
    """A server on a port of 127.0.0.1, 0 for a free one, while the context lasts. `routes` maps "METHOD /path" to a handler."""

    def __init__(self, replies: Iterable[Script] = (), port: int = 0) -> None:
        self.replies: list[Script] = list(replies)
        self.received: list[Received] = []
        self.faults: list[str] = []  # calls beyond the script and failures of the server itself
        self.left = 0  # replies whose client went away
        self.routes: dict[str, Callable[[Exchange], None]] = {}
        self.lock = threading.Lock()
        self._http = _Threads(("127.0.0.1", port), _handler(self))
        self.address = f"http://127.0.0.1:{self._http.server_port}"

    def __enter__(self) -> Self:
        threading.Thread(target=self._http.serve_forever, args=(0.02,), daemon=True).start()
        return self

    def __exit__(self, kind: type[BaseException] | None, value: object, trace: TracebackType | None) -> None:
        self.stop()
        if kind is None:
            self.assert_done()

    def stop(self) -> None:
        """Close the port; nothing answers from now on."""
        self._http.shutdown()
        self._http.server_close()

    def assert_done(self) -> None:
        """Fail unless exactly the script's replies were asked for."""
        assert not self.faults, self.faults
        assert not self.replies, f"the script is not finished, {len(self.replies)} left: {self.replies}"

    def bodies(self, path: str) -> list[dict[str, Any]]:
        """What was sent to a path, in order."""
        return [request.body for request in self.received if request.path == path]

    def next_reply(self, body: dict[str, Any]) -> WireReply:
        """The script's next; beyond its end, a refusal and a fault."""
        with self.lock:
            if not self.replies:
                self.faults.append(f"the script is empty, but was asked: {body}")
                return WireReply(status=500, error="the script is empty")
            script = self.replies.pop(0)
        reply = script(body) if callable(script) else script
        reply = WireReply(reply) if isinstance(reply, str) else reply
        time.sleep(reply.seconds)
        return reply


class Exchange:
    """One request and the means to answer it."""

    def __init__(self, handler: BaseHTTPRequestHandler, received: Received) -> None:
        self.handler = handler
        self.body = received.body
        self.headers = received.headers

    def json(self, status: int, value: object, content_type: str = "application/json; charset=utf-8") -> None:
        """A whole reply."""
        self.text(status, json.dumps(value), content_type)

    def text(self, status: int, text: str, content_type: str) -> None:
        """A whole reply."""
        self.data(status, text.encode(), content_type)

    def data(self, status: int, data: bytes, content_type: str, whole: int | None = None) -> None:
        """A whole reply, or the beginning of one that is said to have `whole` bytes."""
        self.handler.send_response(status)
        self.handler.send_header("Content-Type", content_type)
        self.handler.send_header("Content-Length", str(len(data) if whole is None else whole))
        self.handler.end_headers()
        self._write(data)

    def begin(self, content_type: str) -> None:
        """Begin a reply in chunks."""
        self.handler.send_response(200)
        self.handler.send_header("Content-Type", content_type)
        self.handler.send_header("Transfer-Encoding", "chunked")
        self.handler.end_headers()

    def chunk(self, text: str) -> None:
        """Send a chunk at once. Raises ClientGone."""
        data = text.encode()
        self._write(b"%x\r\n%s\r\n" % (len(data), data))

    def end(self) -> None:
        """The reply in chunks is complete."""
        self._write(b"0\r\n\r\n")

    def hang_up(self) -> None:
        """Close the connection as it is."""
        self.handler.close_connection = True

    def _write(self, data: bytes) -> None:
        try:
            self.handler.wfile.write(data)
            self.handler.wfile.flush()
        except OSError as error:
            raise ClientGone from error


class _Threads(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False


def _handler(server: LoopbackServer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True  # each piece goes out at once; else it may wait 40 ms for the client's receipt

        def handle_one_request(self) -> None:
            try:
                super().handle_one_request()
            except OSError:  # the client is gone between two requests
                self.close_connection = True

        def do_GET(self) -> None:
            self._serve()

        def do_POST(self) -> None:
            self._serve()

        def _serve(self) -> None:
            length = int(self.headers.get("Content-Length") or 0)
            raw = self.rfile.read(length)
            if len(raw) < length:  # the client was killed while it asked
                self.close_connection = True
                return
            headers = {name.lower(): value for name, value in self.headers.items()}
            received = Received(self.command, self.path, json.loads(raw) if raw else {}, headers)
            server.received.append(received)
            exchange = Exchange(self, received)
            route = server.routes.get(f"{self.command} {self.path}")
            try:
                if route is None:
                    exchange.text(404, "404 page not found", "text/plain")
                else:
                    route(exchange)
            except ClientGone:
                server.left += 1
                self.close_connection = True
            except Exception as error:
                server.faults.append(f"{self.path}: {error!r}")
                self.close_connection = True

        def log_message(self, *_: object) -> None:
            pass

    return Handler


def tokens(text: str) -> int:
    """How many pieces a text has."""
    return -(-len(text) // PIECE)


def generate(text: str, limit: int | None, stops: Iterable[str]) -> tuple[list[str], str]:
    """The pieces of a text as a model would write it within its limits, and why it ended: "stop" or "length"."""
    text = text[: min((at for at in map(text.find, stops) if at >= 0), default=len(text))]
    pieces = [text[at : at + PIECE] for at in range(0, len(text), PIECE)]
    if limit is not None and 0 <= limit < len(pieces):
        return pieces[:limit], "length"
    return pieces, "stop"
