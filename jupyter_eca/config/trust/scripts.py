"""Owns the list of scripts that settings run: the files that hooks, custom tools and MCP servers name.

These programs run without a question. So a change of such a file needs approval, as a change of the settings does, and
the file is a part of what a user trusts. This module must not read a script: `held_settings` does. Everything here
blocks, because it looks at the disk.

A command line is not parsed, because each program reads its arguments in its own way. Each word of it may be a path. A
path is a script if it has the ending of one (`.py`, `.sh`), or if the file is executable or has no ending. A file of
data that a command reads is not a script. What a script imports or starts is not found.
"""

from __future__ import annotations

import os
import re
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, cast

from jupyter_eca.config.folders import expand_home

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

Json = dict[str, Any]

# A file with such an ending counts even if it does not exist yet, because somebody may create it.
_SUFFIXES: Final = frozenset(
    {
        *(".bash", ".bat", ".cjs", ".cmd", ".fish", ".go", ".jar", ".jl", ".js", ".ksh", ".lua", ".mjs", ".mts"),
        *(".php", ".pl", ".ps1", ".py", ".pyw", ".pyz", ".r", ".rb", ".rs", ".sh", ".ts", ".zsh"),
    }
)
# A word of a command line: characters up to a blank, a quote or a character with a meaning for shells.
_WORD: Final = re.compile(r"""[^\s'"\\`;&|<>(){}$=,]+""")
# `python -m package.module` runs one of these.
_MODULE_ENDS: Final = (".py", "/__main__.py")


def find_scripts(settings: Json, folders: Sequence[Path]) -> Iterator[Path]:
    """Yield the scripts that settings run.

    `folders` are the folders of the workspace, in which commands start. The script that a hook names with `file` may be
    anywhere. A relative path of it starts at the folder of the configuration file in which the hook is written, or, if
    there is no such file there, at one of `folders`. All these paths are yielded, also those of files that do not
    exist: a file that is created there later would run.

    A command line, also that of a hook (`shell`), starts in `folders` only. Of the files that it names, only those in
    these folders count, because an installed program is not a part of a project.
    """
    for hook in _list_objects(settings.get("hooks")):
        config_folder: Any = hook.get("folder")
        starts = (Path(config_folder), *folders) if isinstance(config_folder, str) and config_folder else folders
        for action in _list_objects(hook.get("actions")):
            if isinstance(file := action.get("file"), str):
                yield from (start / expand_home(file) for start in starts)
            yield from _find_scripts_in_command(_list_texts(action.get("shell")), folders)
    for tool in _list_objects(settings.get("customTools")):
        yield from _find_scripts_in_command(_list_texts(tool.get("command")), folders)
    for server in _list_objects(settings.get("mcpServers")):
        yield from _find_scripts_in_command(_list_texts([server.get("command"), server.get("args")]), folders)


def _find_scripts_in_command(texts: Iterable[str], folders: Sequence[Path]) -> Iterator[Path]:
    """Yield the scripts in these folders that a command names. `texts` are the command line, or its arguments."""
    words = [word for text in texts for word in _WORD.findall(text)]
    modules = [name for option, name in pairwise(words) if option == "-m"]
    names = [*words, *(f"{name.replace('.', '/')}{end}" for name in modules for end in _MODULE_ENDS)]
    for folder in folders:
        # A word may start at a folder that another word names: `cd tools`, `--directory tools`.
        starts = [folder, *filter(_is_folder, (folder / expand_home(word) for word in words))]
        found = (start / expand_home(name) for start in starts for name in names)
        yield from (path for path in found if _is_script(path, folder))


def _is_script(path: Path, folder: Path) -> bool:
    """Return whether a path is a script, and is in the folder after all links are followed."""
    try:
        if not path.resolve().is_relative_to(folder.resolve()):
            return False
        if path.suffix.lower() in _SUFFIXES:
            return not path.is_dir()
        return path.is_file() and (not path.suffix or os.access(path, os.X_OK))
    except (OSError, RuntimeError, ValueError):
        return False


def _is_folder(path: Path) -> bool:
    """Return whether a path is a folder. Return False for a path that the system does not accept."""
    try:
        return path.is_dir()
    except (OSError, ValueError):
        return False


def _list_objects(value: Any) -> Iterator[Json]:
    """Yield the objects in a list or in an object."""
    items: list[Any] = []
    if isinstance(value, dict):
        items = [*cast("Json", value).values()]
    elif isinstance(value, list):
        items = cast("list[Any]", value)
    yield from (cast("Json", item) for item in items if isinstance(item, dict))


def _list_texts(value: Any) -> Iterator[str]:
    """Yield a text, or the texts in a list. Other values are ignored."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, list | tuple):
        for item in cast("list[Any]", value):
            yield from _list_texts(item)
