"""A vendor that looks at keys, and a machine that has none. The SDK takes seconds to import: not while a test waits for
an answer, and not where there are tests without it."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

import pytest

from tests.plugins.providers.ask import KEY, says
from tests.support.anthropic_server import LoopbackAnthropic

if TYPE_CHECKING:
    from collections.abc import Generator
    from pathlib import Path


@pytest.fixture(scope="session")
def sdk() -> None:
    importlib.import_module("anthropic")
    importlib.import_module("genai_prices")


@pytest.fixture
def keyless(monkeypatch: pytest.MonkeyPatch, system_keyring: Path) -> None:  # noqa: ARG001  # it is there
    """No key but those that are typed in, and these go to a keyring."""
    for name in ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_BASE_URL"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def vendor() -> Generator[LoopbackAnthropic]:
    with LoopbackAnthropic(says("Hi"), key=KEY) as server:
        yield server
