"""One cell under review: what stands of what some turns did to it, and whether that can be taken back alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

from jupyter_eca.engine.changes.revert import Decided, Touch, standing
from jupyter_eca.protocol.notebook import CellType, PutCell

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

CHANGED: Final = "it was changed since"
GONE: Final = "there is no such change any more"
LATER: Final = "a later turn changed it too: take that back first"

Kind = Literal["inserted", "edited", "deleted", "moved"]


@dataclass(frozen=True, slots=True)
class Reviewed:
    """`touches` is what to take back; `before` and `after` are sources, None for no cell."""

    touches: tuple[Touch, ...]
    kind: Kind
    turn: str
    before: str | None
    after: str | None
    refused: str = ""

    @property
    def cell_type(self) -> CellType:
        """Of a cell that is gone."""
        kept = (touch.undo.cell for touch in self.touches if isinstance(touch.undo, PutCell))
        return next((cell.cell_type for cell in kept), CellType.CODE)

    @property
    def left(self) -> str | None:
        """What the last of them left of the cell, where somebody has gone on from there."""
        left = self.touches[-1].left
        return None if left == self.after else left

    @property
    def place_before(self) -> int | None:
        """From 1."""
        first = self.touches[0]
        known = self.before is not None and first.cell in first.order
        return first.order.index(first.cell) + 1 if known else None


def reviewed(of_cell: Sequence[Touch], turns: Collection[str], now: str | None) -> Reviewed | None:
    """None when nothing stands that a reader would call a change. `of_cell` is all that was ever done to the cell."""
    mine = [touch for touch in of_cell if touch.turn in turns and touch.decided is not Decided.KEPT]
    if not mine:
        return None
    found = standing(of_cell[of_cell.index(mine[0]) :], now)
    stands = [touch for touch in found.touches if touch in mine]
    later = [touch for touch in found.touches if touch not in mine]
    if found.broken:
        stands = [touch for touch in mine if touch.decided is None]
    if not stands or (found.broken and now is None):
        return None
    over = any(touch.shows for touch in later)
    before, after = stands[0].before, stands[-1].left if over else now
    kind = _kind(before, after, moved=any(touch.moves for touch in stands))
    refused = CHANGED if found.broken else LATER if over else ""
    touches = tuple(stands if over or found.broken else found.touches)
    return Reviewed(touches, kind, stands[-1].turn, before, after, refused) if kind else None


def _kind(before: str | None, after: str | None, *, moved: bool) -> Kind | None:
    if before is None or after is None:
        return None if before == after else "inserted" if before is None else "deleted"
    return "edited" if before != after else "moved" if moved else None
