"""Divides an edit of a cell into parts, each of which the user can approve or leave out.

The parts are computed once, in the preview of the call. The page shows exactly these parts, and the edit that runs is
made from them. It must not decide which parts are approved: the user does.
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
    """Return the parts of an edit, which are runs of whole lines. Empty when there are too many lines to compare."""
    ours, theirs = was.split("\n"), source.split("\n")
    if max(len(ours), len(theirs)) > _MAX_LINES:
        return ()
    starts, others = _find_line_starts(ours), _find_line_starts(theirs)
    parts: list[ChangePart] = []
    for tag, first, last, other_first, other_last in SequenceMatcher(None, ours, theirs, autojunk=False).get_opcodes():
        if tag == "equal":
            continue
        start, end, begin, stop = starts[first], starts[last], others[other_first], others[other_last]
        if end > len(was):
            # The last line has no line break after it. When it is added or removed, the line break before it is, too.
            shift = int(start == end or begin == stop)
            start, end, begin, stop = start - shift, end - 1, begin - shift, stop - 1
        parts.append(ChangePart(start=start, end=end, text=source[begin:stop]))
    return tuple(parts)


def _find_line_starts(lines: Sequence[str]) -> list[int]:
    return list(accumulate((len(line) + 1 for line in lines), initial=0))


def apply_parts(was: str, parts: Sequence[ChangePart], left_out: Collection[int]) -> str:
    """Return the source after an edit without the parts that are left out."""
    for index, part in reversed(list(enumerate(parts))):
        if index not in left_out:
            was = was[: part.start] + part.text + was[part.end :]
    return was


def narrow(details: FileChangeDetails, left_out: Collection[int]) -> FileChangeDetails | None:
    """Return an edit of a cell without some of its parts. None when the edit has no such parts, or when no part would
    remain."""
    parts, out = details.parts or (), tuple(sorted(set(left_out)))
    if not out or out[0] < 0 or out[-1] >= len(parts) or len(out) == len(parts) or details.left_out:
        return None
    match details.cells:
        case (EditCell() as edit,):
            pass
        case _:
            return None
    source = apply_parts(edit.was, parts, out)
    found = re.search(rf"^[-+ ]# %% (.*\[{re.escape(edit.cell_id)}\] \w+)$", details.diff, re.MULTILINE)
    heading = found[1] if found else f"[{edit.cell_id}]"
    shown = text_file.describe_change(details.path, format_cell(heading, edit.was), format_cell(heading, source))
    loads = find_loaded(source, edit.was) if details.loads else None
    changed = {"cells": (edit.model_copy(update={"source": source}),), "loads": loads or None}
    return shown.model_copy(update={**changed, "parts": parts, "left_out": out})
