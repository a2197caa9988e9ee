"""Finds files, folders and programs that the configuration names and that do not exist: scripts of hooks, rules,
skills, commands, folders of the sandbox, outside agents, trusted folders.

It must not read them. `models` has the files of models, and `mcp_servers` the programs of MCP servers.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

from jupyter_eca.config.trust.trusted_folders import VARIABLE

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from jupyter_eca.config import Config, ResolvedConfig
    from jupyter_eca.config.hooks import Hook


def find_missing_files(
    resolved: ResolvedConfig, folders: Sequence[Path], environment: Mapping[str, str]
) -> Iterator[str]:
    """Yield a sentence for each file that does not exist. Blocks: it looks at the disk. `folders` are the folders of
    the workspace, and `environment` has the environment variables by name."""
    config = resolved.config
    for hook in resolved.hooks:
        for file in (action.file for action in hook.actions):
            if file and not _is_found(hook, file, folders):
                yield f"The hook {hook.name!r} has the script {file!r}, which does not exist. Correct the path."
    for key, path in _list_paths(config):
        if not any(_exists(folder / Path(path).expanduser()) for folder in folders or (Path(),)):
            yield f"`{key}` names {path!r}, which does not exist. Correct the path, or remove it."
    sandbox = config.tool_call.sandbox
    for path in sandbox.writable:
        if not _exists(Path(path).expanduser()):
            yield (
                f"`toolCall.sandbox.writable` names {path!r}, which does not exist, so no command can write there. "
                "Make the folder, or correct the path."
            )
    for name, agent in config.acp_agents.items():
        if agent.command and not agent.disabled and shutil.which(str(Path(agent.command).expanduser())) is None:
            yield (
                f"The outside agent {name!r} cannot start: its program {agent.command!r} was not found. Install it, or "
                "write its whole path."
            )
    # `VARIABLE` names folders whose settings are trusted without a question.
    for folder in environment.get(VARIABLE, "").split(os.pathsep):
        if folder and not _exists(Path(folder).expanduser()):
            yield f"`{VARIABLE}` names {folder}, which does not exist, so it trusts nothing. Correct the path."


def _list_paths(config: Config) -> Iterator[tuple[str, str]]:
    """Yield the keys that name files of the user, with the paths."""
    yield from (("rules", rule.path) for rule in config.rules)
    yield from (("skills", skill.path) for skill in config.skills)
    yield from (("commands", command.path) for command in config.commands)


def _is_found(hook: Hook, file: str, folders: Sequence[Path]) -> bool:
    """Return whether the script of a hook is in the folder of its configuration file, or in the workspace."""
    places = (*((Path(hook.folder),) if hook.folder else ()), *folders[:1])
    return any(_exists(place / Path(file).expanduser()) for place in places)


def _exists(path: Path) -> bool:
    """Return whether there is something at a path. A path that cannot be looked up counts as missing."""
    try:
        return path.exists()
    except OSError:
        return False
