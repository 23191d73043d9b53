"""Several app processes over the same stores: many visitors, and every question is answered exactly once."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.bench.load import run, sound
from tests.postgres_server import PostgresServer


@pytest.mark.parametrize("shared", ["one folder", "servers"])
def test_two_app_processes_lose_and_double_nothing_whoever_asks_them(
    shared: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    stores = {}
    if shared == "servers":
        postgres: PostgresServer = request.getfixturevalue("postgres")
        stores = {
            "PERSONA_DATABASE": postgres.database(),
            "PERSONA_CHROMA": request.getfixturevalue("chroma_server"),
        }
    figures = run(tmp_path, visitors=20, turns=30, minutes=10, embedder="words", stores=stores)
    told = json.dumps(figures)
    assert figures["accepted"] == 30, told
    assert sound(figures), told
    assert figures["refused"] > 0, told
    assert figures["most_in_line"] <= 3, told
