"""`make chaos`, in small; and that it would notice."""

from __future__ import annotations

import json
import socket
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

from tests.chaos import Model
from tests.chaos_work import Promises, answer, check, fingerprint, page_of, question, wire
from tests.cli_fixture import ROOT


def test_nothing_is_lost_or_broken_or_needs_a_hand_after_kill_9() -> None:
    command = [sys.executable, "-m", "tests.chaos", "--kills", "6", "--seed", "3"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, timeout=300, check=False)
    figures = json.loads(done.stdout.splitlines()[-1])
    assert (figures["lost"], figures["broken"], figures["by_hand"]) == (0, 0, 0), done.stdout
    assert figures["kills"] == 6
    assert figures["questions"] > 0
    assert done.returncode == 0


def test_a_lost_turn_a_changed_answer_and_a_broken_index_would_be_noticed(tmp_path: Path) -> None:
    with Model(1) as model:
        wiring = wire(tmp_path, model.url)
        *_, loaded = wiring.ingest.load(page_of("Mara Quill", 3))
        thread = wiring.history.start(loaded.person.id).id
        *_, first = wiring.interview.ask(question("Saltwick"), thread)
        *_, second = wiring.interview.ask(question("Larksea"), thread)
        assert first.turn.answer.text == answer(question("Saltwick"))
        ended = {turn.id: fingerprint(turn) for turn in (first.turn, second.turn)}
        asked = {turn.id: turn.question.asked for turn in (first.turn, second.turn)}
        promises = Promises(asked, ended, {"Mara Quill": 3, "Tobin Ashlar": 1})
        found = check(tmp_path, model.url, promises)
        assert (found.lost, found.broken, found.by_hand) == (["Tobin Ashlar in revision 1"], [], [])
        with closing(sqlite3.connect(tmp_path / "persona.db")) as other, other:
            other.execute("PRAGMA foreign_keys = ON")
            other.execute("DELETE FROM turns WHERE id = ?", (first.turn.id,))
            other.execute(
                "UPDATE turns SET answer = replace(answer, 'herrings', 'eels') WHERE id = ?", (second.turn.id,)
            )
        wiring.store.drop(loaded.build.id)
        found = check(tmp_path, model.url, promises)
        assert [what.partition(" of turn")[0] for what in found.lost[:2]] == ["the question", "the answer"]
        assert found.broken == ["the vectors of Mara Quill"]
        assert found.by_hand == [], "it mends itself"


def test_a_client_that_is_killed_while_it_asks_is_no_fault_of_the_scripted_server() -> None:
    with Model(1) as model:
        host, _, port = model.address.removeprefix("http://").partition(":")
        with socket.create_connection((host, int(port))) as cut:
            cut.sendall(b"POST /v1/chat/completions HTTP/1.1\r\nContent-Length: 100\r\n\r\n")
            cut.shutdown(socket.SHUT_WR)
            assert cut.recv(100) == b"", "it hangs up"
        assert model.received == []
