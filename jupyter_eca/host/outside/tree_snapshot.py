"""Finds the files that a command of an outside agent has changed, by comparing the folder before and after it.

An agent says which command it runs, and not which files the command changes. So the files of the folder are noted
before the command, small ones with their contents. The functions block: they read the disk. They must not store
anything: `turn_files.py` does.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from jupyter_eca.workspace.files.skipped_folders import SKIPPED_FOLDERS

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

# The limits of a snapshot, so that it takes little time and memory. Of a larger folder only a part is recorded: so many
# files, so many bytes of one file, and so many bytes of all files together.
MAX_FILES: Final = 5_000
MAX_FILE_BYTES: Final = 256_000
MAX_BYTES: Final = 32_000_000


@dataclass(frozen=True, slots=True)
class NotedFile:
    """A file before a command."""

    stamp: tuple[int, ...]
    """Its inode, its size and the time of its last change. It changes when the file is written."""
    content: bytes | None
    """Its content; None if it was too large to be noted."""


@dataclass(frozen=True, slots=True)
class CommandChange:
    """A file that a command has changed, made or removed."""

    path: Path
    """The path of the file."""
    content: bytes | None
    """Its content before; None if there was no file, or if the content was not noted."""
    is_known: bool
    """Whether the content before is known, so that the change can be undone."""


Snapshot = dict[Path, NotedFile]
"""The files of a folder by their paths."""


def take_snapshot(folder: Path, skipped: Collection[Path]) -> Snapshot:
    """Note the files of a folder, except those in `skipped`."""
    noted: Snapshot = {}
    bytes_left = MAX_BYTES
    for path, state in _list_files(folder, skipped):
        content = None
        if state.st_size <= min(MAX_FILE_BYTES, bytes_left):
            try:
                content = path.read_bytes()
            except OSError:
                continue
            bytes_left -= len(content)
        noted[path] = NotedFile(_make_stamp(state), content)
    return noted


def find_changes(folder: Path, before: Mapping[Path, NotedFile], skipped: Collection[Path]) -> list[CommandChange]:
    """Return the files that were changed since the snapshot `before` was taken, except those in `skipped`. If the
    folder has more files than are noted, a file that was not noted is not known to be new, and is not returned."""
    changed: list[CommandChange] = []
    seen: set[Path] = set()
    is_whole = len(before) < MAX_FILES
    for path, state in _list_files(folder, skipped):
        seen.add(path)
        noted = before.get(path)
        if noted is None:
            if is_whole:
                changed.append(CommandChange(path, None, is_known=True))
        elif noted.stamp != _make_stamp(state):
            changed.append(CommandChange(path, noted.content, is_known=noted.content is not None))
    gone = [path for path in before if path not in seen and not path.exists()]
    return [*changed, *(CommandChange(path, before[path].content, before[path].content is not None) for path in gone)]


def _list_files(folder: Path, skipped: Collection[Path]) -> Iterator[tuple[Path, os.stat_result]]:
    """Yield the regular files of a folder with their states, `MAX_FILES` at most. Hidden files and those in `skipped`
    are left out."""
    count = 0
    for place, folders, names in os.walk(folder):
        # Hidden files are those of programs that may write them at any time, such as the history of a shell.
        folders[:] = sorted(name for name in folders if name not in SKIPPED_FOLDERS and not name.startswith("."))
        for name in sorted(names):
            path = Path(place, name)
            if name.startswith("."):
                continue
            try:
                state = path.lstat()
            except OSError:
                continue
            if path.is_symlink() or not path.is_file() or path in skipped:
                continue
            count += 1
            if count > MAX_FILES:
                return
            yield path, state


def _make_stamp(state: os.stat_result) -> tuple[int, ...]:
    """Return the stamp of a file, see `NotedFile.stamp`."""
    return state.st_ino, state.st_size, state.st_mtime_ns
