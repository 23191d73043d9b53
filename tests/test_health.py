"""The health address of the running app, in words and as JSON."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from starlette.applications import Starlette
from starlette.testclient import TestClient

from persona.errors import SettingsError
from persona.settings import keep_choice, load_settings
from persona.ui import guard, health
from persona.ui.health import Health
from tests.app_server import AppServer
from tests.cli_fixture import Line, line
from tests.ollama_server import QWEN3, OllamaServer
from tests.openai_style import OpenAIStyleServer

__all__ = ["line"]


@pytest.fixture
def watched(line: Line, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Line, TestClient]]:
    """The address over the data folder of a command line, asked as often as a test likes."""
    monkeypatch.setattr(health, "_FRESH", 0.0)
    watcher = Health(lambda _: line.wiring)
    with TestClient(Starlette(routes=watcher.routes())) as client:
        yield line, client


def states(client: TestClient, status: int = 200) -> dict[str, str]:
    reply = client.get("/health")
    assert reply.status_code == status, reply.text
    return {check["name"]: check["state"] for check in reply.json()["checks"]}


def test_all_is_told_in_words_and_as_json(watched: tuple[Line, TestClient]) -> None:
    line, client = watched
    line.load()
    told = client.get("/health").json()
    assert (told["ok"], told["state"]) == (True, "Ready to interview.")
    assert {check["name"]: check["state"] for check in told["checks"]} == dict.fromkeys(
        ("data folder", "model", "database", "vector store", "indexes"), "ok"
    )
    words = client.get("/health.txt")
    assert words.status_code == 200
    assert "✓ database: opens, 1 people" in words.text
    assert words.text.endswith("Ready to interview.\n")


def test_what_is_wrong_is_told_with_what_to_do_and_so_is_that_it_is_over(watched: tuple[Line, TestClient]) -> None:
    line, client = watched
    line.load()
    assert set(states(client).values()) == {"ok"}
    folder = line.wiring.settings.home / "chroma"
    shutil.move(folder, folder.with_name("away"))
    assert states(client)["indexes"] == "warning"
    assert "lacks those of Ilse Körvin. They are made again from the database" in client.get("/health.txt").text
    shutil.rmtree(folder)
    folder.write_text("in the way")
    assert states(client, 503)["vector store"] == "error"
    assert client.get("/health").json()["state"].startswith("Not ready")
    folder.unlink()
    shutil.move(folder.with_name("away"), folder)
    assert set(states(client).values()) == {"ok"}


def test_what_answers_now_is_told_whatever_it_was_before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(health, "_FRESH", 0.0)
    monkeypatch.setenv("PERSONA_HOME", str(tmp_path))

    def answers(client: TestClient) -> str:
        (model,) = (check for check in client.get("/health").json()["checks"] if check["name"] == "model")
        return str(model["message"])

    with (
        OllamaServer(models=()) as ollama,
        OpenAIStyleServer(models=("tiny-chat",)) as other,
        TestClient(Starlette(routes=Health().routes())) as client,
    ):
        monkeypatch.setenv("PERSONA_OLLAMA_HOST", ollama.address)
        assert QWEN3.name not in answers(client)
        ollama.models[QWEN3.name] = QWEN3
        assert answers(client).startswith(f"{QWEN3.name} on Ollama")
        monkeypatch.setenv("PERSONA_OPENAI_URL", other.url)
        keep_choice(tmp_path, "openai", "tiny-chat")
        assert answers(client).startswith("tiny-chat on the OpenAI-style server")
        keep_choice(tmp_path, "ollama", QWEN3.name)
        assert answers(client).startswith(f"{QWEN3.name} on Ollama")


def test_a_public_demo_tells_no_paths(watched: tuple[Line, TestClient], monkeypatch: pytest.MonkeyPatch) -> None:
    line, client = watched
    monkeypatch.setattr(line.wiring, "settings", line.wiring.settings.model_copy(update={"public": True}))
    assert client.get("/health").json() == {"ok": True, "state": "Ready to interview.", "checks": []}
    assert client.get("/health.txt").text == "Ready to interview.\n"


def test_a_wrong_setting_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PERSONA_LANGUAGE", "Klingon!")
    with TestClient(Starlette(routes=Health().routes())) as client:
        reply = client.get("/health")
    assert reply.status_code == 503
    assert "PERSONA_LANGUAGE" in reply.json()["checks"][0]["message"]


def test_visitors_of_a_public_demo_are_told_no_setting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PERSONA_LANGUAGE", "Klingon!")
    monkeypatch.setenv("PERSONA_PUBLIC", "1")
    with pytest.raises(SettingsError) as wrong:
        load_settings()
    assert guard.told(wrong.value) == guard.TROUBLE
    with TestClient(Starlette(routes=Health().routes())) as client:
        reply = client.get("/health")
    assert (reply.status_code, reply.json()["checks"]) == (503, [])


def test_the_running_app_has_the_address_listens_on_loopback_and_logs_its_calls(tmp_path: Path) -> None:
    with OpenAIStyleServer() as server:
        settings = {
            "PERSONA_HOME": str(tmp_path / "home"),
            "PERSONA_LLM": "openai",
            "PERSONA_OPENAI_URL": server.url,
            "PERSONA_WIKI_API": "http://127.0.0.1:9/api.php",
        }
        with AppServer(tmp_path / "app.log", **settings) as app:
            reply = httpx.get(f"{app.url}/health", timeout=60)
            assert (reply.status_code, reply.json()["ok"]) == (200, True), reply.text
            assert httpx.get(f"{app.url}/health.txt", timeout=60).text.endswith("Ready to interview.\n")
            assert listening(app.port) == {"127.0.0.1"}
            assert "to=openai call=models" in (tmp_path / "app.log").read_text()


def listening(port: int) -> set[str]:
    """The addresses on which this machine takes connections at that port."""
    found = set()
    for file in ("/proc/net/tcp", "/proc/net/tcp6"):
        for row in Path(file).read_text().splitlines()[1:]:
            address, state = row.split()[1], row.split()[3]
            host, _, number = address.partition(":")
            if state == "0A" and int(number, 16) == port:
                found.add(".".join(str(byte) for byte in bytes.fromhex(host)[::-1]))
    return found
