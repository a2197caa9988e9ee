"""The context of the user's cursor, with the lines around it. Whether the cursor moved since the last turn is not
known here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from jupyter_eca.plugins.contexts import file
from jupyter_eca.plugins.contexts.base import Material
from jupyter_eca.plugins.contexts.reading import open_notebook
from jupyter_eca.protocol.context import LinesRange
from jupyter_eca.workspace.files.read_threads import run_read
from jupyter_eca.workspace.reading.cell_text import render_cells
from jupyter_eca.workspace.reading.text import truncate

if TYPE_CHECKING:
    from jupyter_eca.plugins.contexts.base import Surroundings
    from jupyter_eca.protocol.context import CursorContext, Range
    from jupyter_eca.protocol.notebook import NotebookDocument

# Lines before and after it: a function, usually.
AROUND = 20


class CursorPlug:
    kind = "cursor"

    async def query(self, surroundings: Surroundings, query: str) -> list[CursorContext]:  # noqa: ARG002
        """Offer nothing: editors send the cursor by themselves."""
        return []

    async def resolve(self, surroundings: Surroundings, context: CursorContext) -> Material:
        """Read the lines around the cursor. For the model lines count from 1, as everywhere else."""
        if (
            surroundings.notebooks is not None
            and (name := await open_notebook.find_open_path(surroundings, context.path)) is not None
        ):
            document = await open_notebook.document(surroundings, name)
            if document.active_cell_id is not None:
                return _in_cell(surroundings, document, document.active_cell_id)
        start, end = context.position.start, context.position.end
        first = max(1, start.line + 1 - AROUND)
        near = LinesRange(start=first, end=end.line + 1 + AROUND)
        found = await run_read(file.read_file, surroundings.files, context.path, near)
        return Material(
            f"cursor in {context.path}", f"{_place(context.position)}; around it:\n{found.text}", found.images
        )


CONTEXT = CursorPlug()


def _place(position: Range) -> str:
    start, end = position.start, position.end
    place = f"line {start.line + 1}, column {start.character + 1}"
    if start != end:
        place = f"from {place} to line {end.line + 1}, column {end.character + 1} (selected)"
    return place


def _in_cell(surroundings: Surroundings, document: NotebookDocument, id: str) -> Material:
    """Return the cursor in a cell. In an open notebook lines are counted within the cell, and the page knows best where
    its cursor is."""
    selection = document.selection
    place = f"{_place(selection.range)}, in" if selection and selection.cell_id == id else "in"
    text = truncate(f"{place}:\n{render_cells(document, {id})}")
    if (cell := document.cell(id)) is not None and cell.source in text:
        surroundings.known.learn_cells(document.path, (cell,))
    return Material(f"cursor in {document.path}", text)
