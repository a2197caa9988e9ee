"""The context of the user's cursor, with the lines around it. It must not know whether the cursor has moved since the
last turn: `host/turn/effect_runner.py` does.
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

# The lines before and after the cursor. They usually contain the whole function.
AROUND = 20


class CursorPlug:
    kind = "cursor"

    async def query(self, surroundings: Surroundings, query: str) -> list[CursorContext]:  # noqa: ARG002
        """Offer nothing: editors send the cursor by themselves."""
        return []

    async def resolve(self, surroundings: Surroundings, context: CursorContext) -> Material:
        """Read the lines around the cursor. For the model, lines are counted from 1, as in all texts."""
        if (
            surroundings.notebooks is not None
            and (name := await open_notebook.find_open_path(surroundings, context.path)) is not None
        ):
            document = await open_notebook.document(surroundings, name)
            if document.active_cell_id is not None:
                return _read_cell(surroundings, document, document.active_cell_id)
        start, end = context.position.start, context.position.end
        first = max(1, start.line + 1 - AROUND)
        lines_around = LinesRange(start=first, end=end.line + 1 + AROUND)
        material = await run_read(file.read_file, surroundings.files, context.path, lines_around)
        return Material(
            f"cursor in {context.path}",
            f"{_describe_place(context.position)}; around it:\n{material.text}",
            material.images,
        )


CONTEXT = CursorPlug()


def _describe_place(position: Range) -> str:
    start, end = position.start, position.end
    place = f"line {start.line + 1}, column {start.character + 1}"
    if start != end:
        place = f"from {place} to line {end.line + 1}, column {end.character + 1} (selected)"
    return place


def _read_cell(surroundings: Surroundings, document: NotebookDocument, id: str) -> Material:
    """Return the cursor in a cell of an open notebook. Lines are counted within the cell. The position comes from the
    page with the notebook, which knows it best."""
    selection = document.selection
    place = f"{_describe_place(selection.range)}, in" if selection and selection.cell_id == id else "in"
    text = truncate(f"{place}:\n{render_cells(document, {id})}")
    if (cell := document.cell(id)) is not None and cell.source in text:
        surroundings.known.learn_cells(document.path, (cell,))
    return Material(f"cursor in {document.path}", text)
