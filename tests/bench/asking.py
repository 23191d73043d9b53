"""One app process of a load run, without the pages: the real cookie, runner, line and stores behind two addresses.

A page of Streamlit would do the same through its websocket: submit, then look at the turn in the store until it ended.
Settings come by PERSONA_…; the port that it listens on is the first line that it prints.
"""

from __future__ import annotations

import contextvars
import json
import os
import socket
import threading
import time
from importlib import import_module
from pathlib import Path
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from persona.errors import Busy, PersonaError
from persona.records import Visitor
from persona.runner import Runner
from persona.ui.visitors import VisitorCookie, cookie_secret, presence
from persona.wiring import Wiring
from tests.core import WordEmbedder

_who: contextvars.ContextVar[Visitor | None] = contextvars.ContextVar("who", default=None)
_SEEN = 5.0  # seconds between two notes of who is here, as in the app


class Asking:
    """What the addresses do."""

    def __init__(self, wiring: Wiring) -> None:
        self._wiring = wiring
        self._runner = Runner(wiring.interview, wiring.history, _who.get)

    async def ask(self, request: Request) -> JSONResponse:
        """A question; the turn's id, or 429 and when to come back."""
        return await run_in_threadpool(self._ask, await request.json(), _visitor(request))

    def _ask(self, asked: dict[str, Any], visitor: Visitor) -> JSONResponse:
        _who.set(visitor)
        try:
            history = self._wiring.history
            history.start(asked["person"], asked["thread"], visitor.id)
            turn = self._runner.submit(asked["question"], asked["thread"], asked["parent"], asked["request_id"])
        except Busy as busy:
            wait = {"Retry-After": f"{busy.seconds:.1f}"}
            return JSONResponse({"error": str(busy), "retry_after": busy.seconds}, 429, wait)
        except PersonaError as error:
            return JSONResponse({"error": str(error)}, 500)
        return JSONResponse({"turn": turn})

    async def turn(self, request: Request) -> JSONResponse:
        """How far a turn is."""
        return await run_in_threadpool(self._turn, request.path_params["turn"])

    def _turn(self, id_: str) -> JSONResponse:
        turn = self._wiring.history.turn(id_)
        if turn is None:
            return JSONResponse({"error": "no such turn"}, 404)
        told = {"state": turn.state, "step": turn.step, "error": turn.error}
        sources = turn.answer.sources if turn.answer else ()
        told |= {"answer": turn.answer.text if turn.answer else ""}
        return JSONResponse(told | {"revisions": sorted({source.revision for source in sources})})

    async def memory(self, _: Request) -> JSONResponse:
        """Bytes that are resident."""
        pages = int(Path("/proc/self/statm").read_text().split()[1])
        return JSONResponse({"resident": pages * os.sysconf("SC_PAGE_SIZE")})

    def note_presence(self) -> None:
        """As the app does."""
        while True:
            time.sleep(_SEEN)
            if here := presence.here():
                self._wiring.queue.seen(here)


def _visitor(request: Request) -> Visitor:
    id_, _, network = request.headers["x-persona-visitor"].partition(" ")
    return Visitor(id_, network)


def _warm(wiring: Wiring) -> None:
    """What the first question would wait for."""
    for person in wiring.library.people():
        wiring.interview.subject(person.id).searcher.search("Who are you?")
    import_module("llama_index.llms.openai_like")


def main() -> None:
    """Serve until killed."""
    words_only = os.environ.get("PERSONA_EMBEDDER") == "words"
    wiring = Wiring(embedder=WordEmbedder()) if words_only else Wiring()
    asking = Asking(wiring)
    _warm(wiring)
    threading.Thread(target=asking.note_presence, daemon=True).start()
    routes = [
        Route("/ask", asking.ask, methods=["POST"]),
        Route("/turn/{turn}", asking.turn),
        Route("/memory", asking.memory),
    ]
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        bound.listen()  # whoever is told the port may call at once
        print(json.dumps({"port": bound.getsockname()[1]}), flush=True)
        app = Starlette(routes=routes, middleware=[Middleware(VisitorCookie, cookie_secret)])
        uvicorn.Server(uvicorn.Config(app, log_level="warning", timeout_keep_alive=600)).run(sockets=[bound])


if __name__ == "__main__":
    main()
