"""Finds the files that a tool call names on the disk, with all links followed. It also lists the protected paths: the
configuration and the data of the assistant and of Jupyter.

It must not decide about the call: `engine.approval.policy` does, by the `CallTargets` that this module returns.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jupyter_eca.config.folders import expand_home, get_user_folder
from jupyter_eca.config.trust.scripts import find_scripts
from jupyter_eca.engine.approval.call_targets import CallTargets, find_targets, names_notebook
from jupyter_eca.engine.approval.path_resolver import PathResolver
from jupyter_eca.engine.approval.protected_paths import FILES, FOLDERS
from jupyter_eca.instructions.agents_md import list_files_to_protect
from jupyter_eca.protocol.content import Origin
from jupyter_eca.workspace.files.git_folder import find_git_folder
from jupyter_eca.workspace.files.read_threads import run_read
from jupyter_eca.workspace.git_programs import find_git_program
from jupyter_eca.workspace.paths import find_database, get_jupyter_folders

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from jupyter_eca.config import Config
    from jupyter_eca.engine.model.request import ToolSpec
    from jupyter_eca.plugins.tools.base import Tool, ToolContext
    from jupyter_eca.protocol.content import ToolCallDetails
    from jupyter_eca.workspace.ports import Files


async def find_default_notebook(context: ToolContext, tool: Tool, arguments: Mapping[str, Any]) -> str:
    """Return the path of the notebook that a call means without naming it; "" for none."""
    if tool.default_notebook is None or names_notebook(arguments):
        return ""
    return await tool.default_notebook(context)


async def find_call_targets(
    files: Files,
    config: Config,
    tool: ToolSpec,
    arguments: Mapping[str, Any],
    notebook: str = "",
    details: ToolCallDetails | None = None,
) -> CallTargets:
    """Return the files that a call names. `files` are those of the chat: relative paths start in its working directory.
    `notebook` is the path of the notebook that the call means without naming it, in the form of Jupyter's contents.
    `details` are those that its card shows.

    Raises: ToolError when the disk does not answer in time.
    """
    notebook_path = str(files.roots[0] / notebook) if notebook else ""
    # A path that is left out, and has a default, names the same files as the default.
    named = {**_find_default_paths(tool), **arguments}

    def find() -> CallTargets:
        """Read the disk in a thread, and return the targets."""
        return find_targets(tool, named, _make_resolver(files, config), notebook_path, details)

    return await run_read(find)


def _find_default_paths(tool: ToolSpec) -> dict[str, Any]:
    """Return the defaults of those arguments of one of our tools that name files or folders."""
    schemas: dict[str, Any] = tool.parameters.get("properties", {}) if tool.origin is Origin.NATIVE else {}
    return {name: schemas[name]["default"] for name in tool.paths if "default" in schemas.get(name, {})}


async def find_protected(files: Files, config: Config, paths: Iterable[Path]) -> str:
    """Return the first of these absolute paths that is protected, or is a folder with a protected path; "" if there is
    none. A change of it could change what runs without approval.

    Raises: ToolError when the disk does not answer in time.
    """

    def find() -> str:
        """Read the disk in a thread, and return the path."""
        resolver = _make_resolver(files, config)
        forms = ((path, form) for path in paths for form in (path.as_posix(), *resolver.resolve(str(path), "")))
        return next((str(path) for path, form in forms if resolver.is_protected_or_parent(form)), "")

    return await run_read(find)


def _make_resolver(files: Files, config: Config) -> PathResolver:
    """Return what the engine needs to resolve the paths of a call, since it cannot read the disk. Blocks."""
    roots, start = tuple(root.resolve() for root in files.roots), files.start.resolve()
    # The protected files of the project lie among the user's own files. So the engine is less strict about the folders
    # that contain them than about folders with other protected paths, see `PathResolver`.
    project_paths = frozenset((*_list_scripts((*roots, start), config), *_list_linked(roots)))
    project_paths |= list_files_to_protect(files, config)
    machine_paths = frozenset(_list_protected(roots, config)) - project_paths

    def resolve(path: str, folder: str) -> tuple[str, ...]:
        """Return the ways to write the real path of `path`, which is relative to `folder`: absolute, and relative to
        each folder of the workspace that it is in."""
        real = _resolve(start / expand_home(folder) / expand_home(path))
        absolute = real.as_posix()
        inside = [real.relative_to(root).as_posix() for root in roots if real.is_relative_to(root)]
        # The first form is the one that is shown. It must show which folder is meant, so it is relative only in the
        # first folder of the workspace.
        forms = [*inside, absolute] if real.is_relative_to(roots[0]) else [absolute, *inside]
        return tuple(dict.fromkeys(forms))

    return PathResolver(
        resolve,
        tuple(map(Path.as_posix, machine_paths)),
        tuple(map(Path.as_posix, _list_folders(roots, machine_paths))),
        tuple(map(Path.as_posix, project_paths)),
        tuple(map(Path.as_posix, _list_folders(roots, project_paths))),
        lambda folder: find_git_program(_resolve(start / expand_home(folder))),
        # Other values are no folders, and may be secrets, which the card of a call must not show.
        {name: value if value.startswith("/") else "" for name, value in os.environ.items()},
    )


def _list_folders(roots: tuple[Path, ...], paths: Iterable[Path]) -> set[Path]:
    """Return the folders that contain one of these paths: those below the folders of the workspace, and those below the
    home folder that do not contain the workspace."""
    home = _resolve(expand_home("~"))
    return {
        folder
        for path in paths
        for folder in path.parents
        if any(folder != root and folder.is_relative_to(root) for root in roots)
        or (home in folder.parents and not any(root.is_relative_to(folder) for root in roots))
    }


def _resolve(path: Path) -> Path:
    """Follow all links of a path. A path that cannot be followed, such as a ring of links, stays as it is written."""
    try:
        return path.resolve()
    except (OSError, RuntimeError, ValueError):
        return Path(os.path.normpath(path))


def _list_protected(roots: tuple[Path, ...], config: Config) -> Iterator[Path]:
    """Yield the protected paths, which may be anywhere: the user's folder of the assistant, its data folder, the
    folders of Jupyter, the configuration files, and the files of rules, skills and commands that the configuration
    names."""
    yield _resolve(get_user_folder())
    yield _resolve(find_database().parent)
    # A folder of Jupyter that contains the workspace is not protected: the user would be asked about every file.
    yield from (path for path in map(_resolve, get_jupyter_folders()) if not _contains_root(path, roots))
    named = [entry.path for entry in (*config.rules, *config.skills, *config.commands)]
    for path in (*config.watched, *named):
        for root in roots:
            yield _resolve(root / expand_home(path))


def _list_scripts(folders: tuple[Path, ...], config: Config) -> Iterator[Path]:
    """Yield the scripts of hooks, custom tools and MCP servers. They run without a question, or when the model calls a
    tool."""
    settings = {
        "hooks": config.hooks,
        "customTools": {name: {"command": tool.command} for name, tool in config.custom_tools.items()},
        "mcpServers": {
            name: {"command": server.command, "args": server.args} for name, server in config.mcp_servers.items()
        },
    }
    return map(_resolve, find_scripts(settings, folders))


def _list_linked(roots: Iterable[Path]) -> Iterator[Path]:
    """Yield where the protected files and folders directly in the workspace really are, if they are links; and the
    folder of the repository, if `.git` is a file that names it (`git init --separate-git-dir`, `git worktree`)."""
    for root in roots:
        for name in (*FOLDERS, *FILES):
            if (path := root / name).is_symlink():
                yield _resolve(path)
        if (folder := find_git_folder(root / ".git")) is not None:
            yield _resolve(folder)


def _contains_root(folder: Path, roots: tuple[Path, ...]) -> bool:
    """Return whether a folder of the workspace is in this folder, or is this folder."""
    return any(root.is_relative_to(folder) for root in roots)
