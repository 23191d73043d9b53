"""Fixtures that several test files share."""

from tests.ollama_server import ollama_server
from tests.openai_style import openai_server

__all__ = ["ollama_server", "openai_server"]
