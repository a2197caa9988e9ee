"""A project and its user, whose own folder is beside it."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(scope="session")
def sdk() -> None:
    """It takes seconds to import: not while a test waits for an answer."""
    importlib.import_module("anthropic")
    importlib.import_module("genai_prices")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "above" / "project"
    folder.mkdir(parents=True)
    return folder


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The user's folder of ECA's."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    (tmp_path / "config" / "eca").mkdir(parents=True)
    return tmp_path / "config" / "eca"
