"""Hooks as a configuration has them, and what they were given."""

from __future__ import annotations

import json
import shlex
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.raw_client import MemoryClient


def hook(type: str, line: str, **more: Any) -> dict[str, Any]:
    return {"type": type, "actions": [{"type": "shell", "shell": line}], **more}


def says(**fields: Any) -> str:
    """A line that puts these fields out."""
    return f"echo {shlex.quote(json.dumps(fields))}"


# A line that keeps what it was given, in one write: several may run at once.
KEEPS = 'printf "%s\\n" "$(cat)" >> given.jsonl'


def given(folder: Path) -> list[dict[str, Any]]:
    file = folder / "given.jsonl"
    return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []


def blocks(at: MemoryClient) -> list[dict[str, Any]]:
    """What was shown of hooks that have ended, without what is the same of all."""
    contents = [params["content"] for params in at.params("chat/contentReceived")]
    ended = [one for one in contents if one["type"] == "hookActionFinished"]
    return [{name: one[name] for name in one if name not in {"type", "id", "actionType"}} for one in ended]
