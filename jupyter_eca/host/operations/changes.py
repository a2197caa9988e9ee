"""What turns changed, looked through one by one: listed as it stands now, kept, or taken back."""

from __future__ import annotations

import asyncio
import hashlib
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from jupyter_eca.engine.changes.revert import Decided
from jupyter_eca.engine.changes.review import GONE, review_cell
from jupyter_eca.engine.model.texts import describe_restored, describe_reverted
from jupyter_eca.errors import ToolError
from jupyter_eca.host.checkpoints import cell_restore as cells
from jupyter_eca.host.checkpoints import file_restore
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
from jupyter_eca.workspace.notebooks.cell_changes import number
from jupyter_eca.workspace.shielded import run_to_end

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

    from jupyter_eca.engine.changes.revert import Touch
    from jupyter_eca.host.chat.registry import Chats
    from jupyter_eca.host.checkpoints.cell_restore import Touches
    from jupyter_eca.host.services import Services
    from jupyter_eca.host.store import Checkpoint
    from jupyter_eca.host.turn.turns import Turns
    from jupyter_eca.protocol.notebook import NotebookDocument
    from jupyter_eca.workspace.ports import Files, Notebooks

# Longer texts are data: a diff of them is nothing to read, and takes long to make.
MAX_SHOWN = 300_000


class ChangedItem(NamedTuple):
    """A file, by its real path, or a cell of a notebook, by Jupyter's path and the cell's id."""

    path: str
    cell: str = ""

    @property
    def key(self) -> str:
        return hashlib.sha256(f"{self.path}\0{self.cell}".encode()).hexdigest()[:12]


@dataclass(frozen=True)
class ChatCheckpoints:
    """All checkpoints of a chat, and its turns in their order."""

    turns: Sequence[str]
    files: Mapping[str, Sequence[Checkpoint]]
    cells: Mapping[str, Sequence[Touch]]

    @cached_property
    def items(self) -> dict[str, ChangedItem]:
        """By their keys, in the order in which they were first changed. Folders that were made are none."""
        found = {
            ChangedItem(path): rows[0].turn
            for path, rows in self.files.items()
            if any(one.before or one.after for one in rows)
        }
        for path, touches in self.cells.items():
            for touch in touches:
                if touch.is_visible:
                    found.setdefault(ChangedItem(path, touch.cell), touch.turn)
        place = {turn: at for at, turn in enumerate(self.turns)}
        return {one.key: one for one in sorted(found, key=lambda item: place.get(found[item], len(place)))}

    @cached_property
    def _by_cell(self) -> dict[str, Touches]:
        return {path: cells.by_cell(touches) for path, touches in self.cells.items()}

    def of(self, item: ChangedItem) -> Sequence[Touch]:
        return self._by_cell[item.path][item.cell]

    def find_items(self, ids: Iterable[str]) -> dict[str, tuple[ChangedItem, tuple[str, ...]]]:
        """The item of each id, and the turns: one, or all of the chat. What is not there is left out."""
        found: dict[str, tuple[ChangedItem, tuple[str, ...]]] = {}
        for id in ids:
            turn, _, key = id.rpartition(":")
            if (item := self.items.get(key)) and (not turn or turn in self.turns):
                found[id] = (item, (turn,) if turn else tuple(self.turns))
        return found


@dataclass(frozen=True, slots=True)
class _Now:
    """Notebooks as they are, each read once; in the place of one that cannot be had, why."""

    notebooks: Notebooks | None
    read: dict[str, NotebookDocument | str] = field(default_factory=dict[str, "NotebookDocument | str"])

    async def document(self, path: str) -> NotebookDocument | str:
        if path not in self.read:
            try:
                if self.notebooks is None:
                    raise ToolError(cells.NOBODY)
                self.read[path] = await self.notebooks.read(path)
            except ToolError as error:
                self.read[path] = str(error)
        return self.read[path]


class Changes:
    """`decided` are told of each chat whose changes somebody kept or took back."""

    def __init__(self, services: Services, chats: Chats, turns: Turns) -> None:
        self.on_decision: list[Callable[[str], None]] = []
        self._services = services
        self._chats = chats
        self._turns = turns

    async def list(
        self, chat: str, turn: str | None = None, extent: ChangeExtent = ChangeExtent.LAST
    ) -> tuple[Change, ...]:
        """Raises: UnknownChat."""
        await self._chats.load(chat, must_exist=True)
        kept, now = await self._read_kept(chat), _Now(find_notebooks(self._services, chat))
        if turn is None and extent is ChangeExtent.CHAT:
            return tuple(await self._list_changes(kept, now, "", kept.turns))
        found: list[Change] = []
        for one in reversed(kept.turns) if turn is None else (turn,):
            found = await self._list_changes(kept, now, one, (one,)) + found
            if found and extent is ChangeExtent.LAST:
                break
        return tuple(found)

    async def keep(self, chat: str, ids: Iterable[str]) -> None:
        """From now on they are as the user wants them, and so is what came before them. Raises: UnknownChat."""
        await self._chats.load(chat, must_exist=True)
        await run_to_end(self._keep(chat, ids))
        self._tell(chat)

    async def revert(self, chat: str, ids: Iterable[str]) -> tuple[tuple[ChangeReverted, ...], tuple[ChangeLeft, ...]]:
        """Each as it was before; the chat and the model are told. Raises: BusyError, UnknownChat."""
        found = await run_to_end(
            _Reverting(self._services, self._chats, self._turns, chat, await self._read_kept(chat)).run(tuple(ids))
        )
        self._tell(chat)
        return found

    def _tell(self, chat: str) -> None:
        for told in self.on_decision:
            told(chat)

    async def _read_kept(self, chat: str) -> ChatCheckpoints:
        checkpoints = self._services.checkpoints
        return ChatCheckpoints(
            await checkpoints.turns(chat), await checkpoints.files(chat), await checkpoints.touches(chat)
        )

    async def _keep(self, chat: str, ids: Iterable[str]) -> None:
        kept, checkpoints = await self._read_kept(chat), self._services.checkpoints
        for item, turns in kept.find_items(ids).values():
            through = kept.turns[: kept.turns.index(turns[-1]) + 1]
            if not item.cell:
                open = {one.turn for one in kept.files[item.path] if one.turn in through and one.decided is None}
                await checkpoints.decide(chat, item.path, open, Decided.KEPT)
            elif touches := [one for one in kept.of(item) if one.turn in through and one.decided is None]:
                await checkpoints.decide_cell(touches, Decided.KEPT)

    async def _list_changes(self, kept: ChatCheckpoints, now: _Now, label: str, turns: Collection[str]) -> list[Change]:
        """Ids are made of the turn that was asked about, and the item."""
        found: list[Change | None] = []
        for at, (key, item) in enumerate(kept.items.items(), 1):
            about = _About(f"{label}:{key}", at, item, turns)
            if not item.cell:
                files = self._services.workspace.files
                found.append(await run_read(_file, kept.files[item.path], files, about))
            elif any(touch.turn in turns for touch in kept.of(item)):
                found.append(_cell(kept.of(item), await now.document(item.path), about))
        return [one for one in found if one is not None]


class _About(NamedTuple):
    id: str
    number: int
    item: ChangedItem
    turns: Collection[str]


def _file(rows: Sequence[Checkpoint], files: Files, about: _About) -> ChangedFile | None:
    one = file_restore.review_file(rows, about.turns, files)
    if one is None:
        return None
    path = file_restore.display_path(about.item.path, files)
    return ChangedFile(
        id=about.id,
        number=about.number,
        turn=one.rows[-1].turn,
        path=path,
        text=_text(path, *map(_decode, (one.before, one.after))),
        refused=one.refused or None,
        kind=one.kind,
    )


def _cell(of_cell: Sequence[Touch], document: NotebookDocument | str, about: _About) -> ChangedCell | None:
    """What the turn left stands for a notebook that cannot be had."""
    had = None if isinstance(document, str) else document
    there = had.cell(about.item.cell) if had else None
    now = there.source if there else None
    one = review_cell(of_cell, about.turns, now if had else of_cell[-1].left)
    if one is None:
        return None
    return ChangedCell(
        id=about.id,
        number=about.number,
        turn=one.turn,
        path=about.item.path,
        text=_text(about.item.path, one.before, one.after),
        refused=document if isinstance(document, str) else one.refused or None,
        kind=one.kind,
        cell_id=about.item.cell,
        cell_type=there.cell_type if there else one.cell_type,
        place=number(had, about.item.cell) or None if had else None,
        place_before=one.place_before,
        left=one.left,
    )


def _text(path: str, before: str | _Unshown | None, after: str | _Unshown | None) -> ChangedText | None:
    if isinstance(before, _Unshown) or isinstance(after, _Unshown):
        return None
    made = text_file.describe_change(path, before, after or "")
    return ChangedText(
        before=before, after=after, diff=made.diff, lines_added=made.lines_added, lines_removed=made.lines_removed
    )


class _Unshown:
    """In the place of what is no text, or too much of it."""


def _decode(content: bytes | None) -> str | _Unshown | None:
    if content is None:
        return None
    try:
        return content.decode("utf-8") if len(content) <= MAX_SHOWN and b"\0" not in content else _Unshown()
    except UnicodeDecodeError:
        return _Unshown()


# -- taking back


class _Reverting:
    """One request. All of a notebook is one step to undo in it."""

    def __init__(self, services: Services, chats: Chats, turns: Turns, chat: str, kept: ChatCheckpoints) -> None:
        self._services = services
        self._chats = chats
        self._turns = turns
        self._chat = chat
        self._kept = kept
        self._done: dict[ChangedItem, str] = {}
        self._left: dict[ChangedItem, tuple[str, str]] = {}

    async def run(self, ids: Sequence[str]) -> tuple[tuple[ChangeReverted, ...], tuple[ChangeLeft, ...]]:
        live = await self._chats.load(self._chat, must_exist=True)
        with live.hold(commanded=True):
            named = self._kept.find_items(ids)
            wanted: dict[ChangedItem, set[str]] = {}
            for item, turns in named.values():
                wanted.setdefault(item, set()).update(turns)
            for path in dict.fromkeys(item.path for item in wanted if item.cell):
                await self._cells(path, {item.cell: turns for item, turns in wanted.items() if item.path == path})
            await self._files({item.path: turns for item, turns in wanted.items() if not item.cell})
            if self._done:
                report = describe_restored(tuple(self._done.values()), tuple(self._left.values()))
                self._turns.note(self._chat, report, describe_reverted([_name(item) for item in self._done]))
        found = [(id, named[id][0] if id in named else None) for id in ids]
        return (
            tuple(ChangeReverted(id=id, shown=self._done[one]) for id, one in found if one and one in self._done),
            tuple(self._why(id, one) for id, one in found if one not in self._done),
        )

    def _why(self, id: str, item: ChangedItem | None) -> ChangeLeft:
        shown, why = self._left.get(item, ("", GONE)) if item else ("", GONE)
        return ChangeLeft(id=id, shown=shown, why=why)

    async def _cells(self, path: str, wanted: Mapping[str, Collection[str]]) -> None:
        def choose(document: NotebookDocument) -> tuple[Touches, dict[str, str]]:
            taken: Touches = {}
            left: dict[str, str] = {}
            for cell, turns in wanted.items():
                there = document.cell(cell)
                one = review_cell(self._kept.of(ChangedItem(path, cell)), turns, there.source if there else None)
                if one is None or one.refused:
                    left[cell] = one.refused if one else GONE
                else:
                    taken[cell] = one.touches
            return taken, left

        notebooks = find_notebooks(self._services, self._chat)
        for back in await cells.put_back(self._chat, path, self._kept.cells[path], choose, notebooks):
            for cell in [back.cell] if back.cell else wanted:
                if back.why:
                    self._left[ChangedItem(path, cell)] = (back.shown, back.why)
                else:
                    self._done[ChangedItem(path, cell)] = back.shown
                    await self._services.checkpoints.decide_cell(back.touches, Decided.REVERTED)

    async def _files(self, wanted: Mapping[str, Collection[str]]) -> None:
        files, kept = self._services.workspace.files, self._kept.files
        chosen, others, refused = await asyncio.to_thread(file_restore.choose, kept, wanted, files)
        back = await asyncio.to_thread(file_restore.put_back, chosen, files, others)
        for path in back.done:
            self._done[ChangedItem(path)] = file_restore.display_path(path, files)
            turns = {one.turn for one in chosen[path]}
            await self._services.checkpoints.decide(self._chat, path, turns, Decided.REVERTED)
        for path, why in {**refused, **back.left}.items():
            self._left[ChangedItem(path)] = (file_restore.display_path(path, files), why)


def _name(item: ChangedItem) -> str:
    """For the model, which knows cells by their ids."""
    return f"{item.path} cell [{item.cell}]" if item.cell else item.path
