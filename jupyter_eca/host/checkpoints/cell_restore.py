"""Builds and parses the checkpoints of cells, and restores cells as they were before a turn changed them.

A cell is restored in the live notebook, which a user may have open. It is only restored if nobody else has changed it
after the turn, so no later work is lost. A change *stands* if it was not reverted, or if the user has undone its
revert.

It must not read the database: `checkpoints` does. `engine.changes.revert` computes the steps, and `file_restore` does
the same for files.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from pydantic import TypeAdapter

from jupyter_eca.engine.changes.revert import ChangeDecision, RecordedChange, RevertPlanner, find_standing
from jupyter_eca.engine.changes.review import CHANGED
from jupyter_eca.errors import ToolError
from jupyter_eca.host.store import CellCheckpoint, ReviewState
from jupyter_eca.protocol.base import DEFERRED
from jupyter_eca.protocol.notebook import CellChange, EditCell, PutCell
from jupyter_eca.workspace.notebooks.cell_changes import find_number, get_cell_id

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from jupyter_eca.protocol.notebook import NotebookDocument
    from jupyter_eca.workspace.ports import Notebooks

    # A function that chooses what to revert. It takes a notebook as it is now. It returns the changes to revert by the
    # id of their cell, and for each cell that is left alone the reason, also by the id of the cell.
    ChangeChooser = Callable[[NotebookDocument], tuple["ChangesByCell", dict[str, str]]]

# The types of those fields of a `CellCheckpoint` that are stored as JSON.
_CHANGES: Final[TypeAdapter[tuple[CellChange, ...]]] = TypeAdapter(tuple[CellChange, ...], config=DEFERRED)
_SOURCES: Final[TypeAdapter[dict[str, str | None]]] = TypeAdapter(dict[str, str | None], config=DEFERRED)
_ORDER: Final[TypeAdapter[tuple[str, ...]]] = TypeAdapter(tuple[str, ...], config=DEFERRED)
_DECIDED: Final[TypeAdapter[dict[str, ChangeDecision]]] = TypeAdapter(dict[str, ChangeDecision], config=DEFERRED)

# The size in bytes of the largest change that is stored with the outputs of its cells. Larger outputs are data, and a
# copy for each change would fill the disk. Sources are always stored.
MAX_BYTES: Final = 10_000_000

# Why the cells of a notebook are not restored, where a notebook can only be changed in an open page.
NOBODY_HAS_IT_OPEN: Final = "Nobody is there who has it open."

ChangesByCell = dict[str, tuple[RecordedChange, ...]]
"""The changes of the cells of a notebook, by cell id, in the order in which they were made."""


@dataclass(frozen=True, slots=True)
class CellRestoreResult:
    """The result for one cell: it was restored, or left alone."""

    path: str
    """The path of the notebook."""
    cell: str
    """The id of the cell, "" if the whole notebook cannot be read or edited."""
    number: int
    """The place of the cell in the notebook, counted from 1; 0 for a cell that is gone."""
    why: str = ""
    """Why the cell was left alone, "" if it was restored."""
    changes: tuple[RecordedChange, ...] = ()
    """The changes that were reverted."""

    @property
    def label(self) -> str:
        """The name of the cell for the user."""
        return f"{self.path} cell {self.number or f'[{self.cell}]'}" if self.cell else self.path

    @property
    def removes_cell(self) -> bool:
        """Whether the cell did not exist before the changes, so that it was removed."""
        return bool(self.changes) and self.changes[0].before is None


def make_checkpoint(
    turn: str,
    path: str,
    undo: Sequence[CellChange],
    after: Mapping[str, str | None],
    order: Sequence[str],
    review: ReviewState = ReviewState.OPEN,
) -> CellCheckpoint:
    """Return the checkpoint for a change of cells. `undo` are the changes that take it back, `after` the sources of the
    cells after it, `order` the ids of all cells before it, and `review` its review state: see
    `workspace.ports.Checkpointer.keep_cells`."""
    text = _CHANGES.dump_json(tuple(undo), by_alias=True)
    if len(text) > MAX_BYTES:
        text = _CHANGES.dump_json(tuple(map(_remove_outputs, undo)), by_alias=True)
    ids = _ORDER.dump_json(tuple(order)).decode()
    return CellCheckpoint(turn, path, text.decode(), dump_sources(after), ids, review=review)


def parse_changes(checkpoints: Iterable[CellCheckpoint]) -> dict[str, tuple[RecordedChange, ...]]:
    """Return the changes in some checkpoints by the path of their notebook, in the order in which they were made."""
    found: dict[str, list[RecordedChange]] = {}
    for checkpoint in checkpoints:
        after, order = _SOURCES.validate_json(checkpoint.after), _ORDER.validate_json(checkpoint.order)
        decided = _DECIDED.validate_json(checkpoint.decided)
        for undo in _CHANGES.validate_json(checkpoint.undo):
            id = get_cell_id(undo)
            change = RecordedChange(
                checkpoint.id,
                checkpoint.turn,
                id,
                undo,
                after.get(id),
                order,
                decided.get(id),
                is_settled=checkpoint.review.is_settled,
            )
            found.setdefault(checkpoint.path, []).append(change)
    return {path: tuple(changes) for path, changes in found.items()}


def group_by_cell(changes: Iterable[RecordedChange]) -> ChangesByCell:
    """Return the changes of a notebook by the id of their cell."""
    found: dict[str, list[RecordedChange]] = {}
    for change in changes:
        found.setdefault(change.cell, []).append(change)
    return {cell: tuple(changes_of_cell) for cell, changes_of_cell in found.items()}


def dump_sources(after: Mapping[str, str | None]) -> str:
    """Return as JSON the sources of cells after a change."""
    return _SOURCES.dump_json(dict(after)).decode()


def merge_sources(after: Iterable[str]) -> dict[str, str | None]:
    """Return the sources of the cells after several changes. `after` has for each change, in their order, the JSON of
    the sources after it."""
    found: dict[str, str | None] = {}
    for text in after:
        found |= _SOURCES.validate_json(text)
    return found


def _remove_outputs(change: CellChange) -> CellChange:
    """Return the change without its outputs, so that it restores only the source."""
    match change:
        case PutCell(cell=cell, was=str(was)):  # the cell exists: its outputs stay as they are
            return EditCell(cell_id=cell.id, was=was, source=cell.source)
        case PutCell(cell=cell):
            return change.model_copy(update={"cell": cell.model_copy(update={"outputs": ()})})
        case _:
            return change


def make_turn_chooser(all_changes: Sequence[RecordedChange], turns: Iterable[str]) -> ChangeChooser:
    """Return a function that chooses those changes of these turns that stand. The turns must be the last ones of the
    chat: otherwise a change of a later turn would be taken for that of somebody else. `all_changes` are all changes of
    the notebook."""
    wanted = set(turns)

    def choose(document: NotebookDocument) -> tuple[ChangesByCell, dict[str, str]]:
        """Return the changes to revert by cell, and why other cells are left alone. See `ChangeChooser`."""
        chosen: ChangesByCell = {}
        skipped: dict[str, str] = {}
        for cell, changes in group_by_cell(change for change in all_changes if change.turn in wanted).items():
            current = document.find_cell(cell)
            standing = find_standing(changes, current.source if current else None)
            if standing.is_broken:
                skipped[cell] = CHANGED
            elif standing.changes:
                chosen[cell] = standing.changes
        return chosen, skipped

    return choose


async def restore_cells(
    chat: str, path: str, all_changes: Sequence[RecordedChange], choose: ChangeChooser, notebooks: Notebooks | None
) -> list[CellRestoreResult]:
    """Revert those changes in a notebook that `choose` returns. `all_changes` are all changes of the notebook.

    All cells are restored by one edit, so that the user can undo it in one step. If that edit is refused, each cell is
    restored by an edit of its own. If `notebooks` is None, nothing can be restored.
    """
    try:
        if notebooks is None:
            raise ToolError(NOBODY_HAS_IT_OPEN)
        document = await notebooks.read(path)
        chosen, skipped = choose(document)
        try:
            document = await _revert(chat, document, all_changes, chosen, notebooks)
        except ToolError:
            for cell in tuple(chosen):
                try:
                    document = await notebooks.read(path)
                    again, refused = choose(document)
                    skipped |= {cell: why for cell, why in refused.items() if cell in chosen}
                    only = {cell: again[cell]} if cell in again else {}
                    document = await _revert(chat, document, all_changes, only, notebooks)
                except ToolError as error:
                    skipped[cell] = str(error)
    except ToolError as error:
        return [CellRestoreResult(path, "", 0, str(error))]
    chosen = {cell: changes for cell, changes in chosen.items() if cell not in skipped}
    restored = [
        CellRestoreResult(path, cell, find_number(document, cell), "", changes) for cell, changes in chosen.items()
    ]
    refused = [CellRestoreResult(path, cell, find_number(document, cell), why) for cell, why in skipped.items()]
    # Restored cells come first. In both groups, cells that are gone come last.
    by_number = sorted(restored + refused, key=lambda result: result.number or len(document.cells) + 1)
    return sorted(by_number, key=lambda result: bool(result.why))


async def _revert(
    chat: str,
    document: NotebookDocument,
    all_changes: Sequence[RecordedChange],
    chosen: ChangesByCell,
    notebooks: Notebooks,
) -> NotebookDocument:
    """Revert the chosen changes by one edit, and return the notebook as it is then. `document` is the notebook as it is
    now, and `all_changes` are all its changes."""
    edits = RevertPlanner(document, all_changes).plan(chosen)
    return await notebooks.edit(chat, document.path, edits) if edits else document
