"""One cell under review: what stands of what some turns did to it, and whether that can be taken back alone.

It must not touch a notebook: `host/operations` does. How changes are taken back is in `revert`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

from jupyter_eca.engine.changes.revert import Decided, Touch, find_standing
from jupyter_eca.protocol.notebook import CellType, PutCell

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

CHANGED: Final = "it was changed since"
GONE: Final = "there is no such change any more"
LATER: Final = "a later turn changed it too: take that back first"

Kind = Literal["inserted", "edited", "deleted", "moved"]


@dataclass(frozen=True, slots=True)
class Reviewed:
    """What stands of the changes of some turns to one cell."""

    touches: tuple[Touch, ...]
    """The changes to take back."""
    kind: Kind
    """What a reader would call it."""
    turn: str
    """The last turn that had a part in it."""
    before: str | None
    """The source before the changes; None for no cell."""
    after: str | None
    """The source after them; None for no cell."""
    refused: str = ""
    """Why it cannot be taken back alone, empty when it can."""

    @property
    def cell_type(self) -> CellType:
        """The type of a cell that is gone."""
        cells = (touch.undo.cell for touch in self.touches if isinstance(touch.undo, PutCell))
        return next((cell.cell_type for cell in cells), CellType.CODE)

    @property
    def left(self) -> str | None:
        """The source that the last change left, where somebody has changed the cell since."""
        source = self.touches[-1].left
        return None if source == self.after else source

    @property
    def place_before(self) -> int | None:
        """Where the cell stood, counted from 1; None where that is not known."""
        first = self.touches[0]
        known = self.before is not None and first.cell in first.order
        return first.order.index(first.cell) + 1 if known else None


def review_cell(of_cell: Sequence[Touch], turns: Collection[str], now: str | None) -> Reviewed | None:
    """Return what stands of the changes of these turns, None when a reader would call nothing of it a change.

    `of_cell` is all that was ever done to the cell, `now` its source.
    """
    under_review = [touch for touch in of_cell if touch.turn in turns and touch.decided is not Decided.KEPT]
    if not under_review:
        return None
    standing = find_standing(of_cell[of_cell.index(under_review[0]) :], now)
    stands = [touch for touch in standing.touches if touch in under_review]
    later = [touch for touch in standing.touches if touch not in under_review]
    if standing.broken:
        stands = [touch for touch in under_review if touch.decided is None]
    if not stands or (standing.broken and now is None):
        return None
    over = any(touch.is_visible for touch in later)
    before, after = stands[0].before, stands[-1].left if over else now
    kind = _classify(before, after, moved=any(touch.moves for touch in stands))
    refused = CHANGED if standing.broken else LATER if over else ""
    touches = tuple(stands if over or standing.broken else standing.touches)
    return Reviewed(touches, kind, stands[-1].turn, before, after, refused) if kind else None


def _classify(before: str | None, after: str | None, *, moved: bool) -> Kind | None:
    if before is None or after is None:
        return None if before == after else "inserted" if before is None else "deleted"
    return "edited" if before != after else "moved" if moved else None
