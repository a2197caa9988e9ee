"""The context of the text that is selected in the notebook, with its cell. `text` has a selection that the client
sends."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jupyter_eca.errors import ToolError
from jupyter_eca.plugins.contexts.base import Material
from jupyter_eca.plugins.contexts.reading import open_notebook
from jupyter_eca.protocol.context import SelectionContext
from jupyter_eca.workspace.files.name_search import rate_fit
from jupyter_eca.workspace.reading.cell_text import render_cells
from jupyter_eca.workspace.reading.text import truncate

if TYPE_CHECKING:
    from jupyter_eca.plugins.contexts.base import Surroundings


class SelectionPlug:
    """The plug: `query` offers the selection if there is one, and `resolve` reads it. The class implements
    `base.Context`, whose argument `surroundings` has the sources that are read."""

    # The `type` of its contexts in the messages of the protocol.
    kind = "selection"

    async def query(self, surroundings: Surroundings, query: str) -> list[SelectionContext]:
        """Offer the selection if there is one, and the query fits the word `selection`."""
        selected = (await surroundings.recent_looks.read_notebooks(surroundings)).selected
        offered = selected and rate_fit(query, "selection") is not None
        return [SelectionContext(label="selection", description=selected)] if offered else []

    async def resolve(self, surroundings: Surroundings, context: SelectionContext) -> Material:
        """Read the selected text and its cell. Raises: ToolError when nothing is selected."""
        document = await open_notebook.read_document(surroundings)
        selection = document.selection
        if selection is None or not selection.text:
            raise ToolError(f"Nothing is selected in {document.path}.")
        number, cell = open_notebook.find_cell(document, selection.cell_id)
        start, end = selection.range.start.line + 1, selection.range.end.line + 1
        lines = f"line {start}" if start == end else f"lines {start}-{end}"
        shown_cell = render_cells(document, {cell.id}, output=0)
        text = truncate(f"{selection.text}\n\nThat is in {lines} of:\n{shown_cell}")
        # The model knows the cell only if it gets the whole source.
        if shown_cell in text:
            surroundings.known.learn_cells(document.path, (cell,))
        return Material(f"selection in {document.path} cell {number}", text)


CONTEXT = SelectionPlug()
