"""Files of a configuration, written for a test."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from jupyter_eca.config.trust import TrustedFolders

if TYPE_CHECKING:
    from pathlib import Path


def write(file: Path, content: str | dict[str, Any]) -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    return file


def globally(home: Path, content: str | dict[str, Any]) -> Path:
    return write(home / "eca" / "config.json", content)


def locally(project: Path, content: str | dict[str, Any]) -> Path:
    return write(project / ".eca" / "config.json", content)


def trusting(project: Path) -> TrustedFolders:
    """The trust of a user who trusts a project as it is when it is first read."""
    return TrustedFolders(project.parent / "trust.json", [project])
