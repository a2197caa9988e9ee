"""Keeps files and cells as they are before a turn changes them, and restores them. What is kept of one file, or of the
cells that one edit changes, is a checkpoint. A change is *unseen* if it was made without approval, and the user has not
reviewed it yet.

It must not decide what is restored: `host.operations` does. `file_restore` and `cell_restore` do the work, and
`host.store` has the database.
"""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal

from jupyter_eca.host.checkpoints import cell_restore, file_restore
from jupyter_eca.host.checkpoints.file_restore import MAX_BYTES, compute_digest, digest_content, read_content
from jupyter_eca.host.store import UNKEPT, Checkpoint, ReviewState
from jupyter_eca.workspace.files.read_threads import run_read

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence
    from pathlib import Path

    from jupyter_eca.engine.changes.revert import ChangeDecision, RecordedChange
    from jupyter_eca.host.store import Store, UnseenChange
    from jupyter_eca.protocol.notebook import CellChange
    from jupyter_eca.workspace.ports import Files, Notebooks

    Sources = Mapping[str, str | None]
    """The sources of cells by the id of the cell; None for a cell that does not exist."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class RestoreResult:
    """The result of a restore. All names are for the user."""

    done: tuple[str, ...]
    """The restored files and cells."""
    removed: frozenset[str]
    """Those of them that did not exist before the turns, so that they were removed."""
    skipped: tuple[tuple[str, str], ...]
    """The files and cells that were not restored, each with the reason."""


class Checkpoints:
    """The checkpoints of all chats of one host."""

    def __init__(self, store: Store) -> None:
        self._store = store

    async def keep(self, chat: str, turn: str, path: Path, review: ReviewState = ReviewState.OPEN) -> bool:
        """Keep a file as it is. If its folder does not exist yet, the new folder is noted too, so that it is removed
        with the file. `review` is the review state of the change that follows.

        Return whether there was no checkpoint of the file in this turn yet.
        """
        states = await run_read(_read_state, path)
        is_first = await self._store.do(
            # A new folder is no change that somebody reviews.
            lambda tables: [
                *(tables.keep_checkpoint(chat, _make_checkpoint(turn, *state)) for state in states[:-1]),
                tables.keep_checkpoint(chat, replace(_make_checkpoint(turn, *states[-1]), review=review)),
            ]
        )
        content = states[-1][1]
        if not isinstance(content, str):  # the only possible text is UNKEPT
            # If there was a checkpoint already, somebody else may have changed the file since this turn changed it.
            digest = digest_content(content)
            await self._store.do(lambda tables: tables.mark_if_changed(chat, turn, str(path), digest))
        return is_first[-1]

    async def keep_earlier_content(
        self, chat: str, turn: str, path: Path, before: bytes | None, *, is_known: bool, review: ReviewState
    ) -> None:
        """Keep the earlier content of a file that was changed already. `before` is that content, None if there was no
        file. If that content is not known (`is_known` is False), the change is listed but cannot be undone. `review` is
        the review state of the change."""
        kept = _make_checkpoint(turn, path, before if is_known else UNKEPT)
        await self._store.do(lambda tables: tables.keep_checkpoint(chat, replace(kept, review=review)))

    async def set_review_states(self, chat: str, turn: str, states: Mapping[Path, ReviewState]) -> None:
        """Record for each file the review state of what a turn has changed in it."""
        for path, state in states.items():
            await self._store.do(
                lambda tables, path=path, state=state: tables.set_review_state(chat, turn, str(path), state)
            )

    async def drop_unkept(self, chat: str, turn: str, paths: Collection[Path]) -> None:
        """Delete checkpoints without a content, because their file could not be kept (UNKEPT). `paths` are the files
        that the tool did not change: only their checkpoints are deleted."""
        await self._store.do(lambda tables: tables.drop_unkept(chat, turn, [str(path) for path in paths]))

    async def record_digests(self, chat: str, turn: str, paths: Collection[Path]) -> None:
        """Note the digests of files after a tool has changed them."""
        for path in paths:
            digest = await run_read(compute_digest, path)
            await self._store.do(
                lambda tables, path=path, digest=digest: tables.record_digest(chat, turn, str(path), digest)
            )

    async def keep_cells(
        self,
        chat: str,
        turn: str,
        path: str,
        undo: Sequence[CellChange],
        after: Sources,
        order: Sequence[str],
        review: ReviewState = ReviewState.OPEN,
    ) -> int:
        """Keep cells of the notebook `path` before they are changed. Return the number of the checkpoint.

        `undo` are the changes that undo the edit, `after` the sources of the cells after it, `order` the ids of all
        cells before it, and `review` the review state of the edit.
        """
        checkpoint = await asyncio.to_thread(cell_restore.make_checkpoint, turn, path, undo, after, order, review)
        return await self._store.do(lambda tables: tables.keep_cell_checkpoint(chat, checkpoint))

    async def find_unseen(self) -> UnseenChange | None:
        """Return a change without approval that the user has not reviewed; None when there is none."""
        return await self._store.do(lambda tables: tables.find_unseen())

    async def mark_seen(self, chat: str, unseen: UnseenChange) -> None:
        """Note that the user has seen the changes up to `unseen`, and all changes of a chat."""
        await self._store.do(lambda tables: tables.mark_seen(chat, unseen))

    async def record_sources(self, number: int, after: Sources | None) -> None:
        """Note the sources that cells really have after a change. `number` is that of the checkpoint. None deletes the
        checkpoint, because nothing was changed."""
        sources = None if after is None else cell_restore.dump_sources(after)
        await self._store.do(lambda tables: tables.set_sources_after(number, sources))

    async def list_sources_of_turn(self, chat: str, turn: str, path: str) -> Sources:
        """Return the sources of the cells that a turn has changed in a notebook, after its last change."""
        return cell_restore.merge_sources(
            await self._store.do(lambda tables: tables.list_sources_after(chat, turn, path))
        )

    # -- what was kept

    async def list_files(self, chat: str) -> dict[str, list[Checkpoint]]:
        """Return the checkpoints of a chat by path, in the order of the changes. A file that a turn has left as it was
        is not among them."""
        found: dict[str, list[Checkpoint]] = {}
        for row in await self._store.do(lambda tables: tables.list_checkpoints(chat)):
            if row.after != digest_content(row.before):
                found.setdefault(row.path, []).append(row)
        return found

    async def list_cell_changes(self, chat: str) -> dict[str, tuple[RecordedChange, ...]]:
        """Return the changes of cells by notebook, in the order in which they were made."""
        checkpoints = await self._store.do(lambda tables: tables.list_cell_checkpoints(chat))
        return await asyncio.to_thread(cell_restore.parse_changes, checkpoints)

    async def list_turns(self, chat: str) -> list[str]:
        """Return the ids of a chat's turns, in the order in which they began."""
        return await self._store.do(lambda tables: tables.list_turns(chat))

    async def record_file_decision(self, chat: str, path: str, turns: Collection[str], decided: ChangeDecision) -> None:
        """Note whether the user keeps or reverts what these turns changed in a file."""
        await self._store.do(lambda tables: tables.record_file_decision(chat, path, turns, decided))

    async def record_cell_decision(self, changes: Collection[RecordedChange], decided: ChangeDecision) -> None:
        """Note whether the user keeps or reverts these changes, which are all of one cell."""
        ids, cell = [change.id for change in changes], next(iter(changes)).cell
        await self._store.do(lambda tables: tables.record_cell_decision(ids, cell, decided))

    async def restore(
        self, chat: str, turns: Collection[str], files: Files, notebooks: Notebooks | None = None
    ) -> RestoreResult:
        """Restore each file and cell as it was before the first of these turns, unless somebody else has changed it
        since. The turns must be the last ones of the chat."""
        cells: list[cell_restore.CellRestoreResult] = []
        for path, changes in (await self.list_cell_changes(chat)).items():
            if any(change.turn in turns for change in changes):
                cells += await cell_restore.restore_cells(
                    chat, path, changes, cell_restore.make_turn_chooser(changes, turns), notebooks
                )
        kept = await self.list_files(chat)
        restored = await asyncio.to_thread(
            lambda: file_restore.restore_files(file_restore.find_changes_of_turns(kept, turns), files)
        )
        await self.forget(chat, turns)
        names = {path: file_restore.display_path(path, files) for path in restored.done}
        done = [cell.label for cell in cells if not cell.why] + list(names.values())
        removed = {cell.label for cell in cells if cell.removes_cell} | {names[path] for path in restored.removed}
        skipped = [(cell.label, cell.why) for cell in cells if cell.why]
        skipped += [(file_restore.display_path(path, files), why) for path, why in restored.skipped.items()]
        return RestoreResult(tuple(done), frozenset(removed), tuple(skipped))

    async def forget(self, chat: str, turns: Collection[str]) -> None:
        """Delete all checkpoints of these turns."""
        await self._store.do(lambda tables: tables.forget_checkpoints(chat, turns))


@dataclass(slots=True)
class CallCheckpointer:
    """Keeps the files and cells that one tool call changes, as they were before. Implements
    `workspace.ports.Checkpointer`."""

    checkpoints: Checkpoints
    """The checkpoints of the host."""
    chat: str
    """The id of the chat."""
    turn: str
    """The id of the turn."""
    cell_lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    """Held while a call changes cells. All calls of a chat share it."""
    kept_paths: tuple[Path, ...] = ()
    """The files that this call has kept."""
    review: ReviewState = ReviewState.OPEN
    """The review state of what the call changes: whether the user still reviews it."""
    stamps: dict[Path, _Stamp] = field(default_factory=dict["Path", "_Stamp"])
    """The stamps of those files of which this call has made the first checkpoint of the turn. At the end of the call
    they tell which files it has not changed."""

    async def keep(self, path: Path) -> None:
        """Keep a file before it is changed."""
        self.kept_paths = (*self.kept_paths, path)
        stamp = await run_read(_read_stamp, path)
        if await self.checkpoints.keep(self.chat, self.turn, path, self.review):
            self.stamps[path] = stamp

    async def keep_earlier_content(self, path: Path, before: bytes | None, *, is_known: bool) -> None:
        """Keep the earlier content `before` of a file that was changed already. If it is not known, `is_known` is
        False. See `Checkpoints.keep_earlier_content`."""
        self.kept_paths = (*self.kept_paths, path)
        await self.checkpoints.keep_earlier_content(
            self.chat, self.turn, path, before, is_known=is_known, review=self.review
        )

    async def keep_cells(self, path: str, undo: Sequence[CellChange], after: Sources, order: Sequence[str] = ()) -> int:
        """Keep cells before they are changed, see `Checkpoints.keep_cells`. Return the number of the checkpoint."""
        return await self.checkpoints.keep_cells(self.chat, self.turn, path, undo, after, order, self.review)

    async def record_sources(self, number: int, after: Sources | None) -> None:
        """Note the sources that cells really have after a change, see `Checkpoints.record_sources`."""
        await self.checkpoints.record_sources(number, after)

    async def list_sources_of_turn(self, path: str) -> Sources:
        """Return the sources of the cells that this turn has changed in a notebook."""
        return await self.checkpoints.list_sources_of_turn(self.chat, self.turn, path)

    async def set_review_states(self, states: Mapping[Path, ReviewState]) -> None:
        """Record for each file the review state of what was changed in it. Without this, `review` counts for all of
        them."""
        await self.checkpoints.set_review_states(self.chat, self.turn, states)

    async def finish(self) -> None:
        """Note the digests of the files that the call kept, as they are now. Called when the call has ended."""
        await self.checkpoints.record_digests(self.chat, self.turn, self.kept_paths)
        # A copy, because another file may be kept meanwhile.
        stamps = list(self.stamps.items())
        unchanged = [path for path, stamp in stamps if stamp == await run_read(_read_stamp, path)]
        await self.checkpoints.drop_unkept(self.chat, self.turn, unchanged)


# -- keeping

_Stamp = tuple[int, ...]
"""The inode, the size and the times of the last changes of a file; empty for no file."""
_Content = bytes | Literal["unkept"] | None
"""The content of a file. None: there is no file. UNKEPT: it is too large, no regular file, or cannot be read."""


def _read_stamp(path: Path) -> _Stamp:
    """Return a stamp of a file, which changes when the file is written. The file is not read. Empty for no file."""
    try:
        state = path.lstat()
    except OSError:
        return ()
    return state.st_ino, state.st_size, state.st_mtime_ns, state.st_ctime_ns


def _read_state(path: Path) -> list[tuple[Path, _Content]]:
    """Return a file with its content, as the last item. If its folder does not exist, the first item is the outermost
    folder that is missing, with the content None."""
    missing = [parent for parent in path.parents if not parent.exists()]
    return [*((folder, None) for folder in missing[-1:]), (path, _read_content_to_keep(path))]


def can_keep(path: Path) -> bool:
    """Return whether a file can be kept before it is changed. Blocks."""
    try:
        return not path.is_symlink() and (not path.exists() or (path.is_file() and _get_size(path) <= MAX_BYTES))
    except OSError:
        return False


def _read_content_to_keep(path: Path) -> _Content:
    """Return the content of a file, None for no file, UNKEPT for one that cannot be kept."""
    try:
        if path.is_symlink() or (path.exists() and not path.is_file()) or _get_size(path) > MAX_BYTES:
            return UNKEPT
        return read_content(path)
    except OSError:
        _log.warning("%s could not be kept as it was", path)
        return UNKEPT


def _get_size(path: Path) -> int:
    """Return the size of a file in bytes, 0 for no file."""
    return path.stat().st_size if path.exists() else 0


def _make_checkpoint(turn: str, path: Path, before: _Content) -> Checkpoint:
    """Return the checkpoint of a file with its content `before` the turn. The content after the turn is not known
    yet."""
    if isinstance(before, str):
        return Checkpoint(turn, str(path), None, UNKEPT)
    return Checkpoint(turn, str(path), before, None)
