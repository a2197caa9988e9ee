"""The context of the user's cursor: in a file with the lines around it, in a notebook with its cell
(`reading/place.py`). This module must not know whether the cursor in a file has moved since the last turn:
`host/turn/effect_runner.py` does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from jupyter_eca.plugins.contexts import file
from jupyter_eca.plugins.contexts.base import Material
from jupyter_eca.plugins.contexts.reading import place
from jupyter_eca.protocol.context import LinesRange
from jupyter_eca.workspace.files.read_threads import run_read

if TYPE_CHECKING:
    from jupyter_eca.plugins.contexts.base import Surroundings
    from jupyter_eca.protocol.context import CursorContext, Range

# How many lines the model gets before the cursor, and how many after it. They usually contain the whole function.
LINES_AROUND = 20


class CursorPlug:
    """The plug: `query` offers nothing, and `resolve` reads the place of a cursor. The class implements `base.Context`,
    whose argument `surroundings` has the sources that are read."""

    # The `type` of its contexts in the messages of the protocol.
    kind = "cursor"

    async def query(self, surroundings: Surroundings, query: str) -> list[CursorContext]:
        """Offer nothing: editors send the cursor by themselves."""
        return []

    async def resolve(self, surroundings: Surroundings, context: CursorContext) -> Material:
        """Read the lines around the cursor. For the model, lines are counted from 1, as in all texts."""
        if surroundings.notebooks is not None and context.path.lower().endswith(".ipynb"):
            return await place.read_cursor_place(surroundings, context)
        start, end = context.position.start, context.position.end
        first = max(1, start.line + 1 - LINES_AROUND)
        lines_around = LinesRange(start=first, end=end.line + 1 + LINES_AROUND)
        material = await run_read(file.read_file, surroundings.files, context.path, lines_around)
        return Material(
            f"cursor in {context.path}",
            f"{_describe_place(context.position)}; around it:\n{material.text}",
            material.images,
        )


CONTEXT = CursorPlug()


def _describe_place(position: Range) -> str:
    """Return the line and the column of a cursor, or of the beginning and the end of a selection."""
    start, end = position.start, position.end
    words = f"line {start.line + 1}, column {start.character + 1}"
    if start != end:
        words = f"from {words} to line {end.line + 1}, column {end.character + 1} (selected)"
    return words
