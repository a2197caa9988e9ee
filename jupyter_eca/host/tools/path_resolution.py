"""Finds the files that a tool call names on the disk, with all links followed. It also lists the protected paths: the
configuration and the data of the assistant and of Jupyter.

It must not decide about the call: `engine.approval.policy` does, by the `CallTargets` that this module returns.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jupyter_eca.config.folders import get_user_folder
from jupyter_eca.engine.approval.call_targets import CallTargets, PathResolver, find_targets
from jupyter_eca.workspace.files.read_threads import run_read
from jupyter_eca.workspace.paths import find_database, find_jupyter_folders

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from jupyter_eca.config import Config
    from jupyter_eca.engine.model.request import ToolSpec
    from jupyter_eca.workspace.ports import Files


async def find_call_targets(
    files: Files, config: Config, tool: ToolSpec, arguments: Mapping[str, Any], notebook: str = ""
) -> CallTargets:
    """Return the files that a call names. `files` are those of the chat: relative paths start in its working directory.
    `notebook` is the path of the notebook in which the user asked."""
    return await run_read(_find, files, config, tool, arguments, notebook)


def _find(files: Files, config: Config, tool: ToolSpec, arguments: Mapping[str, Any], notebook: str) -> CallTargets:
    roots, start = tuple(root.resolve() for root in files.roots), files.start.resolve()
    protected = dict.fromkeys(_list_protected(roots, config))
    # The folders in the workspace that contain a protected path: a call that changes the whole folder changes that too.
    above = dict.fromkeys(
        folder
        for path in protected
        for folder in path.parents
        if any(folder != root and folder.is_relative_to(root) for root in roots)
    )

    def resolve(path: str, folder: str) -> tuple[str, ...]:
        real = _resolve(start / _expand(folder) / _expand(path))
        absolute = real.as_posix()
        inside = [real.relative_to(root).as_posix() for root in roots if real.is_relative_to(root)]
        # The first form is the one that is shown. It must show which folder is meant, so it is relative only in the
        # first folder of the workspace.
        forms = [*inside, absolute] if real.is_relative_to(roots[0]) else [absolute, *inside]
        return tuple(dict.fromkeys(forms))

    resolver = PathResolver(resolve, tuple(map(Path.as_posix, protected)), tuple(map(Path.as_posix, above)))
    return find_targets(tool, arguments, resolver, notebook)


def _expand(path: str) -> Path:
    """Replace `~` and `~user` at the beginning of a path by the home folder."""
    try:
        return Path(path).expanduser()
    except RuntimeError:  # no user has this name
        return Path(path)


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
    yield from (path for path in map(_resolve, find_jupyter_folders()) if not _contains_root(path, roots))
    named = [entry.path for entry in (*config.rules, *config.skills, *config.commands)]
    for path in (*config.watched, *named):
        for root in roots:
            yield _resolve(root / _expand(path))


def _contains_root(folder: Path, roots: tuple[Path, ...]) -> bool:
    return any(root.is_relative_to(folder) for root in roots)
