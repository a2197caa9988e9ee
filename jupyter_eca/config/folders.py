"""Finds the Markdown files that users write for the assistant: in `.eca` of each project, and in the user's folder.

These are the files of agents, rules, skills and commands. This module must not know what is in the files.
`front_matter` is its neighbour: it parses them. The files of projects come first. A link in a project that leads out of
the workspace is ignored, because a project must not make us read other files.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


def get_user_folder() -> Path:
    """Return the folder with the user's own files for the assistant, usually `~/.config/eca`. It may not exist."""
    return Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config") / "eca"


def expand_home(text: str) -> Path:
    """Return a path with `~` replaced. `~name` stays unchanged if there is no user with this name."""
    try:
        return Path(text).expanduser()
    except RuntimeError:
        return Path(text)


def find_markdown_files(roots: Iterable[Path], kind: str, *, nested: bool = False) -> Iterator[Path]:
    """Yield the Markdown files of a kind (`commands`, `rules`, ...), those of projects first.

    `roots` are the folders of the workspace. With `nested`, files in subfolders are found too. Files with the same
    name are all yielded, and the caller chooses. Blocks: it lists folders.
    """
    pattern = "**/*.md" if nested else "*.md"
    real_roots = [root.resolve() for root in roots]
    for root in real_roots:
        yield from (path for path in _list_files(root / ".eca" / kind, pattern) if is_inside(path, real_roots))
    yield from _list_files(get_user_folder() / kind, pattern)


def _list_files(folder: Path, pattern: str) -> list[Path]:
    """Return the files in a folder that match a glob; none if the folder cannot be read."""
    try:
        return sorted(path for path in folder.glob(pattern) if path.is_file())
    except OSError:
        return []


def find_allowed_folders(path: Path, roots: Iterable[Path]) -> tuple[Path, ...] | None:
    """Return the folders in which a file must be when it is opened, after all links are followed.

    For a file of a project, these are the folders of the workspace. None for one of the user's own files, which may be
    a link to any place.
    """
    roots = tuple(roots)
    real_roots = tuple(root.resolve() for root in roots)
    # `path` and `roots` may contain links, so the path may begin with a root in either form.
    return real_roots if any(path.is_relative_to(root) for root in (*real_roots, *roots)) else None


def is_inside(path: Path, roots: Iterable[Path]) -> bool:
    """Return whether a path is in one of the folders after all links are followed."""
    try:
        real = path.resolve()
    except (OSError, RuntimeError):
        return False
    return any(real.is_relative_to(root.resolve()) for root in roots)
