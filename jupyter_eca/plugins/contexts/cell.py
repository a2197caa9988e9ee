"""The context of a cell of the live notebook: its source and its outputs."""

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

# Of what it put out: who points at a cell wants more of it than who points at a notebook.
MAX_OUTPUT: Final = 20_000

# Offered: a list that is longer is not read.
MOST: Final = 50


class CellPlug:
    kind = "cell"

    async def query(self, surroundings: Surroundings, query: str) -> list[CellContext]:
        """Offer the active cell first, the others in their order."""
        seen = await surroundings.glances.notebook(surroundings)
        cells = {f"cell:{cell.number}": cell for cell in sorted(seen.cells, key=lambda cell: cell.id != seen.active)}
        found = find_best(cells, query, MOST)
        found += [cell for cell in cells.values() if query.lower() in cell.first.lower() and cell not in found]
        return [
            CellContext(label=f"cell:{cell.number}", description=cell.first, path=seen.paths[0], cell=cell.id)
            for cell in found[:MOST]
        ]

    async def resolve(self, surroundings: Surroundings, context: CellContext) -> Material:
        document = await open_notebook.document(surroundings, context.path)
        number, cell = open_notebook.find_cell(document, context.cell)
        text = truncate(render_cells(document, {cell.id}, output=MAX_OUTPUT))
        if cell.source in text:
            surroundings.known.learn_cells(document.path, (cell,))
        return Material(f"{document.path} cell {number}", text, load_pictures(cell))


CONTEXT = CellPlug()
