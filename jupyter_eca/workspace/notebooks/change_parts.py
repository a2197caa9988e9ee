"""Divides an edit of a cell into parts, each of which the user can approve or leave out.

The parts are computed once, when the user sees the preview of the tool call. The page shows exactly these parts, and
the edit that runs is made from them. The module must not decide which parts are approved: the user does.

For example, an edit of `a\\nb\\nc` to `A\\nb\\nC` has two parts: the lines 1 and 3. If the user leaves out the second
part, the source becomes `A\\nb\\nc`.
"""

from __future__ import annotations

import re
from difflib import SequenceMatcher
from itertools import accumulate
from typing import TYPE_CHECKING, Final

from jupyter_eca.protocol.content import ChangePart, FileChangeDetails
from jupyter_eca.protocol.notebook import EditCell, format_cell
from jupyter_eca.workspace.files import text_file
from jupyter_eca.workspace.notebooks.loaded_content import find_loaded

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

# Longer cells have no parts, because the comparison takes quadratic time.
_MAX_LINES: Final = 2000


def find_parts(was: str, source: str) -> tuple[ChangePart, ...]:
    """Return the parts of an edit of a cell from the source `was` to `source`. A part replaces adjacent whole lines.
    There are no parts when there are too many lines to compare."""
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
        parts.append(ChangePart(start=start, end=end, text=source[new_start:new_end]))
    return tuple(parts)


def _find_line_starts(lines: Sequence[str]) -> list[int]:
    """Return the position of each line in the text, and at the end the position behind the last line break."""
    return list(accumulate((len(line) + 1 for line in lines), initial=0))


def apply_parts(was: str, parts: Sequence[ChangePart], left_out: Collection[int]) -> str:
    """Return the source after an edit without the parts that are left out. `left_out` has their indexes."""
    # The last part is applied first, so that the positions of the other parts stay right.
    for index, part in reversed(list(enumerate(parts))):
        if index not in left_out:
            was = was[: part.start] + part.text + was[part.end :]
    return was


def narrow(details: FileChangeDetails, left_out: Collection[int]) -> FileChangeDetails | None:
    """Return an edit of a cell without the parts at the indexes `left_out`. Return None when this is not possible: the
    change is no edit of one cell, it has no such parts, or no part would remain."""
    parts, out = details.parts or (), tuple(sorted(set(left_out)))
    if not out or out[0] < 0 or out[-1] >= len(parts) or len(out) == len(parts) or details.left_out:
        return None
    match details.cells:
        case (EditCell() as edit,):
            pass
        case _:
            return None
    source = apply_parts(edit.was, parts, out)
    # The heading of the cell in the diff, such as `cell 3 [c3] code`, is used again.
    found = re.search(rf"^[-+ ]# %% (.*\[{re.escape(edit.cell_id)}\] \w+)$", details.diff, re.MULTILINE)
    heading = found[1] if found else f"[{edit.cell_id}]"
    shown = text_file.describe_change(details.path, format_cell(heading, edit.was), format_cell(heading, source))
    loads = find_loaded(source, edit.was) if details.loads else None
    changed = {"cells": (edit.model_copy(update={"source": source}),), "loads": loads or None}
    return shown.model_copy(update={**changed, "parts": parts, "left_out": out})
