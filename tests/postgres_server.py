"""Debian's PostgreSQL on a free port of loopback, with a folder of its own; nothing of the machine's is touched."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import psycopg
import pytest

from tests.needs import need


class PostgresServer:
    """Runs while the context lasts. Started by root it runs as postgres, since it refuses to be root."""

    def __init__(self, binaries: Path) -> None:
        self._binaries = binaries
        self._user = "postgres" if os.geteuid() == 0 else None
        self._numbers = count(1)

    def __enter__(self) -> PostgresServer:
        self._folder = Path(tempfile.mkdtemp(prefix="persona-postgres-"))
        if self._user:
            shutil.chown(self._folder, self._user)
        self._run("initdb", "--auth=trust", "--username=persona", "--encoding=UTF8", "--no-sync").wait(60)
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self._port = int(probe.getsockname()[1])
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()
        shutil.rmtree(self._folder, ignore_errors=True)

    def start(self) -> None:
        """Returns when it answers; at the same address each time."""
        # with a host's name it would open a socket file elsewhere; without fsync a test's data is lost with the machine
        given = ("listen_addresses=127.0.0.1", "unix_socket_directories=", "fsync=off", "max_connections=100")
        self._server = self._run("postgres", "-p", str(self._port), *(word for one in given for word in ("-c", one)))
        self._wait()

    def stop(self) -> None:
        """Close all connections and end."""
        self._server.send_signal(signal.SIGINT)
        self._server.wait(30)

    def database(self) -> str:
        """SQLAlchemy's URL of a new, empty database."""
        name = f"test_{next(self._numbers)}"
        with psycopg.connect(self._address("postgres"), autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {name} STRATEGY file_copy".encode())
        return f"postgresql://persona@127.0.0.1:{self._port}/{name}"

    def _address(self, database: str) -> str:
        return f"host=127.0.0.1 port={self._port} user=persona dbname={database}"

    def _run(self, program: str, *words: str) -> subprocess.Popen[bytes]:
        command = [str(self._binaries / program), "-D", str(self._folder / "data"), *words]
        with (self._folder / "log.txt").open("ab") as log:
            return subprocess.Popen(
                command, user=self._user, cwd=self._folder, stdout=log, stderr=log, start_new_session=True
            )

    def _wait(self) -> None:
        deadline = time.monotonic() + 60
        while True:
            try:
                psycopg.connect(self._address("postgres"), connect_timeout=5).close()
            except psycopg.OperationalError:
                told = (self._folder / "log.txt").read_text()
                assert self._server.poll() is None, told
                assert time.monotonic() < deadline, told
                time.sleep(0.1)
            else:
                return


def _binaries() -> Path | None:
    """Debian keeps the server's programs out of the path."""
    found = shutil.which("postgres")
    places = [Path(found).parent] if found else sorted(Path("/usr/lib/postgresql").glob("*/bin"))
    return next((place for place in reversed(places) if (place / "initdb").exists()), None)


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    """One server for all tests; each takes a database of its own."""
    binaries = _binaries()
    need(binaries, "no PostgreSQL server on this machine (Debian: apt-get install postgresql)")
    assert binaries
    with PostgresServer(binaries) as server:
        yield server
