"""Owns changes that MCP clients make to the project's configuration file, `.eca/config.json`. Comments in the file are
kept.

It must not know what the settings mean: the offers in `offers/` choose them.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from jupyter_eca.config import jsonc
from jupyter_eca.errors import ConfigError, ToolError
from jupyter_eca.workspace.files import text_file

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from jupyter_eca.host.host import Host

Place = tuple[str, ...]
"""The place of a setting: the keys that lead to it, such as ("providers", "openai", "models")."""


async def change(host: Host, changes: Mapping[Place, Any]) -> str:
    """Change settings in the file, and return its path. The host notices the change and reads the file again.

    Raises: ToolError when the file cannot be changed.
    """
    files = host.workspace.files
    path = files.resolve(".eca/config.json")
    name = files.shorten(path)
    try:
        await host.folder_trust.keep_trust_during(partial(_write, path, name, changes))
    except (OSError, ConfigError) as error:
        raise ToolError(f"{name} cannot be changed: {error}.") from error
    return name


def _write(path: Path, name: str, changes: Mapping[Place, Any]) -> None:
    """Write the changed file, or a new one. `name` is its path in errors."""
    text = text_file.read(path, name) if path.exists() else ""
    for place, value in changes.items():
        text = jsonc.put(text, place, value)
    path.parent.mkdir(parents=True, exist_ok=True)
    text_file.write(path, name, text)
