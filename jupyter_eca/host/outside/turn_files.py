"""Owns `TurnFiles`: the files of a turn of an outside agent, as they were before the agent changed them.

An agent changes files by itself, and not through our tools. So a file is kept when the agent first names it, which is
before it changes the file. Which files a command changes is found out by comparison (`tree_snapshot.py`). `%eca diff`
and `%eca undo` work with what is kept. It must not know the agent's protocol.
"""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING

from jupyter_eca.errors import NotSaved, ToolError
from jupyter_eca.host.outside.tree_snapshot import find_changes, take_snapshot
from jupyter_eca.workspace.files import text_file
from jupyter_eca.workspace.files.read_threads import run_read

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from jupyter_eca.host.checkpoints.checkpoints import CallKeeper
    from jupyter_eca.host.outside.tree_snapshot import Snapshot
    from jupyter_eca.workspace.ports import Files


class TurnFiles:
    """The files of one turn of an outside agent."""

    def __init__(self, files: Files, keeper: CallKeeper, written_by_others: Collection[Path]) -> None:
        """`written_by_others` are the real paths of files that others may write at any time: the notebooks that are
        open in a page, and our database."""
        self.files = files
        self._keeper = keeper
        self._written_by_others = written_by_others
        self._kept: set[Path] = set()
        self._snapshot: Snapshot = {}
        self._commands: set[str] = set()
        """The ids of the calls whose commands run now."""

    def find_real(self, path: str) -> Path | None:
        """Return the real path of a file; None when it is outside of the workspace."""
        try:
            return self.files.resolve(path)
        except ToolError:
            return None

    async def keep(self, paths: Iterable[str]) -> None:
        """Keep files as they are, each once. Those outside of the workspace are left out."""
        for path in paths:
            real = self.find_real(path)
            if real is None or real in self._kept or await run_read(real.is_dir):
                continue
            self._kept.add(real)
            try:
                await self._keeper.keep(real)
            except NotSaved:
                return

    async def begin_command(self, id: str, *, anew: bool = False) -> None:
        """Note the files of the folder before a command, unless they are noted for another command that runs. With
        `anew` they are noted once more, because the command has waited for approval."""
        if not self._commands or (anew and self._commands == {id}):
            self._snapshot = await asyncio.to_thread(take_snapshot, self.files.start, self._written_by_others)
        self._commands.add(id)

    async def end_command(self, id: str) -> None:
        """Keep what a command has changed, as it was before."""
        if id not in self._commands:
            return
        changes = await asyncio.to_thread(find_changes, self.files.start, self._snapshot, self._written_by_others)
        self._commands.discard(id)
        for change in changes:
            if change.path not in self._kept:
                self._kept.add(change.path)
                try:
                    await self._keeper.keep_earlier(change.path, change.content, was_noted=change.was_noted)
                except NotSaved:
                    return
        if not self._commands:
            self._snapshot = {}

    async def record(self) -> None:
        """Note what the kept files are now, after a call has changed them."""
        if self._kept:
            try:
                await self._keeper.finish()
            except NotSaved:
                return

    async def read(self, path: str, line: int | None, limit: int | None) -> str:
        """Return the text of a file. Raises: ToolError."""
        real = self.files.resolve(path)
        with text_file.report_os_errors(path):
            text = await run_read(text_file.read, real, path)
        if line is None and limit is None:
            return text
        start = max((line or 1) - 1, 0)
        return "".join(text.splitlines(keepends=True)[start : None if limit is None else start + limit])

    async def write(self, path: str, content: str) -> None:
        """Write a file, which is kept before. Raises: ToolError."""
        real = self.files.resolve(path)
        await self.keep([path])
        with text_file.report_os_errors(path):
            await asyncio.to_thread(text_file.write, real, path, content)
        self._kept.add(Path(real))
        await self.record()
