"""The context of the outputs of one cell of the live notebook. The module `cell` gives the source of the cell too."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jupyter_eca.plugins.contexts.base import Material
from jupyter_eca.plugins.contexts.cell import MAX_OFFERED, MAX_OUTPUT_CHARACTERS
from jupyter_eca.plugins.contexts.reading import open_notebook
from jupyter_eca.plugins.contexts.reading.recent_look import find_best
from jupyter_eca.protocol.context import OutputContext
from jupyter_eca.workspace.reading.cell_text import load_pictures, render_outputs
from jupyter_eca.workspace.reading.text import truncate

if TYPE_CHECKING:
    from jupyter_eca.plugins.contexts.base import Surroundings


class OutputPlug:
    """The plug: `query` offers the cells with outputs, and `resolve` reads the outputs of one. The class implements
    `base.Context`, whose argument `surroundings` has the sources that are read."""

    # The `type` of its contexts in the messages of the protocol.
    kind = "output"

    async def query(self, surroundings: Surroundings, query: str) -> list[OutputContext]:
        """Offer the cells with outputs, by names such as `output:3`. Without a query nothing is offered: the context
        `cell` offers the same cells."""
        if not query:
            return []
        # `recent_looks` keeps what was read of notebooks and kernels in the last seconds.
        overview = await surroundings.recent_looks.read_notebooks(surroundings)
        # The first path is that of the active notebook, and the cells are its cells.
        active_path = overview.paths[0] if overview.paths else ""
        cells = {f"output:{cell.number}": cell for cell in overview.cells if cell.has_output}
        return [
            OutputContext(label=f"output:{cell.number}", description=cell.first_line, path=active_path, cell=cell.id)
            for cell in find_best(cells, query, MAX_OFFERED)
        ]

    async def resolve(self, surroundings: Surroundings, context: OutputContext) -> Material:
        """Read the outputs and the pictures of the cell."""
        document = await open_notebook.read_document(surroundings, context.path)
        number, cell = open_notebook.find_cell(document, context.cell)
        text = truncate(render_outputs(cell.outputs, MAX_OUTPUT_CHARACTERS)) or "(it put out nothing)"
        return Material(f"{document.path} output of cell {number}", text, load_pictures(cell))


CONTEXT = OutputPlug()
