"""Files as they were before a turn changed them, and how they are put back. Nobody's later work is lost for it. What
is special about cells of notebooks is in `cells`."""

from __future__ import annotations

import asyncio
import hashlib
import logging
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from jupyter_eca import cells
from jupyter_eca.errors import ToolError
from jupyter_eca.store import UNKEPT, Checkpoint

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from jupyter_eca.protocol.notebook import CellChange
    from jupyter_eca.store import Store
    from jupyter_eca.workspace.base import Files, Notebooks

_log = logging.getLogger(__name__)

# Larger files are data, which tools of ours do not write; a copy of each change would fill the disk.
MAX_BYTES = 10_000_000


@dataclass(frozen=True, slots=True)
class Restored:
    """Paths that are as they were before, and those that were left alone, with the reason."""

    done: tuple[str, ...]
    left: tuple[tuple[str, str], ...]


class Checkpoints:
    def __init__(self, store: Store) -> None:
        self._store = store

    async def keep(self, chat: str, turn: str, path: Path) -> None:
        """Folders that are to be made for it are noted too: they go with it."""
        found = await asyncio.to_thread(_looked_at, path)
        await self._store.do(lambda tables: [tables.keep(chat, _checkpoint(turn, *one)) for one in found])
        now = found[-1][1]
        if not isinstance(now, _Unkept):
            await self._store.do(lambda tables: tables.found(chat, turn, str(path), _digest_of(now)))

    async def left(self, chat: str, turn: str, paths: Collection[Path]) -> None:
        """What a tool made of the files that it kept first."""
        for path in paths:
            digest = await asyncio.to_thread(_digest, path)
            await self._store.do(lambda tables, path=path, digest=digest: tables.left(chat, turn, str(path), digest))

    async def keep_cells(
        self, chat: str, turn: str, path: str, undo: Sequence[CellChange], left: Mapping[str, str | None]
    ) -> int:
        kept = await asyncio.to_thread(cells.checkpoint, turn, path, undo, left)
        return await self._store.do(lambda tables: tables.keep_cells(chat, kept))

    async def settle_cells(self, kept: int, left: Mapping[str, str | None] | None) -> None:
        found = None if left is None else cells.sources(left)
        await self._store.do(lambda tables: tables.settle_cells(kept, found))

    async def own_cells(self, chat: str, turn: str, path: str) -> Mapping[str, str | None]:
        """The sources that a turn left in a notebook, of the cells that it changed."""
        return cells.own(await self._store.do(lambda tables: tables.cells_left(chat, turn, path)))

    async def restore(
        self, chat: str, turns: Collection[str], files: Files, notebooks: Notebooks | None = None
    ) -> Restored:
        """Each file and cell as the first of these turns found it, unless somebody else has changed it since."""
        of_cells = await self._store.do(lambda tables: tables.cell_checkpoints(chat))
        back = await cells.put_back(chat, (one for one in of_cells if one.turn in turns), notebooks)
        all_of_chat = await self._store.do(lambda tables: tables.checkpoints(chat))
        mine: dict[str, list[Checkpoint]] = {}
        for checkpoint in all_of_chat:
            if checkpoint.turn in turns:
                mine.setdefault(checkpoint.path, []).append(checkpoint)
        restored = await asyncio.to_thread(_all_put_back, mine, files)
        await self.forget(chat, turns)
        return Restored((*back.done, *restored.done), (*back.left, *restored.left))

    async def forget(self, chat: str, turns: Collection[str]) -> None:
        await self._store.do(lambda tables: tables.forget(chat, turns))


@dataclass(slots=True)
class Keeper:
    """`workspace.base.Keeper` for one call of a tool."""

    checkpoints: Checkpoints
    chat: str
    turn: str
    alone: asyncio.Lock = field(default_factory=asyncio.Lock)
    kept: tuple[Path, ...] = ()

    async def keep(self, path: Path) -> None:
        self.kept = (*self.kept, path)
        await self.checkpoints.keep(self.chat, self.turn, path)

    async def keep_cells(self, path: str, undo: Sequence[CellChange], left: Mapping[str, str | None]) -> int:
        return await self.checkpoints.keep_cells(self.chat, self.turn, path, undo, left)

    async def settle_cells(self, kept: int, left: Mapping[str, str | None] | None) -> None:
        await self.checkpoints.settle_cells(kept, left)

    async def own_cells(self, path: str) -> Mapping[str, str | None]:
        return await self.checkpoints.own_cells(self.chat, self.turn, path)

    async def done(self) -> None:
        await self.checkpoints.left(self.chat, self.turn, self.kept)


# -- keeping


class _Unkept:
    """In the place of a content: there is something, and it cannot be put back."""


_UNKEPT = _Unkept()


def _looked_at(path: Path) -> list[tuple[Path, bytes | _Unkept | None]]:
    """What is there; before it the outermost folder on its way that is not."""
    missing = [parent for parent in path.parents if not parent.exists()]
    return [*((folder, None) for folder in missing[-1:]), (path, _to_keep(path))]


def _to_keep(path: Path) -> bytes | _Unkept | None:
    try:
        if path.is_symlink() or (path.exists() and not path.is_file()) or _size(path) > MAX_BYTES:
            return _UNKEPT
        return _content(path)
    except OSError:
        _log.warning("%s could not be kept as it was", path)
        return _UNKEPT


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


def _checkpoint(turn: str, path: Path, before: bytes | _Unkept | None) -> Checkpoint:
    if isinstance(before, _Unkept):
        return Checkpoint(turn, str(path), None, UNKEPT)
    return Checkpoint(turn, str(path), before, None)


# -- putting back


def _all_put_back(kept: Mapping[str, list[Checkpoint]], files: Files) -> Restored:
    done: list[str] = []
    made = [Path(path) for path, of_path in kept.items() if of_path[0].before is None]
    left = {path: why for path, of_path in kept.items() if (why := _why_not(path, of_path, files))}
    # A file that was moved, and cannot go back where it came from: there is no other copy of it. What was not kept may
    # be any of those that are new.
    unkept = any(of_path[0].after == UNKEPT for of_path in kept.values())
    homeless = {_digest_of(kept[path][0].before) for path in left} - {"absent"}
    for path, of_path in kept.items():
        if path in left or Path(path).is_dir():
            continue
        if of_path[0].before is None and (unkept or _digest(Path(path)) in homeless):
            left[path] = "it may be the only copy of what was moved there"
            continue
        try:
            if _put_back(Path(path), of_path[0].before, made):
                done.append(path)
        except OSError as error:
            left[path] = error.strerror or "it could not be written"
    return Restored(
        tuple(_shown(path, files) for path in done), tuple((_shown(path, files), why) for path, why in left.items())
    )


def _shown(path: str, files: Files) -> str:
    try:
        return files.shown(files.resolve(path))
    except ToolError:
        return path


def _why_not(path: str, kept: Sequence[Checkpoint], files: Files) -> str | None:
    first = kept[0]
    if first.after == UNKEPT:
        return "it is too large or no plain file, and was not kept"
    if Path(path).is_dir() and first.before is None:
        return None
    try:
        if files.resolve(path) != Path(path):
            return "a link leads elsewhere now"
        now = _digest(Path(path))
    except OSError as error:
        return error.strerror or "it could not be read"
    except ToolError:
        return "it is outside of the workspace"
    # From one turn to the next it must be what the last one left.
    unbroken = [one.after for one in kept] == [*(_digest_of(one.before) for one in kept[1:]), now]
    return None if unbroken or now == _digest_of(first.before) else "it was changed since"


def _put_back(file: Path, before: bytes | None, made: Collection[Path]) -> bool:
    """Whether there was anything to do."""
    if _content(file) == before:
        return False
    if before is not None:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(before)
        return True
    file.unlink()
    for folder in file.parents:
        if not any(folder.is_relative_to(one) for one in made) or any(folder.iterdir()):
            break
        folder.rmdir()
    return True


def _content(path: Path) -> bytes | None:
    return path.read_bytes() if path.is_file() else None


def _digest(path: Path) -> str:
    return _digest_of(_content(path))


def _digest_of(content: bytes | None) -> str:
    """`absent` for a file that is not there."""
    return "absent" if content is None else hashlib.sha256(content).hexdigest()
