"""Files as they were before a turn changed them, and how they are put back. Nobody's later work is lost for it."""

from __future__ import annotations

import asyncio
import hashlib
import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING

from jupyter_eca.errors import ToolError
from jupyter_eca.store import Checkpoint

if TYPE_CHECKING:
    from collections.abc import Collection
    from pathlib import Path

    from jupyter_eca.store import Store
    from jupyter_eca.workspace.base import Files

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
        try:
            before = await asyncio.to_thread(_content, path)
        except OSError:
            _log.warning("%s could not be kept as it was", path)
            return
        if before is None or len(before) <= MAX_BYTES:
            checkpoint = Checkpoint(turn, str(path), before, None)
            await self._store.do(lambda tables: tables.keep(chat, checkpoint))

    async def left(self, chat: str, turn: str, paths: Collection[Path]) -> None:
        """What a tool made of the files that it kept first."""
        for path in paths:
            digest = await asyncio.to_thread(_digest, path)
            await self._store.do(lambda tables, path=path, digest=digest: tables.left(chat, turn, str(path), digest))

    async def restore(self, chat: str, turns: Collection[str], files: Files) -> Restored:
        """Each file as the first of these turns found it, unless somebody else has changed it since the last."""
        all_of_chat = await self._store.do(lambda tables: tables.checkpoints(chat))
        mine: dict[str, list[Checkpoint]] = {}
        for checkpoint in all_of_chat:
            if checkpoint.turn in turns:
                mine.setdefault(checkpoint.path, []).append(checkpoint)
        done: list[str] = []
        left: list[tuple[str, str]] = []
        for path, kept in mine.items():
            if problem := await asyncio.to_thread(_put_back, path, kept[0].before, kept[-1].after, files):
                left.append((path, problem))
            else:
                done.append(path)
        await self._store.do(lambda tables: tables.forget(chat, turns))
        return Restored(tuple(done), tuple(left))


@dataclass(slots=True)
class Keeper:
    """`workspace.base.Keeper` for one call of a tool."""

    checkpoints: Checkpoints
    chat: str
    turn: str
    kept: tuple[Path, ...] = ()

    async def keep(self, path: Path) -> None:
        self.kept = (*self.kept, path)
        await self.checkpoints.keep(self.chat, self.turn, path)

    async def done(self) -> None:
        await self.checkpoints.left(self.chat, self.turn, self.kept)


def _put_back(path: str, before: bytes | None, after: str | None, files: Files) -> str | None:
    """Gives the reason when it was left alone."""
    try:
        file = files.resolve(path)
        now = _digest(file)
        if now == _digest_of(before):
            return None
        if after is None or now != after:
            return "it was changed since"
        if before is None:
            file.unlink()
        else:
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(before)
    except (OSError, ToolError) as error:
        return str(error)
    return None


def _content(path: Path) -> bytes | None:
    return path.read_bytes() if path.is_file() else None


def _digest(path: Path) -> str:
    return _digest_of(_content(path))


def _digest_of(content: bytes | None) -> str:
    """`absent` for a file that is not there."""
    return "absent" if content is None else hashlib.sha256(content).hexdigest()
