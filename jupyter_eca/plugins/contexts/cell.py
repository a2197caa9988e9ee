"""The context of a cell of the live notebook: its source and its outputs. `output` has only the outputs of a cell, and
`reading/open_notebook` reads the notebook.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from jupyter_eca.plugins.contexts.base import Material
from jupyter_eca.plugins.contexts.reading import open_notebook
from jupyter_eca.plugins.contexts.reading.recent_look import find_best
from jupyter_eca.protocol.context import CellContext
from jupyter_eca.workspace.reading.cell_text import load_pictures, render_cells
from jupyter_eca.workspace.reading.text import truncate

if TYPE_CHECKING:
    from jupyter_eca.plugins.contexts.base import Surroundings

# How many characters of the outputs the model gets, at most. These are more than for a whole notebook, because the user
# has chosen this cell.
MAX_OUTPUT_CHARACTERS: Final = 20_000

# How many contexts are offered, at most. Nobody reads a longer list.
MAX_OFFERED: Final = 50


class CellPlug:
    """The plug: `query` offers the cells, and `resolve` reads the chosen one. The class implements `base.Context`,
    whose argument `surroundings` has the sources that are read."""

    # The `type` of its contexts in the messages of the protocol.
    kind = "cell"

    async def query(self, surroundings: Surroundings, query: str) -> list[CellContext]:
        """Offer the active cell first, the others in their order. A cell without a text is offered only when the user
        types its number."""
        # `recent_looks` keeps what was read of notebooks and kernels in the last seconds.
        overview = await surroundings.recent_looks.read_notebooks(surroundings)
        # The first path is that of the active notebook, and the cells are its cells.
        active_path = overview.paths[0] if overview.paths else ""
        ordered = sorted(overview.cells, key=lambda cell: cell.id != overview.active)
        cells = {f"cell:{cell.number}": cell for cell in ordered if cell.first_line or query}
        found = find_best(cells, query, MAX_OFFERED)
        found += [cell for cell in cells.values() if query.lower() in cell.first_line.lower() and cell not in found]
        return [
            CellContext(label=f"cell:{cell.number}", description=cell.first_line, path=active_path, cell=cell.id)
            for cell in found[:MAX_OFFERED]
        ]

    async def resolve(self, surroundings: Surroundings, context: CellContext) -> Material:
        """Read the source, the outputs and the pictures of the cell."""
        document = await open_notebook.read_document(surroundings, context.path)
        number, cell = open_notebook.find_cell(document, context.cell)
        text = truncate(render_cells(document, {cell.id}, output=MAX_OUTPUT_CHARACTERS))
        # The model knows the cell only if it gets the whole source.
        if cell.source in text:
            surroundings.known.learn_cells(document.path, (cell,))
        return Material(f"{document.path} cell {number}", text, load_pictures(cell))


CONTEXT = CellPlug()
