"""The real built-in model for tests: its file is joined once a machine, its child runs once a test session."""

import os
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest
from platformdirs import user_cache_path

from persona.adapters.builtin import BuiltinServer
from persona.adapters.builtin_model import QWEN_CODER
from tests.needs import need


def _models() -> Path:
    """Where the joined file stays from run to run: PERSONA_TEST_MODELS, else the user's cache."""
    return Path(os.environ.get("PERSONA_TEST_MODELS") or user_cache_path("persona-tests", appauthor=False) / "models")


@pytest.fixture(scope="session")
def builtin_model() -> Path:
    """The built-in model's file."""
    need(find_spec("xllamacpp") and not QWEN_CODER.missing(), "the extra [builtin] is not installed")
    file = _models() / QWEN_CODER.name
    for _ in QWEN_CODER.join(file):
        pass
    return file


@pytest.fixture(scope="session")
def builtin_home(builtin_model: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data folder that has the built-in model's file."""
    home = tmp_path_factory.mktemp("builtin")
    (home / "models").symlink_to(builtin_model.parent)
    return home


@pytest.fixture(scope="session")
def builtin_address(builtin_home: Path) -> Iterator[str]:
    """The address, with /v1, of the built-in model, window 8192; it is ended with the session."""
    server = BuiltinServer(builtin_home, "", context_window=8192, idle_minutes=20)
    yield server.address()
    server.stop()
