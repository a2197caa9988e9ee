"""Trust in the folder of a test, as whoever starts a program gives it. There is no way to trust all folders."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jupyter_eca.config.trust import trusted_folders

if TYPE_CHECKING:
    from pathlib import Path

    import pytest


def trust_folder(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    """Trust the folder as it is when a program of the test first reads it."""
    monkeypatch.setenv(trusted_folders.VARIABLE, str(folder))
