"""Finds what a tool call names on the disk: every path with its links followed, and the user's own files for us.

It must not decide about the call: `engine.approval.policy` does, by the `CallTargets` that come from here.
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
    """Find what a call names. `files` are those of the chat: relative paths start in its working directory. `notebook`
    is the path of the notebook that the prompt came from."""
    return await run_read(_find, files, config, tool, arguments, notebook)


def _find(files: Files, config: Config, tool: ToolSpec, arguments: Mapping[str, Any], notebook: str) -> CallTargets:
    roots, start = tuple(root.resolve() for root in files.roots), files.start.resolve()
    own = dict.fromkeys(_list_own(roots, config))
    above = dict.fromkeys(
        folder
        for path in own
        for folder in path.parents
        if any(folder != root and folder.is_relative_to(root) for root in roots)
    )

    def resolve(path: str, folder: str) -> tuple[str, ...]:
        real = _resolve(start / _expand(folder) / _expand(path))
        absolute = real.as_posix()
        inside = [real.relative_to(root).as_posix() for root in roots if real.is_relative_to(root)]
        # The first form must say which folder is meant, so it is relative only to the first folder.
        forms = [*inside, absolute] if real.is_relative_to(roots[0]) else [absolute, *inside]
        return tuple(dict.fromkeys(forms))

    resolver = PathResolver(resolve, tuple(map(Path.as_posix, own)), tuple(map(Path.as_posix, above)))
    return find_targets(tool, arguments, resolver, notebook)


def _expand(path: str) -> Path:
    try:
        return Path(path).expanduser()
    except RuntimeError:  # there is no such user
        return Path(path)


def _resolve(path: Path) -> Path:
    """Follow every link. What cannot be looked at, such as a ring of links, stays as it is written."""
    try:
        return path.resolve()
    except (OSError, RuntimeError, ValueError):
        return Path(os.path.normpath(path))


def _list_own(roots: tuple[Path, ...], config: Config) -> Iterator[Path]:
    """Yield what is read by us and may lie anywhere: the user's folder, Jupyter's own folders, each file of the
    configuration, and the files of rules, skills and commands that it names."""
    yield _resolve(get_user_folder())
    yield _resolve(find_database().parent)
    # Whoever works in one of these folders is not asked about each file.
    yield from (path for path in map(_resolve, find_jupyter_folders()) if not _holds_one(path, roots))
    named = [one.path for one in (*config.rules, *config.skills, *config.commands)]
    for path in (*config.watched, *named):
        for root in roots:
            yield _resolve(root / _expand(path))


def _holds_one(folder: Path, roots: tuple[Path, ...]) -> bool:
    return any(root.is_relative_to(folder) for root in roots)
