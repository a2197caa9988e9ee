"""Verifies an edit of a notebook: compares the notebook that was read back after the edit with the expected one. Pure.

Before an edit, `cells.py` verifies that each cell still has the source that the change expects (`was`). In an open
page, `labextension/src/notebook/live_cells.ts` does. This module must not read a notebook: the tools do.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from jupyter_eca.protocol.notebook import MoveCell
from jupyter_eca.workspace.notebooks.cell_changes import find_number, get_cell_id, get_sources

if TYPE_CHECKING:
    from collections.abc import Sequence

    from jupyter_eca.protocol.notebook import NotebookDocument
    from jupyter_eca.workspace.notebooks.cell_changes import Change


def is_applied(found: NotebookDocument, wanted: NotebookDocument, change: Change) -> bool:
    """Return whether a change was made. `found` is the notebook that was read after the change, and `wanted` the
    expected notebook. Other cells may have changed meanwhile."""
    id = get_cell_id(change)
    if get_sources(found, id) != get_sources(wanted, id):
        return False
    # A moved cell may have another number because somebody inserted or deleted cells. So its number is compared only if
    # the number of cells is the same.
    moved = isinstance(change, MoveCell) and len(found.cells) == len(wanted.cells)
    return not moved or find_number(found, id) == find_number(wanted, id)


def are_applied(found: NotebookDocument, wanted: NotebookDocument, changes: Sequence[Change]) -> bool:
    """Return whether all changes were made. `found` was read after them, and `wanted` is the expected notebook."""
    return all(is_applied(found, wanted, change) for change in changes)
