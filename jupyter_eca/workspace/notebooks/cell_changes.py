"""Changes of cells, worked out on a notebook as it was read: their result, and what undoes them. Pure. `cell_edits`
has the tools.
"""

from __future__ import annotations

import hashlib
from itertools import count
from typing import TYPE_CHECKING, Final, assert_never

from jupyter_eca.errors import ToolError
from jupyter_eca.protocol.notebook import (
    CellState,
    CellType,
    DeleteCell,
    EditCell,
    InsertCell,
    MoveCell,
    NotebookCell,
    PutCell,
)
from jupyter_eca.workspace.files import text_file
from jupyter_eca.workspace.notebooks.cells import find_place
from jupyter_eca.workspace.reading.cell_text import render_cells

if TYPE_CHECKING:
    from collections.abc import Mapping

    from jupyter_eca.protocol.content import FileChangeDetails
    from jupyter_eca.protocol.notebook import CellChange, NotebookDocument

Change = InsertCell | EditCell | DeleteCell | MoveCell
"""What tools ask for; PutCell is for taking them back."""

# Of an inserted cell: behind whatever is there by then, also what another call of the same turn has put there.
END: Final = 2**31 - 1


def find_cell(document: NotebookDocument, cell: int | str) -> NotebookCell:
    """Return a cell by id or number. Ids are tried first, because an id may consist of digits. Raises: ToolError."""
    if (found := document.cell(str(cell))) is not None:
        return found
    if str(cell).strip().isdecimal() and 0 < int(cell) <= len(document.cells):
        return document.cells[int(cell) - 1]
    raise ToolError(
        f"{document.path} has no cell {cell}; it has {describe_size(document)}.",
        "Read it again with notebook_read: cells may have come or gone.",
    )


def find_cells(document: NotebookDocument, words: str) -> tuple[NotebookCell, ...]:
    """Return the cells of `3`, `2-5`, ids, and these with commas between them. Raises: ToolError."""
    found: dict[str, NotebookCell] = {}
    for word in filter(None, (part.strip() for part in words.split(","))):
        first, dash, last = word.partition("-")
        if dash and first.strip().isdecimal() and last.strip().isdecimal() and document.cell(word) is None:
            start, end = document.cells.index(find_cell(document, first.strip())), min(int(last), len(document.cells))
            found |= {cell.id: cell for cell in document.cells[start:end]}
        else:
            cell = find_cell(document, word)
            found[cell.id] = cell
    return tuple(found.values())


def find_number(document: NotebookDocument, id: str) -> int:
    """Return the number of a cell, from 1; 0 when the notebook does not have it."""
    return next((number for number, cell in enumerate(document.cells, 1) if cell.id == id), 0)


def describe_size(document: NotebookDocument) -> str:
    count = len(document.cells)
    return f"{count} cell" if count == 1 else f"{count} cells"


def get_cell_id(change: CellChange) -> str:
    match change:
        case InsertCell(cell=cell) | PutCell(cell=cell):
            return cell.id
        case EditCell(cell_id=id) | DeleteCell(cell_id=id) | MoveCell(cell_id=id):
            return id


def make_cell_id(document: NotebookDocument, seed: str) -> str:
    """Return an id for a new cell. The same call gives the same id, so that what is announced is what is made."""
    made = (hashlib.sha256(f"{seed}:{attempt}".encode()).hexdigest()[:8] for attempt in count())
    return next(id for id in made if document.cell(id) is None)


def apply(document: NotebookDocument, change: Change) -> NotebookDocument:
    """Return the notebook after a change. Raises: ToolError when the cell is gone, or is not the one that the change
    was made for."""
    cells = list(document.cells)
    match change:
        case InsertCell(index=index, cell=new):
            state = CellState.NEVER_RUN if new.cell_type is CellType.CODE else None
            made = NotebookCell(id=new.id, cell_type=new.cell_type, source=new.source, state=state)
            cells.insert(index, made)
        case EditCell(cell_id=id, was=was, source=source):
            cell = _find_unchanged(document, id, was)
            cells[cells.index(cell)] = cell.model_copy(update={"source": source})
        case DeleteCell(cell_id=id, was=was):
            cells.remove(_find_unchanged(document, id, was))
        case MoveCell(cell_id=id, index=index):
            cell = _require_cell(document, id)
            cells.remove(cell)
            cells.insert(index, cell)
        case _:
            assert_never(change)
    return document.model_copy(update={"cells": tuple(cells)})


def update_index(document: NotebookDocument, change: Change) -> Change:
    """Return the change with the index that its place has now: cells may have moved since it was worked out. Raises:
    ToolError when the cell is gone that it was to stand behind."""
    if not isinstance(change, InsertCell | MoveCell):
        return change
    ids = [cell.id for cell in document.cells if cell.id != get_cell_id(change)]
    return change.model_copy(update={"index": find_place(ids, change.index, change.after)})


def invert(document: NotebookDocument, change: Change) -> CellChange:
    """Return the changes that make the earlier notebook of the changed one."""
    match change:
        case InsertCell(cell=cell):
            return DeleteCell(cell_id=cell.id, was=cell.source)
        case EditCell(cell_id=id, source=source):
            return PutCell(index=find_number(document, id) - 1, cell=_require_cell(document, id), was=source)
        case DeleteCell(cell_id=id):
            return PutCell(index=find_number(document, id) - 1, cell=_require_cell(document, id))
        case MoveCell(cell_id=id):
            return MoveCell(cell_id=id, index=find_number(document, id) - 1)


def get_sources(document: NotebookDocument, *ids: str) -> Mapping[str, str | None]:
    """Return the sources of cells, None for a cell that does not exist."""
    return {id: cell.source if (cell := document.cell(id)) else None for id in ids}


def is_applied(found: NotebookDocument, wanted: NotebookDocument, change: Change) -> bool:
    """Whether a notebook that was read back has what was wanted of it, whatever else happened to it meanwhile."""
    id = get_cell_id(change)
    if get_sources(found, id) != get_sources(wanted, id):
        return False
    # Somebody may have put cells before it; when there are as many as there were, it stands where it was put.
    moved = isinstance(change, MoveCell) and len(found.cells) == len(wanted.cells)
    return not moved or find_number(found, id) == find_number(wanted, id)


def describe_changes(before: NotebookDocument, after: NotebookDocument, *changes: Change) -> FileChangeDetails:
    """Return a diff of the cells as text. A cell keeps the number that it had before: otherwise an inserted cell would
    change every line that names a cell."""
    numbers = {cell.id: f"cell {number}" for number, cell in enumerate(before.cells, 1)}
    texts = ("".join(_format_cell(cell, numbers) for cell in one.cells) for one in (before, after))
    return text_file.describe_change(before.path, *texts).model_copy(update={"cells": changes})


def describe_cell(document: NotebookDocument, id: str) -> str:
    """Return one cell without its outputs, as the model names and reads it."""
    return render_cells(document, {id}, output=0)


def _format_cell(cell: NotebookCell, numbers: Mapping[str, str]) -> str:
    return f"# %% {numbers.get(cell.id, 'new cell')} [{cell.id}] {cell.cell_type}\n{cell.source}\n"


def _require_cell(document: NotebookDocument, id: str) -> NotebookCell:
    if (cell := document.cell(id)) is None:
        raise ToolError(f"The cell [{id}] of {document.path} is gone; nothing was changed.", "Read the notebook again.")
    return cell


def _find_unchanged(document: NotebookDocument, id: str, was: str) -> NotebookCell:
    cell = _require_cell(document, id)
    if cell.source != was:
        raise ToolError(
            f"Cell {find_number(document, id)} of {document.path} was changed meanwhile; nothing was done to it. "
            f"It is now:\n{describe_cell(document, id)}\n",
            "Decide anew with this source.",
        )
    return cell
