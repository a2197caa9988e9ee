"""Divides edits and moves of cells into parts, each of which the user can approve or leave out.

The parts are computed once, when the user sees the preview of the tool call. The page shows exactly these parts, and
the edits that are made consist of them. The module must not decide which parts are approved: the user does.

For example, an edit of `a\\nb\\nc` to `A\\nb\\nC` has two parts: the lines 1 and 3. If the user leaves out the second
part, the source becomes `A\\nb\\nc`. If the user leaves out both, and the call changes other cells too, the cell stays
as it is. If the call also moves the cell, the move is a third part.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import accumulate
from typing import TYPE_CHECKING, Final

from jupyter_eca.protocol.content import ChangePart, FileChangeDetails, MovePart
from jupyter_eca.protocol.notebook import CellType, DeleteCell, EditCell, InsertCell, MoveCell, format_cell
from jupyter_eca.workspace.files import text_file
from jupyter_eca.workspace.notebooks.cell_changes import get_cell_id
from jupyter_eca.workspace.notebooks.loaded_content import find_loaded

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence

    from jupyter_eca.protocol.notebook import CellChange

# The types of cells, as a pattern.
_TYPES: Final = "|".join(CellType)

# Longer cells have no parts, because the comparison takes quadratic time.
_MAX_LINES: Final = 2000


def divide_changes(changes: Sequence[CellChange]) -> tuple[ChangePart | MovePart, ...]:
    """Return the parts of the changes of one call, in order. There are none when nothing can be left out.

    A cell has parts if the call only edits and moves it. Several edits of a cell count as one edit, from its first
    source to its last one, and several moves are one part. In the order of the parts, those of an edit come where the
    cell is first edited, and that of a move where the cell is first moved.
    """
    kinds: dict[str, set[str]] = {}
    for change in changes:
        kinds.setdefault(get_cell_id(change), set()).add(change.kind)
    edits = _join_edits(changes)
    parts: list[ChangePart | MovePart] = []
    # The changes that are made in any case, and those that were looked at: the id of the cell and the kind of each.
    fixed: set[tuple[str, str]] = set()
    seen: set[tuple[str, str]] = set()
    for change in changes:
        id, key = get_cell_id(change), (get_cell_id(change), change.kind)
        if key in seen:
            continue
        seen.add(key)
        own: list[ChangePart | MovePart] = []
        if kinds[id] <= {"edit", "move"}:
            own += [MovePart(kind="move", cell_id=id)] if isinstance(change, MoveCell) else _compute_parts(edits[id])
        parts += own
        fixed |= set() if own else {key}
    return tuple(parts) if len(parts) + len(fixed) > 1 else ()


def _join_edits(changes: Iterable[CellChange]) -> dict[str, EditCell]:
    """Return one edit for each cell that is edited, from the source before its first edit to that after its last."""
    joined: dict[str, EditCell] = {}
    for change in changes:
        if isinstance(change, EditCell):
            first = joined.setdefault(change.cell_id, change)
            joined[change.cell_id] = first.model_copy(update={"source": change.source})
    return joined


def _compute_parts(edit: EditCell) -> tuple[ChangePart, ...]:
    """Return the parts of an edit. A part replaces adjacent whole lines. There are no parts when there are too many
    lines to compare."""
    was, source = edit.was, edit.source
    old_lines, new_lines = was.split("\n"), source.split("\n")
    if max(len(old_lines), len(new_lines)) > _MAX_LINES:
        return ()
    old_starts, new_starts = _list_line_starts(old_lines), _list_line_starts(new_lines)
    parts: list[ChangePart] = []
    matcher = SequenceMatcher(None, old_lines, new_lines, autojunk=False)
    for tag, old_first, old_last, new_first, new_last in matcher.get_opcodes():
        if tag == "equal":
            continue
        # Positions of characters: `was[start:end]` becomes `source[new_start:new_end]`.
        start, end = old_starts[old_first], old_starts[old_last]
        new_start, new_end = new_starts[new_first], new_starts[new_last]
        if end > len(was):
            # No line break follows the last line. If this line is added or removed, the line break before it must be
            # added or removed too.
            shift = int(start == end or new_start == new_end)
            start, end, new_start, new_end = start - shift, end - 1, new_start - shift, new_end - 1
        parts.append(ChangePart(start=start, end=end, text=source[new_start:new_end], cell_id=edit.cell_id))
    return tuple(parts)


def _list_line_starts(lines: Sequence[str]) -> list[int]:
    """Return the position of each line in the text, and then the position that a further line would have."""
    return list(accumulate((len(line) + 1 for line in lines), initial=0))


def leave_out_parts(details: FileChangeDetails, left_out: Collection[int]) -> FileChangeDetails | None:
    """Return a change of cells without the parts at the indexes `left_out`. Return None when this is not possible:
    there are no such parts, some were left out before, or nothing would remain."""
    parts, out = details.parts or (), frozenset(left_out)
    if not out or details.left_out or not out <= set(range(len(parts))):
        return None
    kept = [part for index, part in enumerate(parts) if index not in out]
    changes = list(_keep_parts(details.cells or (), parts, kept))
    if not changes:
        return None
    sources = {change.cell_id: change.source for change in changes if isinstance(change, EditCell)}
    remaining = {get_cell_id(change) for change in changes if isinstance(change, InsertCell | EditCell)}
    # The cells that the call runs after the change, without those that are no longer changed.
    runs = tuple(
        cell.model_copy(update={"source": sources.get(cell.id, cell.source)})
        for cell in details.runs or ()
        if cell.id in remaining
    )
    remains = {"cells": tuple(changes), "runs": runs or None, "left_out": tuple(sorted(out))}
    return details.model_copy(update={**remains, **_describe(details, changes)})


def _keep_parts(
    changes: Sequence[CellChange], parts: Sequence[ChangePart | MovePart], kept: Sequence[ChangePart | MovePart]
) -> Iterator[CellChange]:
    """Yield what remains of the changes if only the parts in `kept` are made. `parts` are all parts. In a chat of an
    earlier version, a part has no cell id (None), and belongs to the only edit."""
    # The ids of the cells whose edit has parts, and of those whose move is left out.
    divided = {part.cell_id for part in parts if isinstance(part, ChangePart)}
    left_moves = {part.cell_id for part in parts if isinstance(part, MovePart) and part not in kept}
    edits = _join_edits(changes)
    for change in changes:
        if isinstance(change, EditCell) and not divided.isdisjoint({None, change.cell_id}):
            # All edits of the cell were joined to one, which takes the place of the first.
            edit = edits.pop(change.cell_id, None)
            own = [part for part in kept if isinstance(part, ChangePart) and part.cell_id in {None, change.cell_id}]
            if edit is not None and own:
                yield _reduce_edit(edit, own)
        elif not (isinstance(change, MoveCell) and change.cell_id in left_moves):
            yield change


def _reduce_edit(edit: EditCell, parts: Sequence[ChangePart]) -> EditCell:
    """Return the edit with only these of its parts."""
    source = edit.was
    # The last part is applied first, so that the positions of the other parts stay right.
    for part in reversed(parts):
        source = source[: part.start] + part.text + source[part.end :]
    return edit.model_copy(update={"source": source})


@dataclass(slots=True)
class _ChangedCell:
    """A cell, and its sources before and after all changes of a call."""

    before: str | None
    """None when the cell did not exist before."""
    after: str | None
    """None when the cell does not exist afterwards."""
    type: CellType | None = None
    """None if it is not known."""
    heading: str = ""
    """The heading of the cell in a diff, such as `cell 3 [c3] code`."""
    place: int = 0
    """The position of the heading in the diff of the whole change."""
    moved_to: int | None = None
    """The number that the cell has directly after its last move; None if it is not moved."""

    def as_texts(self) -> tuple[str, str]:
        """Return the cell as it is shown before and after the changes; "" where it does not exist."""
        moved = "" if self.moved_to is None else f", moved to {self.moved_to}"
        return (
            "" if self.before is None else format_cell(self.heading, self.before),
            "" if self.after is None else format_cell(f"{self.heading}{moved}", self.after),
        )


def _describe(details: FileChangeDetails, changes: Iterable[CellChange]) -> dict[str, object]:
    """Return the fields of `FileChangeDetails` that describe what remains of a change: its diff, and what a page then
    loads from elsewhere. The notebook is not needed, because the changes contain all sources."""
    names, hunks, loads, added, removed = "", "", list[str](), 0, 0
    for cell in _list_cells(details.diff, changes):
        shown = text_file.describe_change(details.path, *cell.as_texts())
        # The first two lines name the file.
        names = "".join(f"{line}\n" for line in shown.diff.split("\n", 2)[:2])
        hunks += shown.diff.removeprefix(names)
        added, removed = added + shown.lines_added, removed + shown.lines_removed
        # A cell of unknown type could be text, which may load something.
        if details.loads and cell.after is not None and cell.type in {CellType.MARKDOWN, None}:
            loads += filter(None, (find_loaded(cell.after, cell.before or ""),))
    return {"diff": names + hunks, "lines_added": added, "lines_removed": removed, "loads": ", ".join(loads) or None}


def _list_cells(diff: str, changes: Iterable[CellChange]) -> list[_ChangedCell]:
    """Return the changed cells. Their order, their types and their headings are those of `diff`, the diff of the whole
    change. If it does not show the heading of a cell, the cell comes last. A cell that is only moved has an empty
    source here, because a move does not contain its source."""
    cells: dict[str, _ChangedCell] = {}
    moved: dict[str, int] = {}
    for change in changes:
        match change:
            case InsertCell(cell=new):
                cells[new.id] = _ChangedCell(None, new.source, new.cell_type)
            case EditCell(cell_id=id, was=was, source=source):
                cells.setdefault(id, _ChangedCell(was, source)).after = source
            case DeleteCell(cell_id=id, was=was):
                cells.setdefault(id, _ChangedCell(was, None)).after = None
            case MoveCell(cell_id=id, index=index):
                moved[id] = index + 1
            case _:
                raise TypeError(f"A change of the kind {change.kind} has no parts.")
    for id, number in moved.items():
        cells.setdefault(id, _ChangedCell("", "")).moved_to = number
    for id, cell in cells.items():
        found = re.search(rf"^[-+ ]# %% (.*\[{re.escape(id)}\] ({_TYPES}))$", diff, re.MULTILINE)
        cell.type = CellType(found[2]) if found else cell.type
        cell.heading = found[1] if found else f"[{id}]"
        cell.place = found.start() if found else len(diff)
    changed = [cell for cell in cells.values() if cell.before != cell.after or cell.moved_to is not None]
    return sorted(changed, key=lambda cell: cell.place)
