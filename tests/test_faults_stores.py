"""Stores that fail: vectors lost or damaged, and a database that is locked, full, read-only, older or newer.

Each is broken for real, under a running program, which then goes on without a restart.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
import threading
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path

import numpy as np
import pytest

from persona.adapters import sqlite
from persona.adapters.chroma import Chroma
from persona.adapters.migrations import HEAD
from persona.errors import MissingBuild, StoreError
from persona.records import Turn
from persona.wiring import Wiring
from tests.chroma_server import ChromaServer
from tests.cli_fixture import Line, line
from tests.core import WordEmbedder
from tests.loopback import WireReply
from tests.needs import need
from tests.openai_style import OpenAIStyleServer
from tests.postgres_server import PostgresServer
from tests.reader import FATHER, FATHER_ASKED, Reader, reader_of, wait_for

__all__ = ["line"]


@pytest.fixture
def server() -> Iterator[OpenAIStyleServer]:
    with OpenAIStyleServer() as made:
        yield made


@pytest.fixture
def reader(tmp_path: Path, server: OpenAIStyleServer) -> Reader:
    """One question is answered already."""
    made = reader_of(tmp_path, server.url)
    server.replies += [FATHER]
    assert made.ask().answer
    return made


def assert_answered(reader: Reader, server: OpenAIStyleServer, earlier: list[Turn]) -> None:
    """The next question is answered by the same process, and what was there before is as it was."""
    server.replies += [FATHER]
    turn = reader.ask()
    assert turn.answer, turn.error
    assert turn.answer.text == FATHER
    assert [one for one in reader.turns() if one.id != turn.id] == earlier


# --- vectors ---


def test_a_vector_folder_that_is_moved_away_is_made_again_within_the_next_turn(
    reader: Reader, server: OpenAIStyleServer, tmp_path: Path
) -> None:
    before = reader.turns()
    shutil.move(tmp_path / "chroma", tmp_path / "chroma.away")
    assert_answered(reader, server, before)
    assert reader.load("2").embedded == 0, "its vectors are whole"


def test_a_damaged_vector_folder_is_a_sentence_and_moved_away_it_is_made_again(
    reader: Reader, server: OpenAIStyleServer, tmp_path: Path
) -> None:
    file = tmp_path / "chroma" / "chroma.sqlite3"
    file.write_bytes(b"\xff" * file.stat().st_size)
    for _ in range(2):  # the second time from a client of its own
        turn = reader.ask()
        assert (turn.state, turn.question.asked) == ("failed", FATHER_ASKED)
        assert "move that folder away: the indexes are made again" in turn.error
    with pytest.raises(StoreError, match="move that folder away"):
        reader.load("2")
    before = reader.turns()
    shutil.move(tmp_path / "chroma", tmp_path / "chroma.damaged")
    assert_answered(reader, server, before)
    assert reader.load("2").embedded == 0


def test_an_index_whose_files_are_damaged_counts_as_lost(tmp_path: Path) -> None:
    """Chroma keeps small collections in its database; files come with a thousand vectors."""
    store, count = Chroma(str(tmp_path)), 1100
    vectors = np.random.default_rng(1).normal(size=(count, 8)).astype(np.float32)
    store.create("one", [str(n) for n in range(count)], vectors, [{"kind": "chunk"}] * count)
    store.nearest("one", vectors[0], 1, {})
    files = list(tmp_path.rglob("*.bin"))
    assert files
    copied = tmp_path.with_name("copied")
    shutil.copytree(tmp_path, copied)
    for file in copied.rglob("*.bin"):
        file.write_bytes(b"\xff" * file.stat().st_size)
    damaged = Chroma(str(copied))
    with pytest.raises(MissingBuild):
        damaged.nearest("one", vectors[0], 1, {})
    assert damaged.vectors("one") == {}, "a load embeds all again"
    damaged.create("two", ["a"], vectors[:1], [{"kind": "chunk"}])
    assert damaged.nearest("two", vectors[0], 1, {})[0].chunk == "a"


class OtherEmbedder(WordEmbedder):
    name = "other-32"
    dimension = 32


def test_an_index_of_another_embedder_is_a_sentence_and_loading_again_makes_it_good(
    reader: Reader, server: OpenAIStyleServer
) -> None:
    before = reader.turns()
    reader.use(Wiring(reader.wiring.settings, embedder=OtherEmbedder()))
    turn = reader.ask()
    assert (turn.state, turn.question.asked) == ("failed", FATHER_ASKED)
    assert "was indexed with the embedder words-64, and now other-32 is set. Load the page again" in turn.error
    assert reader.turns() == [*before, turn]
    assert reader.load().embedded == 10
    assert_answered(reader, server, [*before, turn])


def test_a_vector_server_that_goes_away_is_a_sentence_and_back_it_is_used_again(
    tmp_path: Path, server: OpenAIStyleServer
) -> None:
    with ChromaServer(tmp_path) as vectors:
        reader = reader_of(tmp_path, server.url, chroma=vectors.address)
        server.replies += [FATHER]
        assert reader.ask().answer
        vectors.stop()
        turn = reader.ask()
        assert (turn.state, turn.question.asked) == ("failed", FATHER_ASKED)
        assert "PERSONA_CHROMA" in turn.error
        before = reader.turns()
        vectors.start()
        assert_answered(reader, server, before)
        assert reader.load("2").embedded == 0


# --- the database ---


def test_a_database_server_that_goes_away_is_a_sentence_and_back_it_is_used_again(
    tmp_path: Path, server: OpenAIStyleServer, postgres: PostgresServer
) -> None:
    reader = reader_of(tmp_path, server.url, database=postgres.database())
    server.replies += [FATHER]
    assert reader.ask().answer
    before = reader.turns()
    postgres.stop()
    try:
        with pytest.raises(StoreError, match="PERSONA_DATABASE"):
            reader.submit()
    finally:
        postgres.start()
    assert_answered(reader, server, before)

    before = reader.turns()
    postgres.stop()
    postgres.start()
    assert_answered(reader, server, before)  # a restart that nobody met is noticed by nobody


@pytest.fixture
def hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    """Patience for a lock is twenty seconds, which a test has not."""
    monkeypatch.setattr(sqlite, "BUSY_SECONDS", 0.3)
    monkeypatch.setattr("persona.runner._AGAIN", 0.1)


def test_a_database_locked_in_mid_turn_ends_the_turn_when_the_lock_is_gone(
    hasty: None, tmp_path: Path, server: OpenAIStyleServer
) -> None:
    reader = reader_of(tmp_path, server.url)
    go_on = threading.Event()
    server.replies += [WireReply(FATHER, go_on=go_on)]
    id_ = reader.submit()
    wait_for(lambda: server.chats)
    with closing(sqlite3.connect(tmp_path / "persona.db", isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        go_on.set()
        with pytest.raises(StoreError, match="locked by another program: wait until that one is done"):
            reader.submit("Did you ever marry?")
        assert [turn.id for turn in reader.turns()] == [id_], "what is stored can be read meanwhile"
        threading.Event().wait(0.6)  # the end of the turn meets the lock
        other.execute("ROLLBACK")
    turn = reader.ended(id_)
    assert (turn.state, turn.question.asked, turn.partial) == ("failed", FATHER_ASKED, FATHER)
    assert "locked by another program" in turn.error
    assert_answered(reader, server, [turn])


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of two megabytes."""
    need(hasattr(os, "geteuid") and os.geteuid() == 0 and shutil.which("mount"), "only root can mount a small disk")
    folder = tmp_path / "disk"
    folder.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", str(folder)], capture_output=True, text=True, check=False
    )
    need(not mounted.returncode, f"root may not mount a small disk here: {mounted.stderr.strip()}")
    yield folder
    subprocess.run(["umount", "--lazy", str(folder)], check=True)


@pytest.fixture
def cramped(small_disk: Path, hasty: None, tmp_path: Path, server: OpenAIStyleServer) -> Reader:
    """Somebody whose database is on the small disk."""
    made = reader_of(tmp_path, server.url, database=f"sqlite:///{small_disk / 'persona.db'}")
    server.replies += [FATHER]
    assert made.ask().answer
    return made


def fill(disk: Path) -> Path:
    """A file that takes what room there is."""
    ballast = disk / "ballast"
    with ballast.open("wb", buffering=0) as file, suppress(OSError):
        while True:
            file.write(b"\0" * 4096)
    return ballast


def ask_until_it_fails(reader: Reader, server: OpenAIStyleServer, asked: list[Turn]) -> None:
    """A page or two may be free within the database's file."""
    while True:
        server.replies = [FATHER]
        asked.append(reader.ask())


def test_a_full_disk_is_a_sentence_and_with_room_again_the_program_goes_on(
    cramped: Reader, server: OpenAIStyleServer, small_disk: Path
) -> None:
    before = cramped.turns()
    ballast = fill(small_disk)
    with pytest.raises(StoreError, match="does not fit on the disk any more: make room"):
        ask_until_it_fails(cramped, server, before)
    with pytest.raises(StoreError, match="make room"):
        cramped.load("2")
    assert cramped.turns() == before
    ballast.unlink()
    server.replies = []
    assert_answered(cramped, server, before)
    assert cramped.load("2").person.revision == "2"


def test_a_disk_that_fills_up_in_mid_turn_ends_the_turn_once_there_is_room(
    cramped: Reader, server: OpenAIStyleServer, small_disk: Path
) -> None:
    before, go_on = cramped.turns(), threading.Event()
    server.replies += [WireReply(FATHER, go_on=go_on)]
    id_ = cramped.submit("Who was your father, and what was he?")
    wait_for(lambda: len(server.chats) == 2)
    ballast = fill(small_disk)
    go_on.set()
    threading.Event().wait(0.5)
    assert id_ in cramped.runner.running(), "its end is not stored, so it has not ended"
    ballast.unlink()
    turn = cramped.ended(id_)
    assert turn.state in {"failed", "done"}
    assert turn.question.asked == "Who was your father, and what was he?"
    assert_answered(cramped, server, [*before, turn])


def test_a_read_only_database_shows_everything_and_says_why_nothing_can_be_asked(
    cramped: Reader, server: OpenAIStyleServer, small_disk: Path
) -> None:
    before = cramped.turns()

    def remount(how: str) -> None:
        subprocess.run(["mount", "-o", f"remount,{how}", str(small_disk)], check=True)

    cramped.wiring.database.close()  # a disk with a file open for writing cannot be made read-only
    remount("ro")
    start = Wiring(cramped.wiring.settings)
    try:
        assert [person.title for person in start.library.people()] == ["Ada Marsh"]
        assert start.history.turns(cramped.thread) == before
        with pytest.raises(StoreError, match=r"may only be read.*PERSONA_DATABASE"):
            start.history.start(cramped.person)
        with pytest.raises(StoreError, match="PERSONA_DATABASE"):
            cramped.submit()
    finally:
        start.database.close()
        cramped.wiring.database.close()
        remount("rw")
    assert_answered(cramped, server, before)


def test_a_database_of_a_newer_version_is_refused_by_every_command(line: Line) -> None:
    line.load()
    line.wiring.database.close()
    home = line.wiring.settings.home
    with closing(sqlite3.connect(home / "persona.db")) as other, other:
        other.execute("UPDATE alembic_version SET version_num = '9999'")
    del line.wiring.__dict__["database"], line.wiring.__dict__["library"]
    refused = line.run("people")
    assert refused.exit_code == 1
    assert "A newer version of persona has written this database" in refused.output
    checks = {check["name"]: check for check in line.json("doctor", code=1)["checks"]}
    assert checks["database"]["state"] == "error"
    with closing(sqlite3.connect(home / "persona.db")) as other, other:
        assert other.execute("SELECT count(*) FROM people").fetchone() == (1,)
        other.execute("UPDATE alembic_version SET version_num = ?", (HEAD,))
    assert [one["title"] for one in line.json("people")] == ["Ilse Körvin"]
