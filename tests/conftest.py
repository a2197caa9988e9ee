"""What all tests share."""

from __future__ import annotations

import importlib

import pytest
from hypothesis import settings

# Examples are small; a slow one tells of a busy machine, not of the code.
settings.register_profile("here", deadline=None)
settings.load_profile("here")

# What helpers assert is told as well as what tests do.
pytest.register_assert_rewrite("tests.conversation", "tests.workspace.notebooks.contract")


@pytest.fixture(scope="session")
def sdk() -> None:
    """The SDKs take seconds to import: not while a test waits for an answer, and not where there are tests without."""
    importlib.import_module("anthropic")
    importlib.import_module("openai")
    importlib.import_module("genai_prices")
