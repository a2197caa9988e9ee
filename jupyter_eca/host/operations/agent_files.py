"""Owns the agents as a settings page shows them: it lists all agents with their files, and writes and removes those
that are Markdown files of the user or of the workspace.

It must not know what an agent does: `config.agents` does. Its neighbour `markdown_files` changes the files. All
functions block: they read and write files.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final, cast

from pydantic import ValidationError

from jupyter_eca.config import folders, front_matter
from jupyter_eca.config.agents import is_built_in, is_reserved
from jupyter_eca.config.editing import ConfigFiles
from jupyter_eca.config.schema import AGENT_ALIASES, AgentConfig, AgentMode
from jupyter_eca.errors import LocalError
from jupyter_eca.host.operations import markdown_files
from jupyter_eca.protocol.settings import own_files as wire

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from jupyter_eca.config import ResolvedConfig
    from jupyter_eca.config.mcp_servers import ConfigSources

# The name becomes the name of a file, and stands in rules and in the choice of agents.
_NAME: Final = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}")

_BAD_NAME: Final = "A name may have small letters, digits, hyphens and underscores, 64 at most."
_RESERVED: Final = "Rules mean something else by the name `{name}`. Choose another one."
_EXISTS: Final = "There is an agent `{name}` already. Choose another name, or change that agent."
_UNKNOWN: Final = "{file} is no file of an agent any more. Look at the list again."
_BAD_MODEL: Final = "A model must be written as PROVIDER/MODEL."


def list_agents(resolved: ResolvedConfig, sources: ConfigSources) -> wire.AgentsListResult:
    """Return all agents: those in Markdown files, then all others. `locked` of the result says why the user cannot
    define any agent; None if the user can."""
    files = ConfigFiles(sources)
    own = [_describe_file(resolved, sources, files, path) for path in _list_files(sources)]
    names_in_files = {entry.name for entry in own}
    others = [_describe_agent(resolved, files, name) for name in resolved.agents if name not in names_in_files]
    return wire.AgentsListResult(
        agents=(*own, *others), locked=resolved.config.policy.find_own_agent_refusal("") or None
    )


def write_agent(resolved: ResolvedConfig, sources: ConfigSources, params: wire.AgentsWriteParams) -> str:
    """Write an agent to a new file, or change its file. Return the file.

    Raises: LocalError for a name that cannot be used, and for an agent that the policy locks; ConfigError when the file
    exists already, has changed since the user has seen it, or cannot be written.
    """
    values: dict[str, Any] = {
        "mode": params.mode,
        "description": " ".join(params.description.split()) or None,
        "model": (params.model or "").strip() or None,
        "disabledTools": [*params.disabled_tools] or None,
    }
    if values["model"] is not None and not all(values["model"].partition("/")):
        raise LocalError(_BAD_MODEL)
    files = ConfigFiles(sources)
    if params.old is not None:
        path = _find_file(sources, files, params.old)
        _check_policy(resolved, _read_name(path))
        text, _ = markdown_files.read_file(path, sources.folders)
        front, _ = front_matter.parse_front_matter(text)
        if "defaultModel" in front:  # the same key in the spelling of the configuration
            values["defaultModel"] = values.pop("model")
        if values["mode"] == AgentMode.PRIMARY and "mode" not in front:
            del values["mode"]  # it is the default
        markdown_files.change_file(path, params.old.digest, values, params.prompt, sources.folders)
        return files.get_display_name(path)
    if not _NAME.fullmatch(params.name):
        raise LocalError(_BAD_NAME)
    if is_reserved(params.name):
        raise LocalError(_RESERVED.format(name=params.name))
    _check_policy(resolved, params.name)
    name = AGENT_ALIASES.get(params.name, params.name)
    if is_built_in(name) or name in resolved.agents or name in map(_read_name, _list_files(sources)):
        raise LocalError(_EXISTS.format(name=params.name))
    folder = sources.folders[0] / ".eca" if params.scope == "workspace" else folders.get_user_folder()
    path = folder / "agents" / f"{params.name}.md"
    new_values = {key: value for key, value in values.items() if value is not None}
    markdown_files.create_file(path, new_values, params.prompt, sources.folders)
    return files.get_display_name(path)


def remove_agent(resolved: ResolvedConfig, sources: ConfigSources, seen: wire.SeenFile) -> None:
    """Remove the file of an agent. `seen` is the file as the user has seen it: its name and its digest. Raises:
    LocalError, ConfigError, see `write_agent`."""
    path = _find_file(sources, ConfigFiles(sources), seen)
    _check_policy(resolved, _read_name(path))
    markdown_files.remove_file(path, seen.digest, sources.folders)


def _list_files(sources: ConfigSources) -> Iterator[Path]:
    """Yield the Markdown files of agents, those of the workspace first."""
    return folders.find_markdown_files(sources.folders, "agents")


def _find_file(sources: ConfigSources, files: ConfigFiles, seen: wire.SeenFile) -> Path:
    """Return the path of the file that a client names in `seen`. Raises: LocalError when no file of an agent has this
    name."""
    for path in _list_files(sources):
        if files.get_display_name(path) == seen.file:
            return path
    raise LocalError(_UNKNOWN.format(file=seen.file))


def _read_name(path: Path) -> str:
    """Return the name of the agent of a file."""
    name = path.stem.lower()
    return AGENT_ALIASES.get(name, name)


def _check_policy(resolved: ResolvedConfig, name: str) -> None:
    """Raise LocalError if the administrator's policy does not let the user define an agent."""
    if refusal := resolved.config.policy.find_own_agent_refusal(name):
        raise LocalError(refusal)


def _describe_file(resolved: ResolvedConfig, sources: ConfigSources, files: ConfigFiles, path: Path) -> wire.AgentEntry:
    """Return the agent of a Markdown file, as it is written there."""
    name = _read_name(path)
    in_workspace = folders.find_allowed_folders(path, sources.folders) is not None
    entry = wire.AgentEntry(
        name=name,
        origin=wire.AgentOrigin.PROJECT if in_workspace else wire.AgentOrigin.USER,
        files=(files.get_display_name(path),),
        held_back=any(path.is_relative_to(held.folder) for held in resolved.config.held_back),
        locked=resolved.config.policy.find_own_agent_refusal(name) or None,
    )
    try:
        text, digest = markdown_files.read_file(path, sources.folders)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        return entry.model_copy(update={"error": reason})
    try:
        written = front_matter.parse_agent(text.replace("\r\n", "\n"))
        settings = AgentConfig.model_validate(written)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        reason = f"{'.'.join(str(part) for part in first['loc'])}: {first['msg']}"
        return entry.model_copy(update={"digest": digest, "error": reason})
    except ValueError as error:
        return entry.model_copy(update={"digest": digest, "error": str(error)})
    return entry.model_copy(
        update={
            "digest": digest,
            "mode": (settings.mode or AgentMode.PRIMARY).value,
            "description": settings.description,
            "model": settings.default_model,
            "prompt": cast("str", written.get("prompt", "")),
            "disabled_tools": settings.disabled_tools or (),
        }
    )


def _describe_agent(resolved: ResolvedConfig, files: ConfigFiles, name: str) -> wire.AgentEntry:
    """Return an agent without a Markdown file."""
    agent = resolved.agents[name]
    defining = [file for key in ("behavior", "agent") for file in files.find_defining_files((key, name))]
    built_in = wire.AgentOrigin.BUILT_IN if is_built_in(name) else wire.AgentOrigin.CONFIGURATION
    return wire.AgentEntry(
        name=name,
        origin=wire.AgentOrigin.OUTSIDE if agent.outside else built_in,
        mode=agent.mode.value,
        description=agent.description,
        model=agent.default_model,
        files=tuple(map(files.get_display_name, defining)),
    )
