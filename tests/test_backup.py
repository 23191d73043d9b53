"""Backups: made while the program runs, restored whole or not at all, and foreign or damaged files refused."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from sqlalchemy import func, select

from persona.adapters.backup import SAVED
from persona.adapters.database import Database
from persona.adapters.migrations import HEAD
from persona.adapters.tables import metadata, threads
from persona.adapters.workers import this_worker
from persona.errors import StoreError
from persona.records import Question, Turn, new_id, now
from tests.cli_fixture import PAID, PAID_ANSWER, Line, line, run, wired
from tests.postgres_server import PostgresServer
from tests.test_database import a_turn, load

__all__ = ["line"]
NOT_SAVED = {"tickets"}  # what is true only while processes run


@pytest.fixture
def asked(line: Line) -> Line:
    """One person, one thread of one answered question."""
    line.load()
    line.model.replies += [PAID_ANSWER]
    assert line.json("ask", "Ilse Körvin", PAID)["found"]
    return line


@pytest.fixture
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Line]:
    """Another, empty data folder; taken as that of the command line by `there`."""
    wiring, model = wired(tmp_path / "other", model="scripted")
    yield Line(wiring, model, tmp_path)
    model.assert_done()
    wiring.database.close()


def use(line: Line, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("persona.cli.session.make_wiring", lambda: line.wiring)


def everything(line: Line) -> list[object]:
    history, library = line.wiring.history, line.wiring.library
    people = library.people()
    return [people, [library.chunks(one.build) for one in people], [history.turns(t.id) for t in history.threads()]]


def test_what_is_saved_is_restored_elsewhere_and_can_be_asked(
    asked: Line, elsewhere: Line, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = asked.folder / "saved.backup"
    made = asked.json("backup", str(file))
    assert (made["people"], made["threads"], made["turns"]) == (1, 1, 1)
    assert made["bytes"] == file.stat().st_size
    assert file.stat().st_mode & 0o077 == 0, "nobody else may read it"
    assert [path.name for path in asked.folder.iterdir() if "saved" in path.name] == ["saved.backup"]
    before = everything(asked)

    use(elsewhere, monkeypatch)
    told = elsewhere.json("restore", str(file))
    assert told == {"people": 1, "threads": 1, "turns": 1, "kept": ""}
    (person,) = elsewhere.wiring.library.people()
    assert person.id == before[0][0].id  # type: ignore[index]
    assert everything(elsewhere)[2] == before[2]
    (turn,) = elsewhere.wiring.history.turns(elsewhere.wiring.history.threads()[0].id)
    assert turn.answer
    assert "forty silver crowns" in turn.answer.sources[0].text
    elsewhere.model.replies += [PAID_ANSWER]
    assert elsewhere.json("ask", person.id, PAID)["answer"] == PAID_ANSWER


def test_restoring_over_what_is_there_asks_first_and_keeps_a_backup_of_it(asked: Line) -> None:
    file = asked.folder / "saved.backup"
    asked.run("backup", str(file))
    asked.load("# Odd Tollan\n\nOdd Tollan ferried sheep across Harrow Sound.\n", "odd.md")
    refused = asked.json("restore", str(file), code=1)
    assert "Restoring replaces 2 people and 1 threads that are there. Add --yes" in refused["error"]
    assert len(asked.json("people")) == 2
    kept = asked.json("restore", str(file), "--yes")["kept"]
    assert [one["title"] for one in asked.json("people")] == ["Ilse Körvin"]
    library, store = asked.wiring.library, asked.wiring.store
    ilse = library.people()[0].build
    assert {ilse, *library.outdated(timedelta(0))} == set(store.builds()), "the next load finds what nobody needs"
    assert asked.json("restore", kept, "--yes")["people"] == 2
    assert {one["title"] for one in asked.json("people")} == {"Ilse Körvin", "Odd Tollan"}
    asked.model.replies += [PAID_ANSWER]
    assert asked.json("ask", "Ilse Körvin", PAID)["found"]


def test_a_file_that_is_there_is_replaced_only_when_told_to(asked: Line) -> None:
    file = asked.write("Dear diary", "diary.txt")
    assert "is there already" in asked.json("backup", str(file), code=1)["error"]
    assert file.read_text() == "Dear diary"
    assert asked.json("backup", str(file), "--yes")["turns"] == 1
    assert "is there already" in asked.json("backup", str(asked.folder), "--yes", code=1)["error"]
    assert "cannot be written" in asked.json("backup", str(asked.folder / "no" / "folder"), code=1)["error"]


def test_the_database_itself_is_never_replaced_by_its_backup(asked: Line) -> None:
    database = asked.wiring.settings.home / "persona.db"
    assert "is the database itself" in asked.json("backup", str(database), "--yes", code=1)["error"]
    assert len(asked.json("people")) == 1


def truncated(file: Path) -> None:
    file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])


def garbled(file: Path) -> None:
    data = bytearray(file.read_bytes())
    data[2048:] = os.urandom(len(data) - 2048)
    file.write_bytes(bytes(data))


def of_another_program(file: Path) -> None:
    file.unlink()
    with closing(sqlite3.connect(file)) as other, other:
        other.execute("CREATE TABLE recipes (name TEXT)")


def of_a_newer_version(file: Path) -> None:
    with closing(sqlite3.connect(file)) as other, other:
        other.execute("UPDATE alembic_version SET version_num = '9999'")


def without_a_table(file: Path) -> None:
    with closing(sqlite3.connect(file)) as other, other:
        other.execute("DROP TABLE chunks")


@pytest.mark.parametrize(
    ("spoil", "says"),
    [
        (lambda file: file.unlink(), "cannot be read"),
        (lambda file: file.write_text("Dear diary, " * 500), "is no backup"),
        (lambda file: file.write_bytes(b""), "is no backup"),
        (truncated, "is damaged"),
        (garbled, "is damaged"),
        (of_another_program, "of another program"),
        (of_a_newer_version, "newer version"),
        (without_a_table, "cannot be restored"),
    ],
)
def test_a_file_that_is_no_whole_backup_is_refused_and_nothing_changes(asked: Line, spoil: object, says: str) -> None:
    file = asked.folder / "saved.backup"
    asked.run("backup", str(file))
    spoil(file)  # type: ignore[operator]
    before = everything(asked)
    assert says in asked.json("restore", str(file), "--yes", code=1)["error"]
    assert everything(asked) == before
    asked.model.replies += [PAID_ANSWER]
    assert asked.json("ask", "Ilse Körvin", PAID)["found"], "its vectors are there, too"


def test_the_copy_kept_before_a_migration_can_be_restored(asked: Line) -> None:
    home = asked.wiring.settings.home
    asked.wiring.database.close()
    old = asked.folder / "persona.db.0001.copy"
    done = run(home, "backup", str(old))
    assert done.returncode == 0, done.stderr
    with closing(sqlite3.connect(old)) as other:
        assert other.execute("SELECT version_num FROM alembic_version").fetchone() == (HEAD,)
    assert asked.json("restore", str(old), "--yes")["turns"] == 1


def test_a_turn_that_ran_when_it_was_saved_is_interrupted_when_it_is_restored(asked: Line) -> None:
    history = asked.wiring.history
    (thread,) = history.threads()
    running = Turn(new_id(), thread.id, None, new_id(), Question(PAID, PAID), "running", now())
    history.add(running)
    file = asked.folder / "saved.backup"
    asked.run("backup", str(file))
    asked.run("restore", str(file), "--yes")
    restored = history.turn(running.id)
    assert restored
    assert (restored.state, restored.question.asked) == ("interrupted", PAID)
    assert "ask again" in restored.error
    with pytest.raises(StoreError):
        history.finish(Turn(new_id(), thread.id, None, new_id(), Question(PAID, PAID), "done", now()))


def test_a_backup_made_while_others_write_holds_one_moment(asked: Line) -> None:
    """Each turn's parent is the turn before: a backup with a gap would show."""
    history = asked.wiring.history
    (thread,) = history.threads()
    stop, last = threading.Event(), history.turns(thread.id)[-1].id

    def write() -> None:
        parent = last
        while not stop.is_set():
            turn = Turn(new_id(), thread.id, parent, new_id(), Question("Who?", "Who?"), "running", now())
            parent = history.add(turn).id

    writer = threading.Thread(target=write)
    writer.start()
    try:
        sizes = []
        for number in range(5):
            file = asked.folder / f"{number}.backup"
            asked.wiring.database.back_up(file)
            with closing(sqlite3.connect(file)) as copy:
                assert copy.execute("PRAGMA foreign_key_check").fetchall() == []
                numbers = [n for (n,) in copy.execute("SELECT number FROM turns ORDER BY number")]
            assert numbers == list(range(1, len(numbers) + 1))
            sizes.append(len(numbers))
    finally:
        stop.set()
        writer.join(30)
    assert sizes == sorted(sizes)
    assert sizes[-1] > sizes[0]


def test_a_disk_without_room_for_it_leaves_no_half_backup(asked: Line, monkeypatch: pytest.MonkeyPatch) -> None:
    file = asked.folder / "saved.backup"
    asked.run("backup", str(file))
    before = file.read_bytes()

    def full(*_: object) -> None:
        raise StoreError("The database does not fit on the disk any more: make room and try again.")

    monkeypatch.setattr("persona.adapters.backup._copy", full)
    assert "make room" in asked.json("backup", str(file), "--yes", code=1)["error"]
    assert file.read_bytes() == before
    assert [path.name for path in asked.folder.iterdir() if "saved" in path.name] == ["saved.backup"]


_KILLED = """
import os, signal, sys
from persona.adapters import backup
from persona.adapters.database import Database
def _die(*_):
    os.kill(os.getpid(), signal.SIGKILL)
backup._contents = _die  # all is copied, and the transaction is open
Database(sys.argv[1]).back_up(backup.Path(sys.argv[2]))
"""


def test_what_a_killed_backup_left_is_cleared_away_by_the_next_one_alone(asked: Line) -> None:
    def hidden() -> set[str]:
        return {path.name for path in asked.folder.glob(".*backup*")}

    file, url = asked.folder / "saved.backup", str(asked.wiring.settings.database_url)
    subprocess.run([sys.executable, "-c", _KILLED, url, str(file)], check=False, timeout=120)
    assert hidden(), "it was killed before it was done"
    assert not file.exists()
    at_work, elsewhere = this_worker().replace(":", ","), "another-machine,1,1"
    others = {f".persona-backup.{at_work}.id", f".persona-backup.{elsewhere}.id", ".saved.backup.of-somebody"}
    for name in others:
        (asked.folder / name).touch()
    asked.run("backup", str(asked.folder / "another.backup"))
    assert hidden() == others


def test_who_was_deleted_stays_readable_through_backup_and_restore(asked: Line) -> None:
    assert asked.run("delete", "Ilse Körvin", "--yes").exit_code == 0
    file = asked.folder / "saved.backup"
    assert asked.json("backup", str(file))["people"] == 0
    asked.run("restore", str(file), "--yes")
    (thread,) = asked.wiring.history.threads()
    (turn,) = asked.wiring.history.turns(thread.id)
    assert turn.answer
    assert turn.answer.text == PAID_ANSWER
    assert "forty silver crowns" in turn.answer.sources[0].text
    assert asked.load().person.id == thread.person, "loaded again, the person has the threads of before"


def test_every_table_is_saved_or_is_known_not_to_be() -> None:
    assert {table.name for table in metadata.tables.values()} == {table.name for table in SAVED} | NOT_SAVED


# --- a server's database ---


def test_a_server_s_database_is_saved_and_restored_here_and_there(postgres: PostgresServer, tmp_path: Path) -> None:
    server = Database(postgres.database())
    person, build = load(server)
    first = server.add(a_turn(server.start(person.id)))
    server.finish(replace(first, state="done"))
    second = server.add(a_turn(server.start(person.id)))
    contents = server.back_up(tmp_path / "saved.backup")
    assert (contents.people, contents.threads, contents.turns) == (1, 2, 2)
    for url in (f"sqlite:///{tmp_path / 'persona.db'}", postgres.database()):
        other = Database(url)
        assert other.replace_by(tmp_path / "saved.backup") == contents
        assert other.people() == [person]
        assert other.chunks(build.id) == server.chunks(build.id)
        assert other.turn(first.id) == server.turn(first.id)
        ended = other.turn(second.id)
        assert ended
        assert ended.state == "interrupted"
        assert other.replace_by(tmp_path / "saved.backup") == contents, "over what is there, too"
        other.close()
    server.close()


def test_a_server_s_database_is_read_as_of_one_moment(postgres: PostgresServer) -> None:
    """Else a backup made while others write could hold a turn without its thread."""
    database = Database(postgres.database())
    person, _ = load(database)
    with database._reading() as connection:
        before = connection.execute(select(func.count()).select_from(threads)).scalar()
        database.start(person.id)
        assert connection.execute(select(func.count()).select_from(threads)).scalar() == before
    database.close()
