"""Lists what turns have changed in files and cells, and keeps or reverts these changes at the user's request.

Before a turn changes a file or a cell, its content is kept in a checkpoint. A change *stands* if it was not
reverted, or if the user has undone its revert. A change of an item (a file or a cell) has the id `TURN:KEY`, or `:KEY`
for the changes of all turns to this item. `KEY` is a digest of the path and the cell.

It must not compute what a revert does: `host.checkpoints` and `engine.changes` do. `host.commands.changes` has `/diff`
and `/undo`.
"""

from __future__ import annotations

import asyncio
import hashlib
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from jupyter_eca.engine.changes.revert import ChangeDecision
from jupyter_eca.engine.changes.review import GONE, review_cell
from jupyter_eca.engine.model.texts import describe_restored, describe_reverted
from jupyter_eca.errors import ToolError
from jupyter_eca.host.checkpoints import cell_restore as cells
from jupyter_eca.host.checkpoints import file_restore
from jupyter_eca.host.store import ReviewState
from jupyter_eca.host.turn.open_notebooks import find_notebooks
from jupyter_eca.protocol.changes import (
    Change,
    ChangedCell,
    ChangedFile,
    ChangedText,
    ChangeExtent,
    ChangeLeft,
    ChangeReverted,
)
from jupyter_eca.workspace.files import text_file
from jupyter_eca.workspace.files.read_threads import run_read
from jupyter_eca.workspace.notebooks.cell_changes import find_number
from jupyter_eca.workspace.shielded import run_to_end

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

    from jupyter_eca.engine.changes.revert import RecordedChange
    from jupyter_eca.host.chat.registry import Chats
    from jupyter_eca.host.checkpoints.cell_restore import ChangesByCell
    from jupyter_eca.host.services import Services
    from jupyter_eca.host.store import Checkpoint
    from jupyter_eca.host.turn.turns import Turns
    from jupyter_eca.protocol.notebook import NotebookDocument
    from jupyter_eca.workspace.ports import Files, Notebooks

# The characters of the longest text that is shown. A longer text is data, whose diff nobody reads and which takes long
# to make.
MAX_SHOWN_CHARS = 300_000


class ChangedItem(NamedTuple):
    """A file or a cell that was changed."""

    path: str
    """The real path of the file, or Jupyter's path of the notebook."""
    cell: str = ""
    """The id of the cell, "" for a file."""

    @property
    def key(self) -> str:
        """The part of the change's id that identifies this item."""
        return hashlib.sha256(f"{self.path}\0{self.cell}".encode()).hexdigest()[:12]


@dataclass(frozen=True)
class ChatCheckpoints:
    """All checkpoints of a chat, and its turns in their order."""

    turns: Sequence[str]
    """The ids of the turns."""
    files: Mapping[str, Sequence[Checkpoint]]
    """The checkpoints of files, by path."""
    cells: Mapping[str, Sequence[RecordedChange]]
    """The changes of cells, by notebook."""

    @cached_property
    def items(self) -> dict[str, ChangedItem]:
        """The changed items by their keys, in the order in which they were first changed. New folders are no items."""
        # The first turn that changed each item.
        found = {
            ChangedItem(path): rows[0].turn
            for path, rows in self.files.items()
            if any(row.before or row.after for row in rows)
        }
        for path, changes in self.cells.items():
            for change in changes:
                if change.is_visible:
                    found.setdefault(ChangedItem(path, change.cell), change.turn)
        turn_index = {turn: index for index, turn in enumerate(self.turns)}
        in_order = sorted(found, key=lambda item: turn_index.get(found[item], len(turn_index)))
        return {item.key: item for item in in_order}

    @cached_property
    def _by_cell(self) -> dict[str, ChangesByCell]:
        """The changes of cells, by notebook and cell."""
        return {path: cells.group_by_cell(changes) for path, changes in self.cells.items()}

    def list_cell_changes(self, item: ChangedItem) -> Sequence[RecordedChange]:
        """Return all changes of a cell."""
        return self._by_cell[item.path][item.cell]

    def get_items(self, ids: Iterable[str]) -> dict[str, tuple[ChangedItem, tuple[str, ...]]]:
        """Return the item and the turns of each id of a change: one turn, or all of the chat. Unknown ids are left
        out."""
        found: dict[str, tuple[ChangedItem, tuple[str, ...]]] = {}
        for id in ids:
            turn, _, key = id.rpartition(":")
            if (item := self.items.get(key)) and (not turn or turn in self.turns):
                found[id] = (item, (turn,) if turn else tuple(self.turns))
        return found


@dataclass(frozen=True, slots=True)
class _NotebookReader:
    """Reads notebooks as they are now, each once."""

    notebooks: Notebooks | None
    """The notebooks that can be read; None if there are none."""
    documents: dict[str, NotebookDocument | str] = field(default_factory=dict[str, "NotebookDocument | str"])
    """The results so far by path: a notebook, or why it cannot be read."""

    async def read(self, path: str) -> NotebookDocument | str:
        """Return a notebook, or why it cannot be read."""
        if path not in self.documents:
            try:
                if self.notebooks is None:
                    raise ToolError(cells.NOBODY_HAS_IT_OPEN)
                self.documents[path] = await self.notebooks.read(path)
            except ToolError as error:
                self.documents[path] = str(error)
        return self.documents[path]


class Changes:
    """The changes of all chats of one host."""

    def __init__(self, services: Services, chats: Chats, turns: Turns) -> None:
        self.on_decision: list[Callable[[str], None]] = []
        """Called with the id of a chat after the user has kept or reverted changes of it."""
        self._services = services
        self._chats = chats
        self._turns = turns

    async def list(
        self, chat: str, turn: str | None = None, extent: ChangeExtent = ChangeExtent.LAST
    ) -> tuple[Change, ...]:
        """Return the changes of a turn, or of the turns that `extent` selects. Raises: UnknownChat."""
        await self._chats.load(chat, must_exist=True)
        history, reader = await self._read_history(chat), _NotebookReader(find_notebooks(self._services, chat))
        if turn is None and extent is ChangeExtent.CHAT:
            return tuple(await self._list_changes(history, reader, "", history.turns))
        found: list[Change] = []
        for id in reversed(history.turns) if turn is None else (turn,):
            found = await self._list_changes(history, reader, id, (id,)) + found
            if found and extent is ChangeExtent.LAST:
                break  # the last turn that changed something
        return tuple(found)

    async def keep(self, chat: str, ids: Iterable[str]) -> None:
        """Accept the changes with these ids (see the top of the module), and the earlier changes of the same files and
        cells. They are no longer listed.

        Raises: UnknownChat.
        """
        await self._chats.load(chat, must_exist=True)
        await run_to_end(self._keep(chat, ids))
        self._notify(chat)

    async def revert(self, chat: str, ids: Iterable[str]) -> tuple[tuple[ChangeReverted, ...], tuple[ChangeLeft, ...]]:
        """Restore files and cells as they were before the changes with these ids (see the top of the module). The chat
        shows what was reverted, and the model reads it with the next prompt.

        Return the reverted changes, and those that were left alone. Raises: BusyError, UnknownChat.
        """
        found = await run_to_end(
            _RevertRequest(self._services, self._chats, self._turns, chat, await self._read_history(chat)).run(
                tuple(ids)
            )
        )
        self._notify(chat)
        return found

    def _notify(self, chat: str) -> None:
        """Call the observers after a decision of the user."""
        for notify in self.on_decision:
            notify(chat)

    async def _read_history(self, chat: str) -> ChatCheckpoints:
        """Read all checkpoints of a chat from the store."""
        checkpoints = self._services.checkpoints
        return ChatCheckpoints(
            await checkpoints.list_turns(chat),
            await checkpoints.list_files(chat),
            await checkpoints.list_cell_changes(chat),
        )

    async def _keep(self, chat: str, ids: Iterable[str]) -> None:
        """Note that the user keeps these changes, and all earlier ones of the same items."""
        history, checkpoints = await self._read_history(chat), self._services.checkpoints
        for item, turns in history.get_items(ids).values():
            # All turns up to the last one of these.
            up_to = history.turns[: history.turns.index(turns[-1]) + 1]
            if not item.cell:
                undecided = {row.turn for row in history.files[item.path] if row.turn in up_to and row.decided is None}
                await checkpoints.record_file_decision(chat, item.path, undecided, ChangeDecision.KEPT)
                continue
            changes = history.list_cell_changes(item)
            undecided_changes = [change for change in changes if change.turn in up_to and change.decision is None]
            if undecided_changes:
                await checkpoints.record_cell_decision(undecided_changes, ChangeDecision.KEPT)

    async def _list_changes(
        self, history: ChatCheckpoints, reader: _NotebookReader, label: str, turns: Collection[str]
    ) -> list[Change]:
        """Return the changes of these turns that stand. `label` is the turn in their ids, "" for all turns."""
        found: list[Change | None] = []
        for number, (key, item) in enumerate(history.items.items(), 1):
            change_key = _ChangeKey(f"{label}:{key}", number, item, turns)
            if not item.cell:
                files = self._services.workspace.files
                found.append(await run_read(_describe_file, history.files[item.path], files, change_key))
            elif any(change.turn in turns for change in history.list_cell_changes(item)):
                found.append(_describe_cell(history.list_cell_changes(item), await reader.read(item.path), change_key))
        return [change for change in found if change is not None]


class _ChangeKey(NamedTuple):
    """Which change is described."""

    id: str
    """The id of the change."""
    number: int
    """The number of the item in the chat, which `/undo` takes."""
    item: ChangedItem
    """The file or the cell."""
    turns: Collection[str]
    """The turns whose changes to the item are meant."""


def _describe_file(rows: Sequence[Checkpoint], files: Files, change_key: _ChangeKey) -> ChangedFile | None:
    """Describe the change of a file. None if none of the changes stands. `rows` are all checkpoints of the file."""
    standing = file_restore.find_standing_changes(rows, change_key.turns, files)
    if standing is None:
        return None
    path = file_restore.display_path(change_key.item.path, files)
    return ChangedFile(
        id=change_key.id,
        number=change_key.number,
        turn=standing.checkpoints[-1].turn,
        path=path,
        text=_describe_text(path, *map(_decode, (standing.before, standing.after))),
        refused=standing.obstacle or None,
        settled=all(row.review.is_settled for row in standing.checkpoints) or None,
        made_although_refused=any(row.review is ReviewState.REFUSED for row in standing.checkpoints) or None,
        kind=standing.kind,
    )


def _describe_cell(
    changes: Sequence[RecordedChange], document: NotebookDocument | str, change_key: _ChangeKey
) -> ChangedCell | None:
    """Describe the change of a cell. None if none of the changes stands. `document` is the notebook, or why it cannot
    be read: then the cell is described as the last change has left it."""
    notebook = None if isinstance(document, str) else document
    cell = notebook.find_cell(change_key.item.cell) if notebook else None
    source = cell.source if cell else None
    review = review_cell(changes, change_key.turns, source if notebook else changes[-1].after)
    if review is None:
        return None
    return ChangedCell(
        id=change_key.id,
        number=change_key.number,
        turn=review.turn,
        path=change_key.item.path,
        text=_describe_text(change_key.item.path, review.before, review.after),
        refused=document if isinstance(document, str) else review.refused or None,
        settled=review.is_settled or None,
        kind=review.kind,
        cell_id=change_key.item.cell,
        cell_type=cell.cell_type if cell else review.cell_type,
        place=find_number(notebook, change_key.item.cell) or None if notebook else None,
        place_before=review.place_before,
        left=review.source_left_by_changes,
    )


def _describe_text(
    path: str, before: str | _HiddenContent | None, after: str | _HiddenContent | None
) -> ChangedText | None:
    """Return a text before and after a change, with the diff. None if one of them is not shown."""
    if isinstance(before, _HiddenContent) or isinstance(after, _HiddenContent):
        return None
    diff = text_file.describe_change(path, before, after or "")
    return ChangedText(
        before=before, after=after, diff=diff.diff, lines_added=diff.lines_added, lines_removed=diff.lines_removed
    )


class _HiddenContent:
    """Takes the place of a content that is not shown, because it is no text or too long."""


def _decode(content: bytes | None) -> str | _HiddenContent | None:
    """Return the text of a file; None for no file, and `_HiddenContent` for a content that is not shown."""
    if content is None:
        return None
    try:
        return content.decode("utf-8") if len(content) <= MAX_SHOWN_CHARS and b"\0" not in content else _HiddenContent()
    except UnicodeDecodeError:
        return _HiddenContent()


# -- reverting changes


class _RevertRequest:
    """Reverts the changes of one request. All changes in a notebook are one edit, which the user can undo in one
    step."""

    def __init__(self, services: Services, chats: Chats, turns: Turns, chat: str, history: ChatCheckpoints) -> None:
        """`chat` is the id of the chat, and `history` all its checkpoints."""
        self._services = services
        self._chats = chats
        self._turns = turns
        self._chat = chat
        self._history = history
        # The names for the user of the items that were reverted.
        self._done: dict[ChangedItem, str] = {}
        # Those of these items that did not exist before the changes, so that they were removed.
        self._removed: set[ChangedItem] = set()
        # The names for the user of the items that were left alone, each with the reason.
        self._left: dict[ChangedItem, tuple[str, str]] = {}

    async def run(self, ids: Sequence[str]) -> tuple[tuple[ChangeReverted, ...], tuple[ChangeLeft, ...]]:
        """Restore files and cells as they were before these changes. Return the reverted changes, and those that were
        left alone."""
        live = await self._chats.load(self._chat, must_exist=True)
        with live.hold(during_command=True):
            named = self._history.get_items(ids)
            wanted: dict[ChangedItem, set[str]] = {}
            for item, turns in named.values():
                wanted.setdefault(item, set()).update(turns)
            for path in dict.fromkeys(item.path for item in wanted if item.cell):
                await self._revert_cells(
                    path, {item.cell: turns for item, turns in wanted.items() if item.path == path}
                )
            await self._revert_files({item.path: turns for item, turns in wanted.items() if not item.cell})
            if self._done:
                removed = {self._done[item] for item in self._removed}
                report = describe_restored(tuple(self._done.values()), tuple(self._left.values()), removed=removed)
                self._turns.note(self._chat, report, describe_reverted([_name_for_model(item) for item in self._done]))
        items = [(id, named[id][0] if id in named else None) for id in ids]
        return (
            tuple(ChangeReverted(id=id, shown=self._done[item]) for id, item in items if item and item in self._done),
            tuple(self._explain(id, item) for id, item in items if item not in self._done),
        )

    def _explain(self, id: str, item: ChangedItem | None) -> ChangeLeft:
        """Return why a change was left alone. `item` is None if there is no change with this id."""
        name, reason = self._left.get(item, ("", GONE)) if item else ("", GONE)
        return ChangeLeft(id=id, shown=name, why=reason)

    async def _revert_cells(self, path: str, wanted: Mapping[str, Collection[str]]) -> None:
        """Revert changes in a notebook. `wanted` are the turns to revert, by cell."""

        def choose(document: NotebookDocument) -> tuple[ChangesByCell, dict[str, str]]:
            """Return the changes that can be reverted, and why the other cells are left alone."""
            chosen: ChangesByCell = {}
            skipped: dict[str, str] = {}
            for cell, turns in wanted.items():
                changes, current = self._history.list_cell_changes(ChangedItem(path, cell)), document.find_cell(cell)
                review = review_cell(changes, turns, current.source if current else None)
                if review is None or review.refused:
                    skipped[cell] = review.refused if review else GONE
                else:
                    chosen[cell] = review.changes
            return chosen, skipped

        notebooks = find_notebooks(self._services, self._chat)
        for result in await cells.restore_cells(self._chat, path, self._history.cells[path], choose, notebooks):
            # A result without a cell is about the whole notebook.
            for cell in [result.cell] if result.cell else wanted:
                if result.why:
                    self._left[ChangedItem(path, cell)] = (result.label, result.why)
                else:
                    self._done[ChangedItem(path, cell)] = result.label
                    if result.removes_cell:
                        self._removed.add(ChangedItem(path, cell))
                    await self._services.checkpoints.record_cell_decision(result.changes, ChangeDecision.REVERTED)

    async def _revert_files(self, wanted: Mapping[str, Collection[str]]) -> None:
        """Revert changes in files. `wanted` are the turns to revert, by path."""
        files, checkpoints = self._services.workspace.files, self._history.files
        chosen, others, refused = await asyncio.to_thread(file_restore.choose_files, checkpoints, wanted, files)
        restored = await asyncio.to_thread(file_restore.restore_files, chosen, files, others)
        for path in restored.done:
            self._done[ChangedItem(path)] = file_restore.display_path(path, files)
            if path in restored.removed:
                self._removed.add(ChangedItem(path))
            turns = {row.turn for row in chosen[path]}
            await self._services.checkpoints.record_file_decision(self._chat, path, turns, ChangeDecision.REVERTED)
        for path, why in {**refused, **restored.skipped}.items():
            self._left[ChangedItem(path)] = (file_restore.display_path(path, files), why)


def _name_for_model(item: ChangedItem) -> str:
    """Return the name of an item for the model, which knows cells by their ids."""
    return f"{item.path} cell [{item.cell}]" if item.cell else item.path
