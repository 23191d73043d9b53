"""What the tests of the command line share: a page of their own, a wiring over it, and real processes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from persona.adapters.minilm import MiniLM
from persona.cli.app import app
from persona.records import Loaded
from persona.settings import Settings
from persona.wiring import Wiring
from tests.scripted import ScriptedModel

ROOT = Path(__file__).parents[1]
ILSE = """---
description: Glassblower and inventor of the tide bell
---
# Ilse Körvin

Ilse Körvin (4 March 1811 – 19 October 1879) was a glassblower from the island of Harrow Sound. She is remembered for
the tide bell, a glass bell that rings when the sea rises.

## Early life
Körvin was born in the village of Skerry End as the third daughter of Matthias Körvin, a net mender. Her mother Dorothea
kept the village school. At the age of nine she burned her left hand on a salt pan and could not feel heat with it
from then on.

## Work
### The tide bell
She built the first tide bell in 1838 out of green bottle glass. It hung under the pier and rang at high water. The
harbor master paid her forty silver crowns for it.

### The workshop
Her workshop on Cooper Lane employed six women. It burned down in the winter of 1852 and was rebuilt in brick.

## Honors

## References
A list of books.
"""
PAID = "How much were you paid for the tide bell?"
PAID_ANSWER = "I was paid forty silver crowns for the first tide bell."
SKY = "Why is the sky blue?"


@dataclass
class Line:
    """The command line over one data folder, in this process; `model` answers from its script."""

    wiring: Wiring
    model: ScriptedModel
    folder: Path

    def run(self, *words: str, typed: str | None = None) -> Result:
        return CliRunner().invoke(app, list(words), input=typed, prog_name="persona")

    def json(self, *words: str, code: int = 0) -> Any:
        """The one document that a command prints."""
        result = self.run(*words, "--json")
        assert result.exit_code == code, result.output
        return json.loads(result.stdout)

    def load(self, text: str = ILSE, name: str = "ilse.md") -> Loaded:
        """A Markdown page, loaded without the command line."""
        from persona.adapters.markdown import read_markdown

        last = list(self.wiring.ingest.load(read_markdown(self.write(text, name))))[-1]
        assert isinstance(last, Loaded)
        return last

    def write(self, text: str = ILSE, name: str = "ilse.md") -> Path:
        (self.folder / name).write_text(text, encoding="utf-8")
        return self.folder / name


@cache
def minilm() -> MiniLM:
    """Loading it takes longer than most of these tests."""
    return MiniLM()


def wired(home: Path, **settings: Any) -> tuple[Wiring, ScriptedModel]:
    """A real wiring with SQLite, Chroma and MiniLM, and a scripted model."""
    model = ScriptedModel()
    parts = {"model": model, "rewrite_model": model, "kind": "scripted", "embedder": minilm()}
    return Wiring(Settings(home=home, **settings), **parts), model


@pytest.fixture
def line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Line]:
    """A command line whose model is scripted; the script must be finished at the end."""
    nowhere = {"wiki_api": "http://127.0.0.1:9/api.php", "ollama_host": "http://127.0.0.1:9"}
    wiring, model = wired(tmp_path / "home", model="scripted", **nowhere)
    monkeypatch.setattr("persona.cli.session.make_wiring", lambda: wiring)
    monkeypatch.setenv("PERSONA_HOME", str(tmp_path / "home"))
    yield Line(wiring, model, tmp_path)
    model.assert_done()
    wiring.database.close()


def environment(home: Path, **more: str) -> dict[str, str]:
    """Of a real process: nothing set but what is named, nothing outside of this machine, and no model that answers."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PERSONA_", "OLLAMA_"))}
    ours = {"PERSONA_HOME": str(home), "PERSONA_WIKI_API": "http://127.0.0.1:9/api.php", "NO_COLOR": "1"}
    nobody = {"PERSONA_LLM": "openai", "PERSONA_MODEL": "none", "PERSONA_OPENAI_URL": "http://127.0.0.1:9/v1"}
    return {**kept, **ours, **nobody, "PERSONA_OLLAMA_HOST": "http://127.0.0.1:9", "PYTHONPATH": str(ROOT), **more}


def command(*words: str) -> list[str]:
    """`persona WORDS` by this interpreter."""
    return [sys.executable, "-m", "persona", *words]


def run(home: Path, *words: str, typed: str = "", **more: str) -> subprocess.CompletedProcess[str]:
    """A real process, to its end."""
    return subprocess.run(
        command(*words),
        check=False,
        input=typed,
        capture_output=True,
        text=True,
        env=environment(home, **more),
        timeout=120,
        cwd=home.parent,
    )


def start(home: Path, *words: str, **more: str) -> subprocess.Popen[str]:
    """A real process with pipes."""
    pipe = subprocess.PIPE
    return subprocess.Popen(
        command(*words), stdin=pipe, stdout=pipe, stderr=pipe, text=True, env=environment(home, **more), cwd=home.parent
    )
