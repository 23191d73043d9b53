"""Fixtures that several test files share."""

import signal

import pytest
from hypothesis import settings

from tests.builtin_fixture import builtin_address, builtin_home, builtin_model
from tests.chroma_server import chroma_server
from tests.core import _ada, ada, minilm, own_ada, place
from tests.mediawiki import mediawiki
from tests.ollama_server import ollama_server
from tests.openai_style import openai_server
from tests.postgres_server import postgres

__all__ = [
    "_ada",
    "ada",
    "builtin_address",
    "builtin_home",
    "builtin_model",
    "chroma_server",
    "mediawiki",
    "minilm",
    "ollama_server",
    "openai_server",
    "own_ada",
    "place",
    "postgres",
]

# the same examples in every run: what fails, fails everywhere
settings.register_profile("steady", derandomize=True)
settings.load_profile("steady")

# a run in the background ignores ctrl-C, and so would the processes that it starts to press it on
signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Which tests stay together when several workers share them: a file's, and all that ask the built-in model.

    Of its 2 GB there is one at a time, then. The slowest begin, so that no worker is left with them at the end.
    """
    for item in items:
        together = "builtin" if item.get_closest_marker("builtin") else item.path.stem
        item.add_marker(pytest.mark.xdist_group(together))
    slowest = ("builtin", "browser")
    items.sort(key=lambda item: [item.get_closest_marker(name) is None for name in slowest])
