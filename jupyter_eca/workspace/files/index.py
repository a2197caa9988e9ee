"""Keeps the names of all files of the workspace in memory, so that a user who types a name gets matches at once.

A search uses the names that were read last. If they are old, it also starts a new read of the folders, and does not
wait for it. Only the first search waits for the disk, but not longer than `FIRST_WAIT`. In large folders the first
search uses the few names that come first. While nobody searches, nothing is read. The module must not rank names, which
`name_search.py` does, or list folders, which `listing.py` does.
"""

from __future__ import annotations

import asyncio
import logging
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from time import monotonic
from typing import TYPE_CHECKING, Final, NamedTuple

from jupyter_eca.workspace.files.listing import list_files, sort_in_pieces
from jupyter_eca.workspace.files.name_search import NameIndex

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from jupyter_eca.workspace.files.name_search import Fit
    from jupyter_eca.workspace.ports import Files

_log = logging.getLogger(__name__)

# Seconds after which the names are old. If reading them takes long, they are old only after ten times as long, so that
# typing in a huge folder does not keep a disk busy.
MAX_AGE: Final = 2.0
_TIMES_AS_LONG: Final = 10

# Seconds that the first search, or a request for a whole folder, waits for the names.
FIRST_WAIT: Final = 1.5

# The number of files that count as recently changed. They come before all others, because users work on them.
RECENT: Final = 30


class IndexEntry(NamedTuple):
    """A file or folder that was found."""

    path: str
    """The absolute path."""
    is_directory: bool
    """Whether it is a folder."""


@dataclass(frozen=True, slots=True)
class _Root:
    """A root folder as it was last read."""

    folder: Path
    """Its resolved path."""
    names: list[str]
    """All files in it, as `list_files` returned them."""
    file_index: NameIndex
    """Searches the files."""
    directory_index: NameIndex
    """Searches the folders."""


class FileIndex:
    """Searches the names of files and folders. Searches find nothing unless the task of `run` is running."""

    def __init__(self, files: Files) -> None:
        self._files = files
        self._roots: tuple[_Root, ...] = ()
        # The first names of large folders, which are used while `_roots` is empty.
        self._early_roots: list[_Root] = []
        # Set while a read of the folders is wanted or in progress.
        self._refresh_wanted = asyncio.Event()
        # Set when the last read has ended.
        self._refreshed = asyncio.Event()
        # Set when there are any names to search.
        self._has_names = asyncio.Event()
        # Whether files changed since the last read began.
        self._stale = True
        # The time until which the names are fresh, in seconds of the monotonic clock.
        self._fresh_until = 0.0

    async def run(self) -> None:
        """Read the folders whenever somebody searches and the names are old. It runs until it is cancelled."""
        while True:
            await self._refresh_wanted.wait()
            began = monotonic()
            self._stale = False
            try:
                self._roots = tuple([await self._read_root(number) for number in range(len(self._files.roots))])
            except OSError:
                _log.exception("the names of the workspace's files cannot be read")
            now = monotonic()
            self._fresh_until = now + max(MAX_AGE, _TIMES_AS_LONG * (now - began))
            self._early_roots.clear()
            self._refresh_wanted.clear()
            self._refreshed.set()
            self._has_names.set()

    def change_folders(self, files: Files) -> None:
        """Use other folders from now on."""
        self._files = files
        self._stale = True

    def refresh_soon(self) -> None:
        """Start a new read of the names if they are old. Call it when a user is about to type, so that the first search
        need not wait."""
        if (self._stale or monotonic() >= self._fresh_until) and not self._refresh_wanted.is_set():
            self._refreshed.clear()
            self._refresh_wanted.set()

    def mark_stale(self) -> None:
        """Mark the names as old, because files were written. The next search starts a new read."""
        self._stale = True

    async def search(self, query: str, limit: int) -> list[IndexEntry]:
        """Find files and folders, the best matches first. An empty query finds the files that were changed last."""
        matches = [
            (fit, IndexEntry(path, False)) for fit, path in await self._search_roots(query, limit, directories=False)
        ]
        matches += [
            (fit, IndexEntry(path, True)) for fit, path in await self._search_roots(query, limit, directories=True)
        ]
        return [entry for _, entry in sorted(matches, key=lambda match: match[0])][:limit]

    async def search_files(self, query: str, limit: int) -> list[str]:
        """Find files only. The result has absolute paths, the best matches first."""
        return [path for _, path in await self._search_roots(query, limit, directories=False)]

    async def search_directories(self, query: str, limit: int) -> list[str]:
        """Find folders only. The result has absolute paths, the best matches first."""
        return [path for _, path in await self._search_roots(query, limit, directories=True)]

    async def list_inside(self, folder: Path) -> list[str]:
        """List all files in a folder of the workspace, relative to that folder; nothing for a folder outside of it. If
        the names are old, it waits for a new read of them, but not longer than `FIRST_WAIT`."""
        self.refresh_soon()
        await _wait_briefly(self._refreshed)
        for root in self._roots:
            if folder.is_relative_to(root.folder):
                start = f"{folder.relative_to(root.folder).as_posix()}/".removeprefix("./")
                return [name.removeprefix(start) for name in root.names if name.startswith(start)]
        return []

    async def _search_roots(self, query: str, limit: int, *, directories: bool) -> list[tuple[Fit, str]]:
        """Search the names of files, or of folders if `directories` is True, in all roots. Return the matches with
        their fit, the best first. The names are waited for if none were read yet."""
        self.refresh_soon()
        if not self._roots:
            await _wait_briefly(self._has_names)
        matches: list[tuple[Fit, str]] = []
        for root in self._roots or self._early_roots:
            names = root.directory_index if directories else root.file_index
            hits = names.search(_make_relative(query, root.folder), limit)
            matches += [(fit, str(root.folder / name)) for fit, name in hits]
        return sorted(matches, key=lambda match: match[0])[:limit]

    async def _read_root(self, number: int) -> _Root:
        """Read the names in the root with this index. If they are the same as before, the old object is returned,
        because it takes time to prepare names for searches."""
        folder = await asyncio.to_thread(self._files.roots[number].resolve)
        is_first = number >= len(self._roots)
        seen = await list_files(folder, partial(self._use_early_names, folder) if is_first else None)
        if number < len(self._roots) and self._roots[number].names == seen:
            return self._roots[number]
        return await asyncio.to_thread(_prepare_root, folder, seen)

    def _use_early_names(self, folder: Path, names: list[str]) -> None:
        """Let the first search find some names of a large folder, while the others are still read."""
        self._early_roots.append(_prepare_root(folder, names))
        self._has_names.set()


async def _wait_briefly(event: asyncio.Event) -> None:
    """Wait for an event, but not longer than `FIRST_WAIT`."""
    with suppress(TimeoutError):
        async with asyncio.timeout(FIRST_WAIT):
            await event.wait()


def _prepare_root(folder: Path, names: list[str]) -> _Root:
    """Prepare the names of a root for searches. The recently changed files come first, then short names before long
    ones."""
    recent, others = names[:RECENT], sort_in_pieces(names[RECENT:], key=lambda name: (len(name), name))
    directories = sort_in_pieces(list(_list_parents(names)), key=lambda name: (len(name), name))
    return _Root(folder, names, NameIndex((*recent, *others)), NameIndex(directories))


def _list_parents(names: Iterable[str]) -> set[str]:
    """Return all folders that contain one of the files, directly or in a subfolder."""
    parents: set[str] = set()
    for name in names:
        parent = name.rpartition("/")[0]
        while parent and parent not in parents:
            parents.add(parent)
            parent = parent.rpartition("/")[0]
    return parents


def _make_relative(query: str, folder: Path) -> str:
    """Return the query as a part of a path that is relative to `folder`: `/data/src/a` in `/data` -> `src/a`."""
    query = query.strip().replace("\\", "/")
    root = f"{folder.as_posix()}/"
    return query.removeprefix(root).removeprefix("./").lstrip("/")
