"""Calculates changes of cells on a notebook that was read: what the notebook is after a change, and which change undoes
it.

The module is pure: it works on the notebook as the model sees it (`NotebookDocument`), and changes no notebook. The
tools in `plugins/tools/cell_edits.py` use it. Its neighbour `cells.py` makes a change in the JSON of a notebook file.
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
    format_cell,
)
from jupyter_eca.workspace.files import text_file
from jupyter_eca.workspace.notebooks.cells import describe_lock, find_place
from jupyter_eca.workspace.notebooks.loaded_content import find_loaded
from jupyter_eca.workspace.reading.cell_text import render_cells

if TYPE_CHECKING:
    from collections.abc import Mapping

    from jupyter_eca.protocol.content import FileChangeDetails
    from jupyter_eca.protocol.notebook import CellChange, NotebookDocument

Change = InsertCell | EditCell | DeleteCell | MoveCell
"""The changes that tools make. `PutCell`, the other `CellChange`, only undoes a change."""

# The index of a cell that is inserted at the end. It stays the end, even if another call of the same turn appends a
# cell first.
END: Final = 2**31 - 1


def find_cell(document: NotebookDocument, cell: int | str) -> NotebookCell:
    """Return a cell by its id or its number. Ids are tried first, because an id may consist of digits.

    Raises: ToolError when there is no such cell.
    """
    if (found := document.find_cell(str(cell))) is not None:
        return found
    if str(cell).strip().isdecimal() and 0 < int(cell) <= len(document.cells):
        return document.cells[int(cell) - 1]
    raise ToolError(
        f"{document.path} has no cell {cell}; it has {describe_size(document)}.",
        "Read it again with notebook_read: cells may have come or gone.",
    )


def find_cells(document: NotebookDocument, words: str) -> tuple[NotebookCell, ...]:
    """Return the cells that a text names: a number (`3`), a range of numbers (`2-5`), an id, or several of these with
    commas between them.

    Raises: ToolError when there is no such cell.
    """
    found: dict[str, NotebookCell] = {}
    for word in filter(None, (part.strip() for part in words.split(","))):
        first, dash, last = word.partition("-")
        if dash and first.strip().isdecimal() and last.strip().isdecimal() and document.find_cell(word) is None:
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
    """Return the number of cells in words: `1 cell`, `3 cells`."""
    count = len(document.cells)
    return f"{count} cell" if count == 1 else f"{count} cells"


def get_cell_id(change: CellChange) -> str:
    """Return the id of the cell that a change is about."""
    match change:
        case InsertCell(cell=cell) | PutCell(cell=cell):
            return cell.id
        case EditCell(cell_id=id) | DeleteCell(cell_id=id) | MoveCell(cell_id=id):
            return id


def make_cell_id(document: NotebookDocument, seed: str) -> str:
    """Return an id for a new cell. The same seed gives the same id, so that the cell which the user approves is exactly
    the one that is inserted."""
    made = (hashlib.sha256(f"{seed}:{attempt}".encode()).hexdigest()[:8] for attempt in count())
    return next(id for id in made if document.find_cell(id) is None)


def apply(document: NotebookDocument, change: Change) -> NotebookDocument:
    """Return the notebook after a change.

    Raises: ToolError when the cell is gone, has another source than the change expects, or is locked.
    """
    cells = list(document.cells)
    if isinstance(change, EditCell | DeleteCell):
        _check_unlocked(document, change)
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
    """Return the change with the present index of its place, because cells may have moved since the change was
    calculated.

    Raises: ToolError when the cell directly before that place is gone.
    """
    if not isinstance(change, InsertCell | MoveCell):
        return change
    ids = [cell.id for cell in document.cells if cell.id != get_cell_id(change)]
    return change.model_copy(update={"index": find_place(ids, change.index, change.after)})


def invert(document: NotebookDocument, change: Change) -> CellChange:
    """Return the change that undoes `change`. `document` is the notebook before `change`."""
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
    """Return the sources of cells by id; None for a cell that does not exist."""
    return {id: cell.source if (cell := document.find_cell(id)) else None for id in ids}


def describe_changes(before: NotebookDocument, after: NotebookDocument, *changes: Change) -> FileChangeDetails:
    """Return the changes as a diff of the cells as text. In both texts, the heading of a cell has the number that the
    cell had before the changes. Otherwise an inserted cell would change the numbers of all cells below it, and the diff
    would show all their headings as changed."""
    numbers = {cell.id: f"cell {number}" for number, cell in enumerate(before.cells, 1)}
    texts = ("".join(_format_cell(cell, numbers) for cell in document.cells) for document in (before, after))
    shown = {"cells": changes, "loads": find_loaded_content(before, after)}
    return text_file.describe_change(before.path, *texts).model_copy(update=shown)


def find_loaded_content(before: NotebookDocument, after: NotebookDocument) -> str | None:
    """Return what a page loads from elsewhere as soon as it shows the changed cells, in words; None for nothing.

    For example, a Markdown cell with `![a](https://x.org/b)` makes the page request that address, without a click of
    the user. The user sees this before the change, because a model that was misled could send data away in an address.
    See `loaded_content`.
    """
    return ", ".join(filter(None, (_find_loaded(cell, before.find_cell(cell.id)) for cell in after.cells))) or None


def _find_loaded(cell: NotebookCell, before: NotebookCell | None) -> str | None:
    """Return what a page loads for one cell, in words; None for nothing. `before` is the cell before the change, and
    what the page loaded for it is left out."""
    if cell.cell_type is not CellType.MARKDOWN or (before and before.source == cell.source):
        return None
    return find_loaded(cell.source, before.source if before else "")


def describe_cell(document: NotebookDocument, id: str) -> str:
    """Return the text of one cell for the model, without its outputs."""
    return render_cells(document, {id}, output=0)


def _format_cell(cell: NotebookCell, numbers: Mapping[str, str]) -> str:
    """Return the heading and the source of a cell. `numbers` has the names of cells such as `cell 3`, by cell id."""
    return format_cell(f"{numbers.get(cell.id, 'new cell')} [{cell.id}] {cell.cell_type}", cell.source)


def _require_cell(document: NotebookDocument, id: str) -> NotebookCell:
    """Return the cell with this id. Raises: ToolError when it is gone."""
    if (cell := document.find_cell(id)) is None:
        raise ToolError(f"The cell [{id}] of {document.path} is gone; nothing was changed.", "Read the notebook again.")
    return cell


def _check_unlocked(document: NotebookDocument, change: EditCell | DeleteCell) -> None:
    """Raise ToolError if the metadata of a cell forbids the change."""
    cell = _require_cell(document, change.cell_id)
    if why := describe_lock(cell, is_deleted=isinstance(change, DeleteCell)):
        raise ToolError(
            f"Cell {find_number(document, cell.id)} of {document.path} is locked: {why}. Nothing was changed.",
            "Leave it, and say what the user should write there; or insert a cell.",
        )


def _find_unchanged(document: NotebookDocument, id: str, was: str) -> NotebookCell:
    """Return the cell with this id. Raises: ToolError when it is gone, or its source is no longer `was`."""
    cell = _require_cell(document, id)
    if cell.source != was:
        raise ToolError(
            f"Cell {find_number(document, id)} of {document.path} was changed meanwhile; nothing was done to it. "
            f"It is now:\n{describe_cell(document, id)}\n",
            "Decide anew with this source.",
        )
    return cell
