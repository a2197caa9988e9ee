"""The SDK takes seconds to import: not while a test waits for an answer, and not where there are tests without it."""

from __future__ import annotations

import importlib

import pytest


@pytest.fixture(scope="session")
def sdk() -> None:
    importlib.import_module("anthropic")
    importlib.import_module("openai")
    importlib.import_module("genai_prices")
