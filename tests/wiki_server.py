"""A loopback server that answers as a wiki in trouble does: real sockets, the behavior is the test's to give."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

Answer = Callable[[BaseHTTPRequestHandler], None]


@dataclass
class Troubled:
    """Where it listens and what it was asked."""

    api: str
    paths: list[str] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)


@contextmanager
def wiki_answering(*answers: Answer) -> Iterator[Troubled]:
    """A server whose n-th request is answered by the n-th of `answers`, the last one again and again."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            troubled.headers.append(dict(self.headers))
            troubled.paths.append(self.path)
            answers[min(len(troubled.paths), len(answers)) - 1](self)

        def log_message(self, *_: object) -> None:
            pass

    class Server(ThreadingHTTPServer):
        daemon_threads = True
        block_on_close = False

        def handle_error(self, *_: object) -> None:
            """The client may hang up first."""

    with Server(("127.0.0.1", 0), Handler) as server:
        troubled = Troubled(f"http://127.0.0.1:{server.server_port}/some/where/api.php")
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        try:
            yield troubled
        finally:
            server.shutdown()


def status(code: int, headers: dict[str, str] | None = None, body: bytes = b"") -> Answer:
    """A reply of that status."""

    def answer(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(code)
        for name, value in {"Content-Length": str(len(body)), **(headers or {})}.items():
            handler.send_header(name, value)
        handler.end_headers()
        handler.wfile.write(body)

    return answer


def saying(value: object) -> Answer:
    """A reply with status 200 and that as JSON."""
    return status(200, {"Content-Type": "application/json"}, json.dumps(value).encode())


def one_page(**entry: object) -> Answer:
    """A reply about one page, as MediaWiki gives it."""
    page = {
        "pageid": 1,
        "ns": 0,
        "title": "Someone",
        "lastrevid": 7,
        "canonicalurl": "http://wiki.test/Someone",
        **entry,
    }
    return saying({"batchcomplete": True, "query": {"pages": [page]}})
