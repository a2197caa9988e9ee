"""What was done to the cells of a notebook, and what takes it back, worked out on the notebook as it was read.

Sources tell whether a change still stands: from one change of a cell to the next, and now, its source must be what the
last one left. One that is as it was before a change needs nothing for that: it was never made, or undone by hand.

Places are told by order, not by number: whatever else came, went or was left alone, a cell goes back to behind the
nearest cell that was before it and stands where it stood.

It must not touch a notebook: `host/operations` does. What a reader is shown of it is worked out in `review`.
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


class Decided(StrEnum):
    """What the user made of a change: accepted, or taken back."""

    KEPT = "kept"
    REVERTED = "reverted"


@dataclass(frozen=True, slots=True)
class Touch:
    """One change of one cell."""

    id: int
    """The number of its checkpoint."""
    turn: str
    """The turn that made it."""
    cell: str
    """The id of the cell."""
    undo: CellChange
    """What takes it back."""
    left: str | None
    """The source that it left; None for no cell."""
    order: tuple[str, ...] = ()
    """The ids of the notebook before it in their order; empty where they are not known."""
    decided: Decided | None = None
    """What the user made of it; None for nothing yet."""

    @property
    def before(self) -> str | None:
        """The source that the cell had; None for no cell."""
        match self.undo:
            case PutCell(cell=cell) | InsertCell(cell=cell):
                return cell.source
            case EditCell(source=source):
                return source
            case DeleteCell():
                return None
            case MoveCell():
                return self.left

    @property
    def moves(self) -> bool:
        """Whether it moved the cell."""
        return isinstance(self.undo, MoveCell)

    @property
    def is_visible(self) -> bool:
        """Whether it is more than a run. What a run put out goes with the source that it ran."""
        return self.moves or self.before != self.left


@dataclass(frozen=True, slots=True)
class Standing:
    """The changes of one cell that stand."""

    touches: tuple[Touch, ...]
    broken: bool
    """Whether somebody else has changed the cell in between."""


def find_standing(touches: Iterable[Touch], now: str | None) -> Standing:
    """Return which changes of a cell stand. `touches` are all since some time, `now` is its source."""
    standing: list[Touch] = []
    broken = False
    for touch in reversed(list(touches)):
        # One that was taken back stands again when the user has undone that in the page.
        restored = now == touch.left != touch.before
        if touch.decided is Decided.REVERTED and not restored:
            continue
        if now == touch.left:
            standing.append(touch)
            now = touch.before
        elif now != touch.before:
            broken = True
    return Standing(tuple(reversed(standing)), broken)


@dataclass(frozen=True, slots=True)
class Steps:
    """Works out what is to be done in a notebook."""

    document: NotebookDocument
    """The notebook as it was read."""
    every: Sequence[Touch]
    """All changes that were ever made to its cells."""

    def revert(self, chosen: Mapping[str, Sequence[Touch]]) -> list[CellChange]:
        """Return the steps that take changes back, in order.

        `chosen` are these changes: of each cell the newest ones that stand, in their order.
        """
        now = {cell.id: cell.source for cell in self.document.cells}
        added = [cell for cell, touches in chosen.items() if touches[0].before is None and cell in now]
        steps: list[CellChange] = [DeleteCell(cell_id=cell, was=now[cell]) for cell in added]
        for cell, touches in chosen.items():
            if cell in now and cell not in added and (content := _restore_content(touches, now[cell])) is not None:
                steps.append(content)
        homeless = {cell: touches for cell, touches in chosen.items() if self._lacks_place(cell, touches)}
        return steps + self._restore_places(homeless, [id for id in now if id not in added])

    def _lacks_place(self, cell: str, touches: Sequence[Touch]) -> bool:
        exists = self.document.cell(cell) is not None
        return touches[0].before is not None and (not exists or any(touch.moves for touch in touches))

    def _restore_places(self, homeless: Mapping[str, Sequence[Touch]], ids: list[str]) -> list[CellChange]:
        chosen = {touch.id for touches in homeless.values() for touch in touches}
        moved = {t.cell for t in self.every if t.moves and t.id not in chosen and t.decided is not Decided.REVERTED}
        first = restore_order(self.every)
        # Cells that stay where a change has put them tell nothing of where others were, and come last.
        order = sorted(homeless, key=lambda cell: (cell in moved, first.index(cell) if cell in first else len(first)))
        unfit = moved | homeless.keys()
        steps: list[CellChange] = []
        for cell in order:
            touches = homeless[cell]
            was = _get_order(touches) if cell in moved else first
            rest = [id for id in ids if id != cell]
            anchors = find_steady(rest, was, set() if cell in moved else unfit)
            place = _find_place(cell, rest, was, anchors)
            index = _get_index(touches) if place is None else place
            index = min(index, len(rest))
            if cell not in ids:
                steps.append(PutCell(index=index, cell=_get_snapshot(touches)))
            elif ids.index(cell) != index:
                steps.append(MoveCell(cell_id=cell, index=index))
            ids = [*rest[:index], cell, *rest[index:]]
            unfit -= {cell} - moved
        return steps


def restore_order(every: Iterable[Touch]) -> tuple[str, ...]:
    """Return all cells that there were, in the order in which they would stand if none had been moved or deleted."""
    order: list[str] = []
    moved: set[str] = set()
    for touch in every:
        last = -1
        for id in () if set(order).issuperset(touch.order) else touch.order:
            if id not in order:
                order.insert(last + 1, id)
            if id not in moved:
                last = order.index(id)
        if touch.moves:
            moved.add(touch.cell)
    return tuple(order)


def find_steady(ids: Sequence[str], order: Sequence[str], unfit: Collection[str]) -> set[str]:
    """Return as many cells as possible that stand in the order in which they were."""
    rank = {id: place for place, id in enumerate(order)}
    ends: list[int] = []
    runs: list[tuple[str, ...]] = []
    for id in ids:
        if id in rank and id not in unfit:
            at = bisect_left(ends, rank[id])
            run = (*(runs[at - 1] if at else ()), id)
            ends[at : at + 1], runs[at : at + 1] = [rank[id]], [run]
    return set(runs[-1]) if runs else set()


def _find_place(cell: str, ids: Sequence[str], order: Sequence[str], anchors: Collection[str]) -> int | None:
    """Return where a cell belongs, None when nothing tells."""
    if cell not in order:
        return None
    rank = order.index(cell)
    before = next((id for id in reversed(order[:rank]) if id in anchors), None)
    if before is not None:
        return ids.index(before) + 1
    after = next((id for id in order[rank + 1 :] if id in anchors), None)
    return None if after is None else ids.index(after)


def _get_order(touches: Sequence[Touch]) -> tuple[str, ...]:
    """Return the order of the notebook when the first of these changes took the cell from its place."""
    return next((touch.order for touch in touches if touch.moves or touch.left is None), ())


def _get_index(touches: Sequence[Touch]) -> int:
    return next((t.undo.index for t in touches if isinstance(t.undo, MoveCell | PutCell)), 0)


def _restore_content(touches: Sequence[Touch], now: str) -> CellChange | None:
    """Return what puts a cell's source and outputs back, None when they are as they were."""
    undo = next((touch.undo for touch in touches if isinstance(touch.undo, PutCell | EditCell)), None)
    return None if undo is None else undo.model_copy(update={"was": now})


def _get_snapshot(touches: Sequence[Touch]) -> NotebookCell:
    """Return a cell that is gone. Who deleted it kept it whole; an older source may be that of a smaller copy."""
    cell = next(touch.undo.cell for touch in touches if isinstance(touch.undo, PutCell))
    return cell.model_copy(update={"source": touches[0].before or ""})
