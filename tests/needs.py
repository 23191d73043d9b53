"""What a test needs of the machine: without it the test is skipped, or fails where everything must be there."""

import os

import pytest


def need(condition: object, reason: str) -> None:
    """Skip unless the condition holds; under PERSONA_TEST_ALL=1 fail instead, since CI installs everything."""
    if condition:
        return
    if os.environ.get("PERSONA_TEST_ALL") == "1":
        pytest.fail(f"needed here: {reason}")
    pytest.skip(reason)
