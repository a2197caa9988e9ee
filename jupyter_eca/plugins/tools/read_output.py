"""The tool that reads the rest of an output that was too long for the model. `host/tools/kept_outputs.py` keeps the
outputs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from pydantic import BeforeValidator, Field

from jupyter_eca.errors import ToolError
from jupyter_eca.plugins.tools.base import Need, ToolContext, tool

if TYPE_CHECKING:
    from jupyter_eca.workspace.ports import FoundLines

# How many bytes one call returns, at most.
MAX_LIMIT_BYTES = 40_000

# The types of the arguments, with their descriptions for the model.
Id = Annotated[str, Field(description="The id that the shortened output names.")]


def _clamp(value: Any) -> Any:
    """Return a limit that is too large as the largest one."""
    return min(value, MAX_LIMIT_BYTES) if isinstance(value, int) else value


Offset = Annotated[int, Field(description="The byte to begin at; a negative one counts from the end.")]
Limit = Annotated[int, Field(ge=1, le=MAX_LIMIT_BYTES, description="How many bytes at most."), BeforeValidator(_clamp)]
Contains = Annotated[str, Field(description="Return only the lines with this text, each with its byte.")]
Pattern = Annotated[str, Field(description="The same with a regular expression.")]


@tool(reads=True, needs=[Need.OUTPUTS], summary="Reading the output {id}")
async def read_output(
    context: ToolContext,
    id: Id,
    offset: Offset = 0,
    limit: Limit = 20_000,
    contains: Contains = "",
    pattern: Pattern = "",
) -> str:
    """Read more of a tool's output that was too long, by the id in the shortened one.

    Read only what you need.
    """
    if context.outputs is None:
        raise ToolError("Outputs are not kept here.")
    if contains and pattern:
        raise ToolError("Give either contains or pattern.")
    if pattern:
        return _format_found(pattern, await context.outputs.match(id, pattern))
    if contains:
        return _format_found(contains, await context.outputs.find(id, contains))
    part = await context.outputs.read(id, offset, limit)
    if offset > part.total:
        raise ToolError(f"The output ends at byte {part.total}.", "Give a smaller offset, or a negative one.")
    more = f"; go on with offset={part.end}" if part.end < part.total else ""
    return f"[bytes {part.offset}-{part.end} of {part.total}{more}]\n{part.text}"


TOOLS = (read_output,)


def _format_found(text: str, found: FoundLines) -> str:
    """Return the lines that were found, each with the byte at which it begins. `text` is the text or the pattern that
    was searched for."""
    if not found.lines:
        return f"No line of the {found.total} bytes has {text!r}."
    lines = [f"byte {offset}: {line}" for offset, line in found.lines]
    return "\n".join((*lines, f"[{found.left_out} more lines]") if found.left_out else lines)
