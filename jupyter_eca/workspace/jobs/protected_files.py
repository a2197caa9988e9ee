"""Finds the protected files in the workspace, and finds which of them are new, and which are lost, after a command ran
in the sandbox.

Protected files decide what may run; their names are in `engine/approval/protected_paths.py`. `sandbox.py` makes those
that exist read-only. It cannot protect a path that does not exist yet. So a command can still make new protected files,
and it can move a folder that contains one. A file that was moved, but is still found as a protected file, is neither
new nor lost: it is protected at its new path, too. A file that was moved to a path where it is not found is lost. This
module must not know how a sandbox is made.
"""

from __future__ import annotations

import os
import stat
from collections import deque
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeAlias

from jupyter_eca.engine.approval import protected_paths
from jupyter_eca.workspace.files.git_folder import find_git_folder

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

# The most files and folders that are looked at. A larger workspace would take seconds before each command.
_MAX_ENTRIES: Final = 200_000
# Folders with many files that others wrote. Protected files in them, such as a `.git`, are not looked for.
_SKIPPED: Final = frozenset({"node_modules", ".venv", "venv", "__pycache__", "site-packages"})

_Identity: TypeAlias = tuple[int, int, bool]
"""The device and the inode of a file, which it keeps when it is moved, and whether it is a folder."""


@dataclass(frozen=True, slots=True)
class ProtectedFiles:
    """The protected files and folders in some folders at one moment."""

    found: Mapping[Path, _Identity]
    """The identity of each protected file or folder, by path. A link is not followed: it has an identity of its own."""
    is_complete: bool
    """Whether all files and folders were looked at."""

    def list_new(self, before: ProtectedFiles) -> list[Path]:
        """Return the paths of the files and folders that did not exist before. One that was only moved does not count.
        `before` is an earlier result of `find_protected_files`, here and below."""
        known = frozenset(before.found.values())
        return [path for path, identity in self.found.items() if identity not in known]

    def list_lost(self, before: ProtectedFiles, hidden: Collection[Path]) -> list[Path]:
        """Return the earlier paths of the files and folders that cannot be found any more. An ordinary file does not
        count if there is another file at its path now, because editors save a file in this way. A folder counts even
        then, because no editor replaces a folder. So does a file in `hidden` (the paths that a command cannot read):
        the old file may be at a path now where a command can read it."""
        known = frozenset(self.found.values())
        lost = [path for path, identity in before.found.items() if identity not in known]
        return [path for path in lost if path not in self.found or path in hidden or before.found[path][2]]


def find_protected_files(roots: Iterable[Path], others: Iterable[Path] = ()) -> ProtectedFiles:
    """Look for protected files in some folders, the upper folders first. `others` are files and folders that count as
    protected where they exist. This blocks."""
    found: dict[Path, _Identity] = {}
    waiting = deque((str(root), str(root)) for root in roots)
    remaining = _MAX_ENTRIES
    while waiting and remaining > 0:
        root, folder = waiting.popleft()
        try:
            entries = list(os.scandir(folder))
        except OSError:
            continue
        remaining -= len(entries)
        for entry in entries:
            if protected_paths.may_be_protected(entry.name) and protected_paths.is_protected(
                os.path.relpath(entry.path, root)
            ):
                path = Path(entry.path)
                _add(found, path)
                if entry.name == ".git" and (git_folder := find_git_folder(path)) is not None:
                    _add(found, git_folder)
            elif entry.name not in _SKIPPED and entry.is_dir(follow_symlinks=False):
                waiting.append((root, entry.path))
    for path in others:
        _add(found, path)
    return ProtectedFiles(found, is_complete=not waiting)


def _add(found: dict[Path, _Identity], path: Path) -> None:
    """Add a path, if it still exists."""
    try:
        status = os.lstat(path)
    except OSError:
        return
    found[path] = (status.st_dev, status.st_ino, stat.S_ISDIR(status.st_mode))
