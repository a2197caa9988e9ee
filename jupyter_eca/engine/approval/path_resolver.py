"""Owns `PathResolver`: it follows the symbolic links of a path, and says whether the path is protected.

A protected file decides what may run without approval: our configuration, scripts that it runs, files of git and of
shells. The resolver is pure: its maker passes a function that looks at the disk. Without such a function, the path
is normalized as a text. The neighbour `protected_paths` has the names that are protected in every folder. Here are
the files that are protected only on this machine.
"""

from __future__ import annotations

import posixpath
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, cast
from urllib.parse import unquote

from jupyter_eca.engine.approval.protected_paths import is_matched_by_pattern, is_protected

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

# A longer text does not count as a path. This is the limit of Linux.
_MAX_PATH_CHARS: Final = 4096

# `file://PATH`. Some programs also accept `FILE:PATH`.
_FILE: Final = re.compile(r"file:(?://)?", re.IGNORECASE)


def resolve_by_text(path: str, folder: str) -> tuple[str, ...]:
    """Resolve a path without looking at the disk. A relative path stays relative. `folder` is where it starts."""
    return (posixpath.normpath(posixpath.join(folder, path)),)


@dataclass(frozen=True, slots=True)
class PathResolver:
    """Resolves the paths of a call."""

    resolve: Callable[[str, str], tuple[str, ...]] = resolve_by_text
    """A function that takes a path and the folder where it starts. It returns all forms of the path, with every link
    followed: the absolute path and, inside the workspace, also the relative one. The first form is shown to people. It
    is relative only in the first folder of the workspace."""
    machine_paths: tuple[str, ...] = ()
    """Files and folders that are protected on this machine, besides the names in the module `protected_paths`:
    absolute, with links followed."""
    machine_parents: tuple[str, ...] = ()
    """Folders that contain something of `machine_paths`. A call that moves such a folder moves what it contains too.
    The folders of the workspace, the home folder and the folders above them are not listed."""
    project_paths: tuple[str, ...] = ()
    """Files of the project that the settings run, or that `AGENTS.md` includes. They are protected as well."""
    project_parents: tuple[str, ...] = ()
    """Folders that contain something of `project_paths`. The user often works in them. So a call that names such a
    folder is treated as a change of a protected file only if it may move or replace the folder."""
    find_git_program: Callable[[str], str] = lambda _: ""
    """A function that takes a folder. It returns the setting of a repository that makes git run a program when git
    reads in this folder, such as `diff.external`; "" for none."""
    variables: Mapping[str, str] = field(default_factory=dict[str, str])
    """The environment variables that a command line can use. Those whose value is not an absolute path are empty."""

    def is_protected(self, form: str) -> bool:
        """Return whether a resolved path (`form`) is protected. Upper and lower case are equal, because they are in
        some file systems."""
        text = form.casefold()
        own = (path.casefold() for path in (*self.machine_paths, *self.project_paths))
        return is_protected(form) or any(text == path or text.startswith(f"{path}/") for path in own)

    def is_protected_or_parent(self, form: str, *, moves: bool = True) -> bool:
        """Return whether a resolved path is protected, or is a folder in `machine_parents`. `moves` says whether the
        call may move or replace a whole folder. Then the path may also be a folder in `project_parents`."""
        folders = (*self.machine_parents, *self.project_parents) if moves else self.machine_parents
        return self.is_protected(form) or any(form.casefold() == path.casefold() for path in folders)

    def may_contain_protected(self, form: str) -> bool:
        """Return whether a resolved folder may contain something protected, at any depth. The workspace (`.`) always
        may, because it may contain our configuration. Other folders are compared with `machine_paths` and
        `project_paths`."""
        below = f"{form.casefold().rstrip('/')}/"
        return (
            form == "."
            or self.is_protected(form)
            or any(path.casefold().startswith(below) for path in (*self.machine_paths, *self.project_paths))
        )

    def may_become_protected(self, form: str) -> bool:
        """Return whether a resolved path with a pattern, such as `~/.conf*/eca`, matches a protected path. The shell
        replaces the pattern by all paths that match. The pattern is not compared with `project_paths`, because people
        often use patterns for the files that they work on, such as `src/*.py`."""
        return any(is_matched_by_pattern(form, path) for path in self.machine_paths)


BY_TEXT: Final = PathResolver()
"""A resolver that does not look at the disk and knows no protected files of this machine."""


def guess_paths(value: Any) -> Iterator[str]:
    """Yield the texts in a value that may be paths. A `file:` URI is yielded twice: as it is, and as the path in it. It
    is not known whether the tool understands URIs."""
    for text in list_texts(value):
        if text.strip() and len(text) <= _MAX_PATH_CHARS and not re.search(r"[\x00\r\n]", text):
            yield text
            if uri := _FILE.match(text):
                yield unquote(text[uri.end() :])


def list_texts(value: Any) -> Iterator[str]:
    """Yield all texts in a value, at any depth. The keys of objects count too: a key may be a path."""
    match value:
        case str():
            yield value
        case list() | tuple():
            for item in cast("list[Any]", value):
                yield from list_texts(item)
        case dict():
            for name, item in cast("dict[str, Any]", value).items():
                yield name
                yield from list_texts(item)
        case _:
            pass
