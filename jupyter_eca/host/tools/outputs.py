"""Outputs of tools that are too long for a model: it is given the head and the tail, and the whole is kept in a file.

The one place where results are taken in, whoever's tool it was. A file is named by digests of the chat and of the call,
so that no id leads out of the folder; it is for nobody else to read, and goes with its chat.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
import os
import shutil
import time
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from jupyter_eca.errors import ToolError
from jupyter_eca.workspace.ports import OutputPart
from jupyter_eca.workspace.tool_result import ToolResult, split_head_and_tail

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from jupyter_eca.config.schema import OutputConfig

_log = logging.getLogger(__name__)

# Characters that are encoded and written at once: a long text must not be there a second time.
_PIECE: Final = 1_000_000

# A tool that answers without end must not fill the disk.
MAX_KEPT: Final = 256_000_000

# What a tool says of its own part, before it: in characters and lines.
_HEADER: Final = 200
_HEADER_LINES: Final = 5

# Of a result whose output is kept: room for the words that say so.
_NOTE: Final = "[... {left_out} characters left out: the whole output is kept, read_output reads it by the id {id} ...]"
_LOST: Final = "[... {left_out} characters left out; they could not be kept ...]"

# A folder whose chat nobody knows may be that of one that is just begun in another process.
_GRACE_SECONDS: Final = 24 * 60 * 60


@dataclass(frozen=True, slots=True)
class ChatOutputs:
    """The outputs of one chat. Implements `workspace.ports.StoredOutputs`."""

    outputs: ToolOutputs
    chat: str
    limits: OutputConfig

    async def read(self, id: str, offset: int, limit: int) -> OutputPart:
        room = min(limit, max(self.limits.size_kb * 1_000 - _HEADER, 1))
        return await self.outputs.read(self.chat, id, offset, room, self.limits.lines)


class ToolOutputs:
    """`folder` is where they are kept, which is made when it is first needed."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    async def cut_and_keep(self, chat: str, call: str, result: ToolResult, limits: OutputConfig) -> ToolResult:
        """A result as the model is given it."""
        size = limits.size_kb * 1_000
        if len(result.text) <= size and result.text.count("\n") <= limits.lines + _HEADER_LINES:
            return result
        return await asyncio.to_thread(self._shorten, chat, call, result, size, limits.lines)

    async def read(self, chat: str, id: str, offset: int, limit: int, lines: int | None = None) -> OutputPart:
        """At most so many bytes, and lines. Raises: ToolError when it is not there, or not any more."""
        return await asyncio.to_thread(self._part, chat, id, offset, limit, lines)

    async def forget(self, chats: Iterable[str]) -> None:
        for chat in chats:
            await asyncio.to_thread(shutil.rmtree, self._of(chat), ignore_errors=True)

    async def copy(self, chat: str, new: str) -> None:
        """A chat goes on in another, which reads the same."""
        await asyncio.to_thread(self._copy, chat, new)

    async def sweep(self, known: Iterable[str]) -> None:
        """What is left of chats that are no more goes."""
        await asyncio.to_thread(self._sweep, {self._of(chat) for chat in known})

    # -- in a thread

    def _shorten(self, chat: str, call: str, result: ToolResult, size: int, lines: int) -> ToolResult:
        head, tail = split_head_and_tail(result.text, size, lines)
        left_out = len(result.text) - len(head) - len(tail)
        id = make_output_id(call)
        try:
            self._keep(self._of(chat), id, result.text)
        except OSError:
            _log.exception("an output of %d characters could not be kept", len(result.text))
            return replace(result, text=f"{head}\n\n{_LOST.format(left_out=left_out)}\n\n{tail}")
        note = _NOTE.format(left_out=left_out, id=id)
        return replace(result, text=f"{head}\n\n{note}\n\n{tail}", whole=len(result.text))

    def _keep(self, folder: Path, id: str, text: str) -> None:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor = os.open(folder / f"{id}.txt", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            for start in range(0, min(len(text), MAX_KEPT), _PIECE):
                file.write(text[start : start + _PIECE].encode("utf-8", "replace"))

    def _part(self, chat: str, id: str, offset: int, limit: int, lines: int | None) -> OutputPart:
        if not (id.isascii() and id.isalnum()):
            raise ToolError(f"{id!r} is no id of an output.")
        try:
            with (self._of(chat) / f"{id}.txt").open("rb") as file:
                total = os.fstat(file.fileno()).st_size
                file.seek(min(offset, total))
                data = file.read(limit)
        except OSError:
            raise ToolError(
                f"There is no output {id!r} in this chat, or not any more.", "Run what made it again."
            ) from None
        # A character may be cut at either end: what begins before the part is left to the part before.
        offset = min(offset, total)
        while data and data[0] & 0xC0 == 0x80:
            data, offset = data[1:], offset + 1
        text = "".join(data.decode("utf-8", "ignore").splitlines(keepends=True)[:lines])
        return OutputPart(text, offset, offset + len(text.encode()), total)

    def _copy(self, chat: str, new: str) -> None:
        if (old := self._of(chat)).is_dir():
            with suppress(OSError):
                shutil.copytree(old, self._of(new), copy_function=_link, dirs_exist_ok=True)

    def _sweep(self, known: set[Path]) -> None:
        with suppress(OSError):
            for folder in self._folder.iterdir():
                if folder not in known and folder.stat().st_mtime < time.time() - _GRACE_SECONDS:
                    shutil.rmtree(folder, ignore_errors=True)

    def _of(self, chat: str) -> Path:
        return self._folder / hashlib.sha256(chat.encode("utf-8", "replace")).hexdigest()[:32]


def make_output_id(call: str) -> str:
    """What a model calls the output of a call by."""
    return hashlib.sha256(call.encode("utf-8", "replace")).hexdigest()[:12]


def _link(old: str, new: str) -> None:
    """What is kept is never changed, so that one file will do for both."""
    try:
        os.link(old, new)
    except OSError:
        shutil.copy2(old, new)
