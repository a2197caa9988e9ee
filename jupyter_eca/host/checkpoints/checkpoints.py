"""Files and cells as they were before a turn changed them: kept, and put back. How is in `filesback` and `cells`."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from jupyter_eca.host.checkpoints import cell_restore, file_restore
from jupyter_eca.host.checkpoints.file_restore import MAX_BYTES, content, digest, digest_of
from jupyter_eca.host.store import UNKEPT, Checkpoint
from jupyter_eca.workspace.files.read_threads import run_read

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence
    from pathlib import Path

    from jupyter_eca.engine.changes.revert import Decided, Touch
    from jupyter_eca.host.store import Store
    from jupyter_eca.protocol.notebook import CellChange
    from jupyter_eca.workspace.ports import Files, Notebooks

    Sources = Mapping[str, str | None]

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class RestoreResult:
    """What is as it was before, and what was left alone, with the reason."""

    done: tuple[str, ...]
    left: tuple[tuple[str, str], ...]


class Checkpoints:
    def __init__(self, store: Store) -> None:
        self._store = store

    async def keep(self, chat: str, turn: str, path: Path) -> bool:
        """Keep a file as it is. Folders that are to be made for it are noted too: they go with it.

        Returns whether there was no checkpoint of the file in this turn yet.
        """
        found = await run_read(_read_state, path)
        new = await self._store.do(
            lambda tables: [tables.keep_checkpoint(chat, _checkpoint(turn, *one)) for one in found]
        )
        now = found[-1][1]
        if not isinstance(now, _Unkept):
            await self._store.do(lambda tables: tables.mark_found(chat, turn, str(path), digest_of(now)))
        return new[-1]

    async def drop_unkept(self, chat: str, turn: str, paths: Collection[Path]) -> None:
        """Forget files that could not be kept, and that a tool did not change."""
        await self._store.do(lambda tables: tables.drop_unkept(chat, turn, [str(path) for path in paths]))

    async def mark_left(self, chat: str, turn: str, paths: Collection[Path]) -> None:
        """What a tool made of the files that it kept first."""
        for path in paths:
            found = await run_read(digest, path)
            await self._store.do(lambda tables, path=path, found=found: tables.mark_left(chat, turn, str(path), found))

    async def keep_cells(
        self, chat: str, turn: str, path: str, undo: Sequence[CellChange], left: Sources, order: Sequence[str]
    ) -> int:
        kept = await asyncio.to_thread(cell_restore.checkpoint, turn, path, undo, left, order)
        return await self._store.do(lambda tables: tables.keep_cells(chat, kept))

    async def settle_cells(self, kept: int, left: Sources | None) -> None:
        found = None if left is None else cell_restore.sources(left)
        await self._store.do(lambda tables: tables.settle_cells(kept, found))

    async def own_cells(self, chat: str, turn: str, path: str) -> Sources:
        """The sources that a turn left in a notebook, of the cells that it changed."""
        return cell_restore.own(await self._store.do(lambda tables: tables.cells_left(chat, turn, path)))

    # -- what was kept

    async def files(self, chat: str) -> dict[str, list[Checkpoint]]:
        """By paths, in the order in which they were changed. What a turn left as it had found it is no change."""
        found: dict[str, list[Checkpoint]] = {}
        for one in await self._store.do(lambda tables: tables.checkpoints(chat)):
            if one.after != digest_of(one.before):
                found.setdefault(one.path, []).append(one)
        return found

    async def touches(self, chat: str) -> dict[str, tuple[Touch, ...]]:
        """By notebooks, in the order in which they were made."""
        kept = await self._store.do(lambda tables: tables.cell_checkpoints(chat))
        return await asyncio.to_thread(cell_restore.touches, kept)

    async def turns(self, chat: str) -> list[str]:
        return await self._store.do(lambda tables: tables.turns(chat))

    async def decide(self, chat: str, path: str, turns: Collection[str], decided: Decided) -> None:
        await self._store.do(lambda tables: tables.decide(chat, path, turns, decided))

    async def decide_cell(self, touches: Collection[Touch], decided: Decided) -> None:
        """`touches` are of one cell."""
        ids, cell = [touch.id for touch in touches], next(iter(touches)).cell
        await self._store.do(lambda tables: tables.decide_cell(ids, cell, decided))

    async def restore(
        self, chat: str, turns: Collection[str], files: Files, notebooks: Notebooks | None = None
    ) -> RestoreResult:
        """Each file and cell as the first of these turns, the last ones of the chat, found it, unless somebody else has
        changed it since."""
        back: list[cell_restore.Back] = []
        for path, every in (await self.touches(chat)).items():
            if any(touch.turn in turns for touch in every):
                back += await cell_restore.put_back(chat, path, every, cell_restore.of_turns(every, turns), notebooks)
        kept = await self.files(chat)
        restored = await asyncio.to_thread(lambda: file_restore.put_back(file_restore.of_turns(kept, turns), files))
        await self.forget(chat, turns)
        done = [one.shown for one in back if not one.why] + [
            file_restore.display_path(path, files) for path in restored.done
        ]
        left = [(one.shown, one.why) for one in back if one.why]
        left += [(file_restore.display_path(path, files), why) for path, why in restored.left.items()]
        return RestoreResult(tuple(done), tuple(left))

    async def forget(self, chat: str, turns: Collection[str]) -> None:
        await self._store.do(lambda tables: tables.forget(chat, turns))


@dataclass(slots=True)
class CallKeeper:
    """Keeps what one call of a tool changes. See `workspace.ports.Keeper`."""

    checkpoints: Checkpoints
    chat: str
    turn: str
    cell_lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    kept: tuple[Path, ...] = ()
    stamps: dict[Path, _Stamp] = field(default_factory=dict["Path", "_Stamp"])
    """What the file system says of the files that this call was the first of its turn to keep."""

    async def keep(self, path: Path) -> None:
        self.kept = (*self.kept, path)
        stamp = await run_read(_read_stamp, path)
        if await self.checkpoints.keep(self.chat, self.turn, path):
            self.stamps[path] = stamp

    async def keep_cells(self, path: str, undo: Sequence[CellChange], left: Sources, order: Sequence[str] = ()) -> int:
        return await self.checkpoints.keep_cells(self.chat, self.turn, path, undo, left, order)

    async def settle_cells(self, kept: int, left: Sources | None) -> None:
        await self.checkpoints.settle_cells(kept, left)

    async def own_cells(self, path: str) -> Sources:
        return await self.checkpoints.own_cells(self.chat, self.turn, path)

    async def finish(self) -> None:
        await self.checkpoints.mark_left(self.chat, self.turn, self.kept)
        now = {path: await run_read(_read_stamp, path) for path in self.stamps}
        same = [path for path, stamp in self.stamps.items() if stamp == now[path]]
        await self.checkpoints.drop_unkept(self.chat, self.turn, same)


# -- keeping

_Stamp = tuple[int, ...]


def _read_stamp(path: Path) -> _Stamp:
    """Return what differs when a file was written, without reading it; empty when there is none."""
    try:
        found = path.lstat()
    except OSError:
        return ()
    return found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns


class _Unkept:
    """In the place of a content: there is something, and it cannot be put back."""


_UNKEPT = _Unkept()


def _read_state(path: Path) -> list[tuple[Path, bytes | _Unkept | None]]:
    """What is there; before it the outermost folder on its way that is not."""
    missing = [parent for parent in path.parents if not parent.exists()]
    return [*((folder, None) for folder in missing[-1:]), (path, _to_keep(path))]


def _to_keep(path: Path) -> bytes | _Unkept | None:
    try:
        if path.is_symlink() or (path.exists() and not path.is_file()) or _size(path) > MAX_BYTES:
            return _UNKEPT
        return content(path)
    except OSError:
        _log.warning("%s could not be kept as it was", path)
        return _UNKEPT


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


def _checkpoint(turn: str, path: Path, before: bytes | _Unkept | None) -> Checkpoint:
    if isinstance(before, _Unkept):
        return Checkpoint(turn, str(path), None, UNKEPT)
    return Checkpoint(turn, str(path), before, None)
