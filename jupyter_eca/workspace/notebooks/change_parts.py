"""Divides edits of cells into parts, each of which the user can approve or leave out.

The parts are computed once, when the user sees the preview of the tool call. The page shows exactly these parts, and
the edits that are made consist of them. The module must not decide which parts are approved: the user does.

For example, an edit of `a\\nb\\nc` to `A\\nb\\nC` has two parts: the lines 1 and 3. If the user leaves out the second
part, the source becomes `A\\nb\\nc`. If the user leaves out both, and the call changes other cells too, the cell stays
as it is.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import accumulate
from typing import TYPE_CHECKING, Final

from jupyter_eca.protocol.content import ChangePart, FileChangeDetails
from jupyter_eca.protocol.notebook import CellType, DeleteCell, EditCell, InsertCell, MoveCell, format_cell
from jupyter_eca.workspace.files import text_file
from jupyter_eca.workspace.notebooks.cell_changes import get_cell_id
from jupyter_eca.workspace.notebooks.loaded_content import find_loaded

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from jupyter_eca.protocol.notebook import CellChange

# The types of cells, as a pattern.
_TYPES: Final = "|".join(CellType)

# Longer cells have no parts, because the comparison takes quadratic time.
_MAX_LINES: Final = 2000


def divide_changes(changes: Sequence[CellChange]) -> tuple[ChangePart, ...]:
    """Return the parts of the edits among the changes of one call, in order. There are none when nothing can be left
    out.

    An edit of a cell that the call changes in another way too has no parts. A call that moves cells has none either:
    what remains of a change must be shown as a diff, and the sources of moved cells are not known here.
    """
    if any(isinstance(change, MoveCell) for change in changes):
        return ()
    counts = Counter(map(get_cell_id, changes))
    parts = tuple(
        part
        for change in changes
        if isinstance(change, EditCell) and counts[change.cell_id] == 1
        for part in _find_parts(change)
    )
    return parts if len(parts) > 1 or len(changes) > 1 else ()


def _find_parts(edit: EditCell) -> tuple[ChangePart, ...]:
    """Return the parts of an edit. A part replaces adjacent whole lines. There are no parts when there are too many
    lines to compare."""
    was, source = edit.was, edit.source
    old_lines, new_lines = was.split("\n"), source.split("\n")
    if max(len(old_lines), len(new_lines)) > _MAX_LINES:
        return ()
    old_starts, new_starts = _find_line_starts(old_lines), _find_line_starts(new_lines)
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


def _find_line_starts(lines: Sequence[str]) -> list[int]:
    """Return the position of each line in the text, and at the end the position behind the last line break."""
    return list(accumulate((len(line) + 1 for line in lines), initial=0))


def narrow(details: FileChangeDetails, left_out: Collection[int]) -> FileChangeDetails | None:
    """Return a change of cells without the parts at the indexes `left_out`. Return None when this is not possible:
    there are no such parts, some were left out before, or nothing would remain."""
    parts, out = details.parts or (), frozenset(left_out)
    if not out or details.left_out or not out <= set(range(len(parts))):
        return None
    kept = [part for index, part in enumerate(parts) if index not in out]
    divided = {part.cell_id for part in parts}
    changes: list[CellChange] = []
    for change in details.cells or ():
        if isinstance(change, EditCell) and not divided.isdisjoint({None, change.cell_id}):
            own = [part for part in kept if part.cell_id in {None, change.cell_id}]
            changes += [_narrow_edit(change, own)] if own else []
        else:
            changes.append(change)
    if not changes:
        return None
    sources = {change.cell_id: change.source for change in changes if isinstance(change, EditCell)}
    remaining = set(map(get_cell_id, changes))
    runs = tuple(
        cell.model_copy(update={"source": sources.get(cell.id, cell.source)})
        for cell in details.runs or ()
        if cell.id in remaining
    )
    remains = {"cells": tuple(changes), "runs": runs or None, "left_out": tuple(sorted(out))}
    return details.model_copy(update={**remains, **_describe(details, changes)})


def _narrow_edit(edit: EditCell, parts: Sequence[ChangePart]) -> EditCell:
    """Return the edit with only these of its parts."""
    source = edit.was
    # The last part is applied first, so that the positions of the other parts stay right.
    for part in reversed(parts):
        source = source[: part.start] + part.text + source[part.end :]
    return edit.model_copy(update={"source": source})


@dataclass(slots=True)
class _ChangedCell:
    """A cell, and its sources before and after all changes of a call. None is for a cell that is not there."""

    before: str | None
    after: str | None
    type: CellType | None = None
    """None if it is not known."""
    heading: str = ""
    """Its heading in a diff, such as `cell 3 [c3] code`."""
    place: int = 0
    """Where the diff of the whole change has the heading."""


def _describe(details: FileChangeDetails, changes: Iterable[CellChange]) -> dict[str, object]:
    """Return the fields of `FileChangeDetails` that describe what remains of a change: its diff, and what it loads. The
    notebook is not needed, because the changes contain all sources."""
    names, hunks, loads, added, removed = "", "", list[str](), 0, 0
    for cell in _list_cells(details.diff, changes):
        before, after = (
            "" if source is None else format_cell(cell.heading, source) for source in (cell.before, cell.after)
        )
        shown = text_file.describe_change(details.path, before, after)
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
    change. If it does not show the heading of a cell, the cell comes last."""
    cells: dict[str, _ChangedCell] = {}
    for change in changes:
        match change:
            case InsertCell(cell=new):
                cells[new.id] = _ChangedCell(None, new.source, new.cell_type)
            case EditCell(cell_id=id, was=was, source=source):
                cells.setdefault(id, _ChangedCell(was, source)).after = source
            case DeleteCell(cell_id=id, was=was):
                cells.setdefault(id, _ChangedCell(was, None)).after = None
            case _:
                raise TypeError(f"A change of the kind {change.kind} has no parts.")
    for id, cell in cells.items():
        found = re.search(rf"^[-+ ]# %% (.*\[{re.escape(id)}\] ({_TYPES}))$", diff, re.MULTILINE)
        cell.type = CellType(found[2]) if found else cell.type
        cell.heading = found[1] if found else f"[{id}]"
        cell.place = found.start() if found else len(diff)
    changed = [cell for cell in cells.values() if cell.before != cell.after]
    return sorted(changed, key=lambda cell: cell.place)
