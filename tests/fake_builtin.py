"""A stand-in for the built-in model's child process: the same locks, record and addresses, and no weights.

The first one in a data folder falls silent in the middle of its reply; those that come after it answer.
"""

from __future__ import annotations

import os
import secrets
import threading

from persona.adapters.builtin_child import Places, Record, _options, write_record
from tests.loopback import Exchange, WireReply
from tests.openai_style import OpenAIStyleServer
from tests.reader import FATHER


def main() -> None:
    options = _options()
    places, secret = Places(options.home), f"/{secrets.token_hex(8)}"
    alive = places.alive()  # the lock goes with the object
    alive.acquire(timeout=2)
    silent = options.home / "was.silent"

    def reply(_: object) -> WireReply:
        if silent.exists():
            return WireReply(FATHER)
        silent.touch()  # only once it is asked: who kills it before that sees the next one answer
        return WireReply(FATHER, go_on=threading.Event())

    server = OpenAIStyleServer([reply] * 100, models=[options.model.stem])
    server.routes |= {"GET /health": _fine, "GET /slots": _idle}
    server.routes = {name.replace(" ", f" {secret}"): route for name, route in server.routes.items()}
    with server:
        write_record(
            places, Record(os.getpid(), str(options.model), options.context_window, f"{server.address}{secret}")
        )
        threading.Event().wait()


def _fine(exchange: Exchange) -> None:
    exchange.json(200, {"status": "ok"})


def _idle(exchange: Exchange) -> None:
    exchange.json(200, [{"id": 0, "is_processing": False}])


if __name__ == "__main__":
    main()
