"""Tools on the live kernel: run code in it, look at its variables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from pydantic import Field

from jupyter_eca.errors import ToolError
from jupyter_eca.protocol.notebook import RunStatus
from jupyter_eca.tools.base import Need, ToolContext, ToolResult, tool
from jupyter_eca.workspace.kernels import worked_in

if TYPE_CHECKING:
    from jupyter_eca.protocol.notebook import Variable
    from jupyter_eca.workspace.base import Kernel


@tool(needs=[Need.KERNEL], summary="Running code", lives=True)
async def run_code(
    context: ToolContext, code: Annotated[str, Field(description="Python source; the last expression is shown.")]
) -> ToolResult:
    """Run code in the user's live kernel, where their variables are. What it defines stays there.

    Returns everything it printed and showed, or its traceback. It does not become part of the notebook document.
    """
    result = await (await kernel_of(context)).execute(context.chat, code)
    text = result.text or "(no output)"
    interrupted = result.status is RunStatus.INTERRUPTED
    return ToolResult(text, error=result.status is not RunStatus.OK, interrupted=interrupted)


@tool(reads=True, needs=[Need.KERNEL], summary="Looking at variables")
async def variables(
    context: ToolContext,
    names: Annotated[list[str], Field(description="Which ones; leave it empty for all of them.")] = [],  # noqa: B006  # read only
) -> str:
    """The user's variables in the live kernel: name, type, shape or length, a short preview; for data frames the
    columns with their types and the first rows. Look here before you guess what a name holds.
    """
    found = await (await kernel_of(context)).variables(context.chat, tuple(names))
    lines = [_described(variable) for variable in found.variables]
    lines += [f"{name}: no such variable" for name in found.missing]
    if found.left_out:
        lines.append(f"[{found.left_out} more; name those that matter]")
    return "\n".join(lines) or "The user has no variables yet."


async def kernel_of(context: ToolContext) -> Kernel:
    """The one the user is looking at: of the cell that asks, else of the notebook that is worked in, else the one that
    was used last. Raises: ToolError when none runs."""
    kernel = context.kernel
    if not context.from_cell:
        kernel = await worked_in(kernel, context.kernels, context.notebooks)
    if kernel is None:
        raise ToolError("There is no live kernel.", "Ask the user to open a notebook.")
    return kernel


def _described(variable: Variable) -> str:
    size = ""
    if variable.shape is not None:
        size = f" shape {variable.shape}"
    elif variable.length is not None:
        size = f" of length {variable.length}"
    columns = ", ".join(f"{column.name}: {column.dtype}" for column in variable.columns)
    head = " ".join(word for word in (f"{variable.name}: {variable.type}{size}", variable.dtype) if word)
    parts = [head, f"columns {columns}" if columns else "", variable.sample or variable.preview]
    return "\n  ".join(part.replace("\n", "\n  ") for part in parts if part)


TOOLS = (run_code, variables)
