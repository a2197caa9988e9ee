"""The context of a text that the client sends: a selection, or the content of a terminal. `selection` has the selection
in a notebook.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from jupyter_eca.plugins.contexts.base import Material
from jupyter_eca.workspace.known_versions import make_cell_key
from jupyter_eca.workspace.reading.text import truncate

if TYPE_CHECKING:
    from jupyter_eca.plugins.contexts.base import Surroundings
    from jupyter_eca.protocol.context import TextContext


class TextPlug:
    """The plug: it offers nothing, and `resolve` returns the text that was sent. The class implements `base.Context`,
    whose argument `surroundings` has the sources that are read."""

    # The `type` of its contexts in the messages of the protocol.
    kind = "text"

    async def query(self, surroundings: Surroundings, query: str) -> list[TextContext]:
        """Offer nothing: clients send texts by themselves."""
        return []

    async def resolve(self, surroundings: Surroundings, context: TextContext) -> Material:
        """Return the text. If it is the whole source of a cell, the model knows this cell from now on."""
        text = truncate(context.content)
        if context.path and context.cell and text == context.content:
            surroundings.known.learn(make_cell_key(context.path, context.cell), context.content)
        return Material(context.label or "text", text)


CONTEXT = TextPlug()
