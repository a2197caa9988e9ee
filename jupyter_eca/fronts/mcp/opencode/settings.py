"""Owns changes to the configuration of a project of OpenCode, another coding agent.

OpenCode's own `PATCH /config` writes a file `config.json`. OpenCode never reads this file, and it may belong to another
program. So we change the project's configuration file ourselves, keep its comments, and then ask OpenCode which values
are in force. This module must not know what a setting means: `offers/config.py` does.
"""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, cast

from jupyter_eca.config import jsonc
from jupyter_eca.errors import ConfigError, ToolError
from jupyter_eca.fronts.mcp.offers_base import RefusedCall
from jupyter_eca.workspace.files import text_file

if TYPE_CHECKING:
    from collections.abc import Mapping

    from jupyter_eca.fronts.mcp.opencode.api import OpenCodeApi
    from jupyter_eca.fronts.mcp.opencode.backend import Folder

Place = tuple[str, ...]
"""The place of a setting: the keys that lead to it, such as ("provider", "openai", "options")."""

# The files of a project that OpenCode reads. If several exist, the last of them overrides the others.
_FILES: Final = ("opencode.json", "opencode.jsonc", ".opencode/opencode.json", ".opencode/opencode.jsonc")


async def change(api: OpenCodeApi, folder: Folder, changes: Mapping[Place, Any]) -> tuple[str, dict[str, Any]]:
    """Change settings of the project. Return the path of the file that was changed, and the configuration that is in
    force now. The values are written as they are: None is written as `null` and removes no setting.

    Raises: RefusedCall when the file cannot be changed, or when OpenCode still uses other values after the change.
    """
    if not api.is_local:
        raise RefusedCall(
            "The OpenCode server is on another machine, whose files cannot be changed.",
            "Change the configuration there.",
        )
    if busy := await api.get("/session/status", directory=folder.path):
        raise RefusedCall(
            f"OpenCode is working in {', '.join(busy)}, which a change of the configuration would end.",
            "Call this tool again when the work is done, or stop it with opencode_session_abort.",
        )
    try:
        file = await asyncio.to_thread(_write, Path(folder.path), changes)
    except (OSError, ConfigError, ToolError) as error:
        raise RefusedCall(f"The configuration cannot be changed: {error}", "Repair the file.") from error
    # OpenCode reads the file again when it next needs this folder.
    await api.post("/instance/dispose", directory=folder.path)
    config: dict[str, Any] = await api.get("/config", directory=folder.path)
    different = [".".join(place) for place, value in changes.items() if read_place(config, place) != value]
    if different:
        raise RefusedCall(
            f"{file} was changed, but OpenCode uses other values for: {', '.join(different)}.",
            "Look at opencode_config_get: another file or an environment variable wins.",
        )
    return str(file), config


def read_place(config: Any, place: Place) -> Any:
    """Return the value at a place of a configuration; None if there is no value."""
    for name in place:
        config = cast("dict[str, Any]", config).get(name) if isinstance(config, dict) else None
    return config


def _write(folder: Path, changes: Mapping[Place, Any]) -> Path:
    """Change the configuration file of the project that overrides the others, or write a new one. Return its path."""
    file = next((folder / name for name in reversed(_FILES) if (folder / name).exists()), folder / _FILES[0])
    text = text_file.read(file, file.name) if file.exists() else ""
    for place, value in changes.items():
        text = jsonc.put(text, place, value)
    text_file.write(file, file.name, text)
    return file
