"""The context of a whole live notebook, as a compact text. `cell` has a single cell, and `reading/open_notebook` reads
the notebook.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from jupyter_eca.plugins.contexts import file
from jupyter_eca.plugins.contexts.reading import open_notebook
from jupyter_eca.protocol.context import NotebookContext
from jupyter_eca.workspace.files.name_search import rate_fit
from jupyter_eca.workspace.files.read_threads import run_read

if TYPE_CHECKING:
    from jupyter_eca.plugins.contexts.base import Material, Surroundings


class NotebookPlug:
    """The plug: `query` offers the open notebooks, and `resolve` reads the chosen one. The class implements
    `base.Context`, whose argument `surroundings` has the sources that are read."""

    # The `type` of its contexts in the messages of the protocol.
    kind = "notebook"

    async def query(self, surroundings: Surroundings, query: str) -> list[NotebookContext]:
        """Offer the open notebooks, the active one first. Only the others need their path in the mention."""
        paths = (await surroundings.recent_looks.read_notebooks(surroundings)).paths
        found = [
            NotebookContext(label=f"notebook:{path}" if index else "notebook", description=path, path=path)
            for index, path in enumerate(paths)
        ]
        return [context for context in found if rate_fit(query, f"notebook:{context.path}") is not None]

    async def resolve(self, surroundings: Surroundings, context: NotebookContext) -> Material:
        """Read all cells of the notebook. Where there are no live notebooks, its file is read."""
        if surroundings.notebooks is None and context.path:
            return await run_read(file.read_file, surroundings.files, context.path, None)
        document = await open_notebook.read_document(surroundings, context.path)
        return await asyncio.to_thread(open_notebook.render_whole, document, surroundings.known)


CONTEXT = NotebookPlug()
