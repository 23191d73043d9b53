"""The command line beside a running app, on one data folder: both see each load at once, and share one model process."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import httpx
import pytest

from persona.adapters.builtin import BuiltinServer
from persona.adapters.builtin_child import Places, read_record
from persona.records import new_id
from tests.cli_fixture import ROOT, environment
from tests.core import ADA
from tests.needs import need
from tests.reader import FATHER, FATHER_ASKED, wait_for

PAGE = "# Ada Marsh\n\n" + "\n\n".join(
    text if path == "Introduction" else f"## {path.rpartition(' / ')[2]}\n\n{text}" for path, text in ADA.items()
)


class Folder:
    """One data folder, an app process on it, and the command line."""

    def __init__(self, home: Path) -> None:
        need(find_spec("xllamacpp"), "the built-in model's runner is not installed")
        home.mkdir()
        self.home, self.gguf = home, home / "none.gguf"
        self.gguf.touch()
        (home / "was.silent").touch()  # the stand-in answers from the first call on
        self.env = environment(home, PERSONA_LLM="builtin", PERSONA_MODEL=str(self.gguf), PYTHONPATH=str(ROOT))
        self.seen: set[int] = set()

    def command(self, *words: str) -> list[str]:
        return [sys.executable, "-m", "tests.weightless", *words]

    def persona(self, *words: str, code: int = 0) -> Any:
        """What a command prints as JSON."""
        command = self.command(*words, "--json")
        done = subprocess.run(
            command, env=self.env, cwd=self.home, capture_output=True, text=True, timeout=240, check=False
        )
        assert done.returncode == code, done.stderr + done.stdout
        self.note_model()
        return json.loads(done.stdout)

    def write(self, edition: int) -> None:
        (self.home / "ada.md").write_text(f"{PAGE}\n\n## Edition\n\nThis is edition {edition}.\n", "utf-8")

    def start_app(self) -> None:
        with (self.home / "app.log").open("wb") as log:
            self.app = subprocess.Popen(self.command("app"), env=self.env, cwd=ROOT, stdout=subprocess.PIPE, stderr=log)
        assert self.app.stdout
        self.client = httpx.Client(
            base_url=f"http://127.0.0.1:{json.loads(self.app.stdout.readline())['port']}", timeout=240
        )

    def ask_app(self, person: str) -> dict[str, Any]:
        """A question in a new thread, to its end."""
        asked = {"person": person, "thread": new_id(), "parent": None, "request_id": new_id()}
        reply = self.client.post("/ask", json={**asked, "question": FATHER_ASKED})
        assert reply.status_code == 200, reply.text
        look = f"/turn/{reply.json()['turn']}"
        wait_for(lambda: self.client.get(look).json()["state"] != "running", 240)
        self.note_model()
        told: dict[str, Any] = self.client.get(look).json()
        return told

    def note_model(self) -> None:
        """Which process is the model's; and that it is the only one of this folder."""
        running = [
            int(entry.name)
            for entry in Path("/proc").iterdir()
            if entry.name.isdigit()
            and str(self.home) in _command_line(entry)
            and "fake_builtin" in _command_line(entry)
        ]
        assert len(running) <= 1
        record = read_record(Places(self.home))
        if record:
            assert running == [record.pid]
            self.seen.add(record.pid)

    def stop(self) -> None:
        if hasattr(self, "app"):
            self.app.kill()
            self.app.wait()
            self.client.close()
        BuiltinServer(self.home, str(self.gguf), 8192, 10).stop()


def _command_line(process: Path) -> str:
    try:
        return (process / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
    except OSError:
        return ""


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Folder]:
    made = Folder(tmp_path / "home")
    yield made
    made.stop()


def test_the_app_answers_from_each_load_of_the_command_line_at_once_and_both_share_one_model(folder: Folder) -> None:
    folder.write(1)
    first = folder.persona("load", "ada.md")
    folder.start_app()
    told = folder.ask_app(first["person"])
    assert (told["answer"], told["revisions"]) == (FATHER, [first["revision"]])

    folder.write(2)
    second = folder.persona("load", "ada.md")
    assert second["person"] == first["person"]
    assert second["revision"] != first["revision"]
    assert folder.ask_app(first["person"])["revisions"] == [second["revision"]]
    asked = folder.persona("ask", "Ada Marsh", FATHER_ASKED)
    assert asked["answer"] == FATHER
    assert {source["revision"] for source in asked["sources"]} == {second["revision"]}

    folder.persona("delete", "Ada Marsh", "--yes")
    gone = folder.ask_app(first["person"])
    assert (gone["state"], gone["answer"]) == ("failed", "")
    assert "no longer loaded" in gone["error"]

    third = folder.persona("load", "ada.md")
    assert folder.ask_app(third["person"])["revisions"] == [third["revision"]]
    assert len(folder.seen) == 1
