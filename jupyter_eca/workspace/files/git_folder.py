"""Finds the folder of a repository whose `.git` is a file: that of a worktree, of a submodule, or of `git init
--separate-git-dir`. The file has one line, `gitdir: FOLDER`.

Its neighbour `workspace/git_programs.py` asks git itself. This module only reads the file, because its callers look at
many files.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from jupyter_eca.config.disk.regular_file import read_regular

if TYPE_CHECKING:
    from pathlib import Path

_PREFIX: Final = "gitdir:"
# The file has one path.
_MAX_BYTES: Final = 10_000


def find_git_folder(file: Path) -> Path | None:
    """Return the folder that a file `.git` names; None if it is no such file. Blocks."""
    try:
        text = read_regular(file, _MAX_BYTES).decode()
    except (OSError, UnicodeError):
        return None
    return file.parent / text.removeprefix(_PREFIX).strip() if text.startswith(_PREFIX) else None
