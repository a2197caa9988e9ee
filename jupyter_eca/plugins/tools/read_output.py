"""The tool that reads the rest of an output that was too long for the model. `host/tools/outputs.py` keeps the
outputs."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from jupyter_eca.errors import ToolError
from jupyter_eca.plugins.tools.base import Need, ToolContext, tool

Id = Annotated[str, Field(description="The id that the shortened output names.")]
Offset = Annotated[int, Field(ge=0, description="The byte to begin at.")]
Limit = Annotated[int, Field(ge=1, le=40_000, description="How many bytes at most.")]


@tool(reads=True, needs=[Need.OUTPUTS], summary="Reading the output {id}")
async def read_output(context: ToolContext, id: Id, offset: Offset = 0, limit: Limit = 20_000) -> str:
    """Read a part of a tool's output that was too long to be shown whole, by the id that stands in the shortened one.

    Read what you need, not all of it: run the tool again with narrower arguments if that is cheaper.
    """
    if context.outputs is None:
        raise ToolError("Outputs are not kept here.")
    part = await context.outputs.read(id, offset, limit)
    more = f"; go on with offset={part.end}" if part.end < part.total else ""
    return f"[bytes {part.offset}-{part.end} of {part.total}{more}]\n{part.text}"


TOOLS = (read_output,)
