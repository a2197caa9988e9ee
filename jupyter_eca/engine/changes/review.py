"""Owns the review of one cell: what remains of the changes that some turns made to it, and whether they can be undone.

It must not edit a notebook: `host/operations` does. Its neighbour `revert` plans how changes are taken back.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

from jupyter_eca.engine.changes.revert import ChangeDecision, RecordedChange, find_standing
from jupyter_eca.protocol.notebook import CellType, PutCell

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

# The reasons why a change cannot be taken back, for the user. `host` uses them too, and `GONE` is used only there.
CHANGED: Final = "it was changed since"
GONE: Final = "there is no such change any more"
LATER: Final = "a later turn changed it too: take that back first"

CellChangeKind = Literal["inserted", "edited", "deleted", "moved"]
"""What some changes did to a cell, all together."""


@dataclass(frozen=True, slots=True)
class CellReview:
    """What remains of the changes that some turns made to one cell."""

    changes: tuple[RecordedChange, ...]
    """The changes that an undo takes back, oldest first. They include changes that other turns have made since, if
    these changed only the outputs of the cell."""
    kind: CellChangeKind
    """What the changes did to the cell, all together."""
    turn: str
    """The id of the last turn that made one of the changes."""
    before: str | None
    """The source before the changes; None when there was no cell."""
    after: str | None
    """The source of the cell now; None when there is no cell. If a later turn has changed the cell visibly, it is the
    source that these changes left instead."""
    refused: str = ""
    """Why these changes alone cannot be taken back; empty when they can."""

    @property
    def cell_type(self) -> CellType:
        """The type of a deleted cell; code when the cell was not deleted."""
        cells = (change.undo.cell for change in self.changes if isinstance(change.undo, PutCell))
        return next((cell.cell_type for cell in cells), CellType.CODE)

    @property
    def source_left_by_changes(self) -> str | None:
        """The source that the last of the changes left, if somebody outside of the chat has changed the cell since
        then; else None. None also if the last change deleted the cell."""
        source = self.changes[-1].after
        return None if source == self.after else source

    @property
    def is_settled(self) -> bool:
        """Whether the user need not decide about any of these changes. See `RecordedChange.is_settled`."""
        return all(change.is_settled for change in self.changes)

    @property
    def place_before(self) -> int | None:
        """The number of the cell before the changes, from 1; None when it is unknown."""
        first = self.changes[0]
        is_known = self.before is not None and first.cell in first.order
        return first.order.index(first.cell) + 1 if is_known else None


def review_cell(changes: Sequence[RecordedChange], turns: Collection[str], now: str | None) -> CellReview | None:
    """Return what remains of the changes that these turns made to a cell; None when no visible change remains, or when
    somebody else has deleted the cell since.

    `changes` are all changes that were ever made to the cell, oldest first. `turns` are the ids of the turns. `now` is
    the source of the cell; None when the cell does not exist. Changes that the user has kept are not reviewed again.
    A change *stands* if its effect is still in the notebook. The module `revert` explains how this is found out.
    """
    of_turns = [change for change in changes if change.turn in turns and change.decision is not ChangeDecision.KEPT]
    if not of_turns:
        return None
    standing = find_standing(changes[changes.index(of_turns[0]) :], now)
    # The standing changes: those of these turns, and the others, which other turns made or which the user has kept.
    standing_of_turns = [change for change in standing.changes if change in of_turns]
    others = [change for change in standing.changes if change not in of_turns]
    # If somebody else has changed the cell too, it is not known which changes still stand. Then all undecided changes
    # are shown, and none can be taken back.
    reviewed = [change for change in of_turns if change.decision is None] if standing.is_broken else standing_of_turns
    if not reviewed or (standing.is_broken and now is None):
        return None
    changed_later = any(change.is_visible for change in others)
    before, after = reviewed[0].before, reviewed[-1].after if changed_later else now
    kind = _classify(before, after, moved=any(change.moves for change in reviewed))
    refused = CHANGED if standing.is_broken else LATER if changed_later else ""
    # If none of the others is visible, they changed only the outputs of the cell, and an undo takes them back too.
    to_revert = tuple(reviewed if changed_later or standing.is_broken else standing.changes)
    return CellReview(to_revert, kind, reviewed[-1].turn, before, after, refused) if kind else None


def _classify(before: str | None, after: str | None, *, moved: bool) -> CellChangeKind | None:
    """Return what happened to a cell, from its source before and after; None when nothing did. A source is None when
    there was no cell. `moved` says whether the cell was moved."""
    if before is None or after is None:
        return None if before == after else "inserted" if before is None else "deleted"
    return "edited" if before != after else "moved" if moved else None
