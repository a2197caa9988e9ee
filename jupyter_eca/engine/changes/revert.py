"""Plans how the assistant's changes to the cells of a notebook are taken back (reverted).

It must not edit a notebook: `host/operations` does. Its neighbour `review` computes what the user sees of the changes.

It starts from the notebook as it is now. A change *stands* if its effect is still in the notebook: the cell has the
source that the change left. If the cell has the source from before the change, the user has undone the change by hand,
and nothing has to be done for it.

    changes of a cell:  "a" -> "b",  "b" -> "c"
    source now "c":     both changes stand
    source now "b":     only the first one stands
    source now "a":     neither stands; the user has undone both
    source now "x":     neither stands; somebody else has changed the cell

The place of a cell is found by the order of the cells, not by an index, because other cells may have been added or
deleted. A cell is put after the nearest cell that was before it and that has not moved.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from jupyter_eca.protocol.notebook import DeleteCell, EditCell, InsertCell, MoveCell, NotebookCell, PutCell

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from jupyter_eca.protocol.notebook import CellChange, NotebookDocument


class ChangeDecision(StrEnum):
    """What the user has decided about a change."""

    KEPT = "kept"
    """The user accepted it."""
    REVERTED = "reverted"
    """The user took it back."""


@dataclass(frozen=True, slots=True)
class RecordedChange:
    """One change of one cell that a turn has made. It is stored in a checkpoint, which is made before each change."""

    id: int
    """The number of the checkpoint that was made before the change."""
    turn: str
    """The id of the turn that made the change."""
    cell: str
    """The id of the cell."""
    undo: CellChange
    """The opposite change, which takes this one back."""
    after: str | None
    """The source of the cell after the change; None when the change deleted the cell."""
    order: tuple[str, ...] = ()
    """The ids of all cells of the notebook before the change, in order; empty when they are unknown."""
    decision: ChangeDecision | None = None
    """What the user has decided about the change; None for nothing yet."""
    is_settled: bool = False
    """Whether the user need not decide about the change: it was approved before it was made, or the user has set
    `review` to `never`."""

    @property
    def before(self) -> str | None:
        """The source of the cell before the change; None when the change inserted the cell."""
        match self.undo:
            case PutCell(cell=cell) | InsertCell(cell=cell):
                return cell.source
            case EditCell(source=source):
                return source
            case DeleteCell():
                return None
            case MoveCell():
                return self.after

    @property
    def moves(self) -> bool:
        """Whether the change moved the cell."""
        return isinstance(self.undo, MoveCell)

    @property
    def is_visible(self) -> bool:
        """Whether the change moved the cell or changed its source. A run that changed only outputs is not shown."""
        return self.moves or self.before != self.after


@dataclass(frozen=True, slots=True)
class StandingChanges:
    """The changes of one cell that stand, see the top of this module."""

    changes: tuple[RecordedChange, ...]
    """These changes, from the oldest to the newest."""
    is_broken: bool
    """Whether the cell has a source that none of the changes explains: somebody else has changed it."""


def find_standing(changes: Iterable[RecordedChange], now: str | None) -> StandingChanges:
    """Return the changes of a cell that stand.

    `changes` are all changes of the cell since some time, oldest first. `now` is its source; None when the cell does
    not exist.
    """
    standing: list[RecordedChange] = []
    broken = False
    # From the newest change back to the oldest. `now` becomes the source that the cell had before each change.
    for change in reversed(list(changes)):
        # A change that was taken back stands again if the user has undone that with the undo of the page.
        restored = now == change.after != change.before
        if change.decision is ChangeDecision.REVERTED and not restored:
            continue
        if not standing and now in {change.after, change.before}:
            broken = False  # the user has undone the newer changes by hand
        if now == change.after:
            standing.append(change)
            now = change.before
        elif now != change.before:
            broken = True
    return StandingChanges(tuple(reversed(standing)), broken)


@dataclass(frozen=True, slots=True)
class RevertPlanner:
    """Plans the steps that take back changes of one notebook."""

    document: NotebookDocument
    """The notebook as it is now."""
    all_changes: Sequence[RecordedChange]
    """All changes that were ever made to its cells, from the oldest to the newest."""

    def plan(self, chosen: Mapping[str, Sequence[RecordedChange]]) -> list[CellChange]:
        """Return the steps that take back the chosen changes, in the order in which they must be made.

        `chosen` has, by the id of the cell, the changes to take back: the newest ones that stand, oldest first. The
        steps are in this order: delete cells that were inserted, restore sources, put cells back to their places.
        """
        now = {cell.id: cell.source for cell in self.document.cells}
        added = [cell for cell, changes in chosen.items() if changes[0].before is None and cell in now]
        steps: list[CellChange] = [DeleteCell(cell_id=cell, was=now[cell]) for cell in added]
        for cell, changes in chosen.items():
            if cell in now and cell not in added and (content := _restore_content(changes, now[cell])) is not None:
                steps.append(content)
        misplaced = {cell: changes for cell, changes in chosen.items() if self._needs_place(cell, changes)}
        return steps + self._restore_places(misplaced, [id for id in now if id not in added])

    def _needs_place(self, cell: str, changes: Sequence[RecordedChange]) -> bool:
        """Return whether a cell must be put back to its place: it was deleted, or one of its changes moved it."""
        exists = self.document.find_cell(cell) is not None
        return changes[0].before is not None and (not exists or any(change.moves for change in changes))

    def _restore_places(self, misplaced: Mapping[str, Sequence[RecordedChange]], ids: list[str]) -> list[CellChange]:
        """Return the steps that put deleted and moved cells back. `ids` are the cells of the notebook, in order.

        One cell after the other is put beside an *anchor*: the nearest cell in the old order that has not moved.
        """
        chosen = {change.id for changes in misplaced.values() for change in changes}
        # Cells that stay moved, because the move is not among the chosen changes.
        moves = (change for change in self.all_changes if change.moves and change.id not in chosen)
        moved = {change.cell for change in moves if change.decision is not ChangeDecision.REVERTED}
        original = restore_order(self.all_changes)
        # Those that stay moved come last, because their place says nothing about where other cells were.
        by_place = sorted(
            misplaced, key=lambda cell: (cell in moved, original.index(cell) if cell in original else len(original))
        )
        unreliable = moved | misplaced.keys()
        steps: list[CellChange] = []
        for cell in by_place:
            changes = misplaced[cell]
            old_order = _get_order(changes) if cell in moved else original
            others = [id for id in ids if id != cell]
            anchors = find_unmoved(others, old_order, set() if cell in moved else unreliable)
            place = _compute_index(cell, others, old_order, anchors)
            index = _get_index(changes) if place is None else place
            index = min(index, len(others))
            if cell not in ids:
                steps.append(PutCell(index=index, cell=_get_snapshot(changes)))
            elif ids.index(cell) != index:
                steps.append(MoveCell(cell_id=cell, index=index))
            ids = [*others[:index], cell, *others[index:]]
            unreliable -= {cell} - moved  # Now it is at its place, so the next cells can be put beside it.
        return steps


def restore_order(changes: Iterable[RecordedChange]) -> tuple[str, ...]:
    """Return the ids of all cells that ever were in the notebook, in the order that they would have if no cell had been
    moved or deleted.

    Each change knows the order before it. A cell that appears for the first time is put after the cell before it.
    """
    order: list[str] = []
    moved: set[str] = set()
    for change in changes:
        last = -1  # the place in `order` of the nearest cell before that has not moved
        # An order without a new cell is skipped.
        for id in () if set(order).issuperset(change.order) else change.order:
            if id not in order:
                order.insert(last + 1, id)
            if id not in moved:
                last = order.index(id)
        if change.moves:
            moved.add(change.cell)
    return tuple(order)


def find_unmoved(ids: Sequence[str], order: Sequence[str], unreliable: Collection[str]) -> set[str]:
    """Return the largest set of cells of `ids` that have the same order as in `order`, without the `unreliable` ones.

    It is the longest increasing subsequence of their places in `order`: `["a", "c", "b", "d"]` with the order
    `["a", "b", "c", "d"]` -> `{"a", "b", "d"}`.
    """
    rank = {id: place for place, id in enumerate(order)}
    # Both lists have at index n the best subsequence of n + 1 cells: `runs` its cells, and `ends` the place of its last
    # cell. The best subsequence is the one that ends earliest.
    ends: list[int] = []
    runs: list[tuple[str, ...]] = []
    for id in ids:
        if id in rank and id not in unreliable:
            run_index = bisect_left(ends, rank[id])
            run = (*(runs[run_index - 1] if run_index else ()), id)
            ends[run_index : run_index + 1], runs[run_index : run_index + 1] = [rank[id]], [run]
    return set(runs[-1]) if runs else set()


def _compute_index(cell: str, ids: Sequence[str], order: Sequence[str], anchors: Collection[str]) -> int | None:
    """Return the index at which a cell belongs; None when the old order has no such cell, or no anchor.

    `ids` is the order of the cells now, and `order` the old one. `anchors` are the cells that have not moved.
    """
    if cell not in order:
        return None
    rank = order.index(cell)
    before = next((id for id in reversed(order[:rank]) if id in anchors), None)
    if before is not None:
        return ids.index(before) + 1
    after = next((id for id in order[rank + 1 :] if id in anchors), None)
    return None if after is None else ids.index(after)


def _get_order(changes: Sequence[RecordedChange]) -> tuple[str, ...]:
    """Return the order of the cells before the first of these changes that moved or deleted the cell."""
    return next((change.order for change in changes if change.moves or change.after is None), ())


def _get_index(changes: Sequence[RecordedChange]) -> int:
    """Return the index of the cell before the first of these changes that moved or deleted it."""
    return next((change.undo.index for change in changes if isinstance(change.undo, MoveCell | PutCell)), 0)


def _restore_content(changes: Sequence[RecordedChange], now: str) -> CellChange | None:
    """Return the change that restores the source and the outputs of a cell; None when they have not changed."""
    undo = next((change.undo for change in changes if isinstance(change.undo, PutCell | EditCell)), None)
    return None if undo is None else undo.model_copy(update={"was": now})


def _get_snapshot(changes: Sequence[RecordedChange]) -> NotebookCell:
    """Return a deleted cell, with its source before the first of these changes.

    The change that deleted the cell has all of it. The other changes may have only its source.
    """
    cell = next(change.undo.cell for change in changes if isinstance(change.undo, PutCell))
    return cell.model_copy(update={"source": changes[0].before or ""})
