"""Owns `TurnFiles`: the files of a turn of an outside agent, as they were before the agent changed them.

An agent changes files by itself, and not through our tools. So a file is kept when the agent first names it, which is
before it changes the file. Which files a command changes is found out by comparison (`tree_snapshot.py`). `%eca diff`
and `%eca undo` work with what is kept.

A user who has approved a change need not review it again. So each file has the review state (`ReviewState`) that its
next change gets: `allow` sets it when a call was approved that changes the file, `refuse` when such a call was refused,
and `finish` resets it when the approved call has ended. `detect_changes` compares a file with its last digest. If they
differ, the file was changed in between. This module must not know the agent's protocol.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING

from jupyter_eca.errors import NotSaved, ToolError
from jupyter_eca.host.checkpoints.file_restore import compute_digest
from jupyter_eca.host.outside.tree_snapshot import find_changes, take_snapshot
from jupyter_eca.host.store import ReviewState
from jupyter_eca.workspace.files import text_file
from jupyter_eca.workspace.files.read_threads import run_read

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping
    from pathlib import Path

    from jupyter_eca.host.checkpoints.checkpoints import CallCheckpointer
    from jupyter_eca.host.outside.tree_snapshot import Snapshot
    from jupyter_eca.workspace.ports import Files


@dataclass(slots=True)
class _KeptFile:
    """A file that was kept, and the review states of its changes."""

    digest: str
    """The digest of its content when it was last compared."""
    next_review: ReviewState
    """The review state that its next change gets."""
    review: ReviewState | None = None
    """The review state of all its changes so far; None as long as it was not changed."""


class TurnFiles:
    """The files of one turn of an outside agent."""

    def __init__(self, files: Files, checkpointer: CallCheckpointer, written_by_others: Collection[Path]) -> None:
        """`written_by_others` are the real paths of files that others may write at any time: the notebooks that are
        open in a page, and our database."""
        self.files = files
        self._checkpointer = checkpointer
        self._written_by_others = written_by_others
        self._kept: dict[Path, _KeptFile] = {}
        """The files that were kept, by their real paths."""
        self._snapshot: Snapshot = {}
        """The files of the folder before the commands that run now; empty if none runs."""
        self._commands: set[str] = set()
        """The ids of the calls whose commands run now."""

    def get_real_path(self, path: str) -> Path | None:
        """Return the real path of a file; None when it is outside of the workspace."""
        try:
            return self.files.resolve(path)
        except ToolError:
            return None

    async def keep(self, paths: Iterable[str]) -> None:
        """Keep files as they are, each once. Those outside of the workspace are left out."""
        for path in paths:
            real = self.get_real_path(path)
            if real is None or real in self._kept or await run_read(real.is_dir):
                continue
            self._kept[real] = _KeptFile(await run_read(_read_digest, real), self._checkpointer.review)
            try:
                await self._checkpointer.keep(real)
            except NotSaved:
                return

    async def detect_changes(self, paths: Iterable[str]) -> None:
        """Record which of these files have been changed since they were last compared."""
        for path in self._list_kept(paths):
            await self._detect_change(path)

    def allow(self, paths: Iterable[str]) -> None:
        """Note that the user has approved a call which shows what it changes in these files. Call `detect_changes`
        before."""
        for path in self._list_kept(paths):
            self._kept[path].next_review = ReviewState.SETTLED

    def refuse(self, paths: Iterable[str]) -> None:
        """Note that a call which changes these files was refused. Call `detect_changes` before.

        The page writes the file of an open notebook, too. So its changes are not counted as changes of the agent.
        """
        for path in self._list_kept(paths):
            if path not in self._written_by_others:
                self._kept[path].next_review = ReviewState.REFUSED

    async def finish(self, paths: Iterable[str], texts: Mapping[Path, str]) -> None:
        """Note the end of a call that was allowed to change these files. `texts` are the texts that the user has
        approved. If a file has another text now, the user decides about it."""
        for path in self._list_kept(paths):
            await self._detect_change(path)
            kept = self._kept[path]
            if kept.review is not None and await run_read(_read_text, path) != texts.get(path):
                kept.review = kept.review.merge(self._checkpointer.review)
            kept.next_review = self._checkpointer.review

    def _list_kept(self, paths: Iterable[str]) -> list[Path]:
        """Return the real paths of those of the files that are kept."""
        return [real for path in paths if (real := self.get_real_path(path)) is not None and real in self._kept]

    async def _detect_change(self, path: Path) -> None:
        """If a kept file has been changed since it was last compared, record that with the review state for its next
        change."""
        kept, digest = self._kept[path], await run_read(_read_digest, path)
        if digest != kept.digest:
            kept.digest, kept.review = digest, kept.review.merge(kept.next_review) if kept.review else kept.next_review

    async def begin_command(self, id: str, *, again: bool = False) -> None:
        """Take a snapshot of the folder before a command, unless there is one for another command that runs. With
        `again` a second snapshot is taken, because the command has waited for approval."""
        if not self._commands or (again and self._commands == {id}):
            self._snapshot = await asyncio.to_thread(take_snapshot, self.files.start, self._written_by_others)
        self._commands.add(id)

    async def end_command(self, id: str) -> None:
        """Keep the earlier contents of the files that a command has changed."""
        if id not in self._commands:
            return
        changes = await asyncio.to_thread(find_changes, self.files.start, self._snapshot, self._written_by_others)
        self._commands.discard(id)
        for change in changes:
            if change.path not in self._kept:
                digest = await run_read(_read_digest, change.path)
                self._kept[change.path] = _KeptFile(digest, self._checkpointer.review, self._checkpointer.review)
                try:
                    await self._checkpointer.keep_earlier_content(change.path, change.content, is_known=change.is_known)
                except NotSaved:
                    return
        if not self._commands:
            self._snapshot = {}

    async def record_states(self) -> None:
        """Record the digests and the review states of the kept files, after a call has changed them."""
        if self._kept:
            for path in list(self._kept):
                await self._detect_change(path)
            states = {path: kept.review for path, kept in self._kept.items() if kept.review is not None}
            try:
                await self._checkpointer.finish()
                await self._checkpointer.set_review_states(states)
            except NotSaved:
                return

    async def read(self, path: str, line: int | None, limit: int | None) -> str:
        """Return the text of a file, from `line` (from 1), `limit` lines at most; None for all. Raises: ToolError."""
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
        await self.record_states()


def _read_digest(path: Path) -> str:
    """Return the digest of a file; "" if it cannot be read."""
    try:
        return compute_digest(path)
    except OSError:
        return ""


def _read_text(path: Path) -> str | None:
    """Return the text of a file; None if it has none."""
    try:
        return text_file.read(path, path.name)
    except (ToolError, OSError):
        return None
