"""`app`: makes ready what the first minute needs, then becomes the server of the app, from any folder."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from typing import NoReturn

from persona.cli.loading import prepare
from persona.errors import InputError
from persona.setup.bundled import app, server

_NEXT = 8600  # away from those that Streamlit takes by itself


def serve_app(port: int, browser: bool) -> NoReturn:
    """Prepare, then serve until Ctrl-C. Raises PersonaError if something cannot be prepared, or the port is taken."""
    if port and _is_taken(port):
        raise InputError(f"Port {port} is taken by another program. Name a free one, as in: persona app --port {_NEXT}")
    prepare()
    # -P: a folder that somebody works in may hold a "streamlit" of its own
    command = [sys.executable, "-P", str(server()), "run", str(app())]
    command += ["--server.port", str(port)] if port else []
    command += [] if browser else ["--server.headless", "true"]
    _become(command)


def _is_taken(port: int) -> bool:
    with suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
        return True
    return False


def _become(command: Sequence[str]) -> NoReturn:
    """Go on as this command: what was loaded to prepare is gone, and whoever ends this process ends the server."""
    sys.stdout.flush()
    sys.stderr.flush()
    if os.name == "posix":
        os.execv(command[0], list(command))  # noqa: S606 - our own interpreter
    child = subprocess.Popen(command)  # noqa: S603 - Windows has nothing like exec
    while True:
        try:
            sys.exit(child.wait())
        except KeyboardInterrupt:  # the server had it, too, and ends
            continue
