"""The tools on the live kernel that run code and inspect variables. `kernel_control` beside it has those on its
lifecycle.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from pydantic import Field

from jupyter_eca.config.schema import VariableDetail
from jupyter_eca.engine.model.request import Remembers
from jupyter_eca.errors import ToolError
from jupyter_eca.plugins.contexts.reading.open_notebook import MAX_PICTURES
from jupyter_eca.plugins.tools.base import Need, ToolContext, tool
from jupyter_eca.plugins.tools.waited_code import STARTED, InBackground, RunWatch, free, wait_or_detach
from jupyter_eca.protocol.job import Job
from jupyter_eca.protocol.notebook import RunStatus
from jupyter_eca.workspace.kernels.nearest import find_active_kernel
from jupyter_eca.workspace.ports import CELLS, JobEnding, NewJob
from jupyter_eca.workspace.reading.variable_text import VALUES_WITHHELD, choose_disclosure, describe, load_picture
from jupyter_eca.workspace.tool_result import ToolResult

if TYPE_CHECKING:
    from jupyter_eca.protocol.notebook import KernelExecuteResult
    from jupyter_eca.workspace.ports import Kernel

# A label is one line in a list of jobs.
_LABEL_LENGTH = 60


@tool(needs=[Need.KERNEL], summary="Running code", lives=True, remembers=Remembers.NOTEBOOK, code=["code"])
async def run_code(
    context: ToolContext,
    code: Annotated[str, Field(description="Python source; the last expression is shown.")],
    background: InBackground = False,
) -> ToolResult:
    """Run code in the user's live kernel, where their variables are. What it defines stays there.

    Returns everything it printed and showed, or its traceback. It does not become part of the notebook document.
    """
    kernel = await free_kernel(context)
    watch, line = RunWatch(), " ".join(code.split())
    label = line if len(line) <= _LABEL_LENGTH else line[: _LABEL_LENGTH - 1] + "…"
    about = NewJob(context.chat, label, code, context.call, CELLS, kernel.id)
    run = kernel.execute(context.chat, code, watch)
    result = await wait_or_detach(context, run, watch, about, _find_ending, background=background)
    if isinstance(result, Job):
        return ToolResult(STARTED.format(result.id))
    text = result.text or "(no output)"
    interrupted = result.status is RunStatus.INTERRUPTED
    return ToolResult(text, error=result.status is not RunStatus.OK, interrupted=interrupted)


@tool(reads=True, needs=[Need.KERNEL], summary="Looking at variables")
async def variables(
    context: ToolContext,
    names: Annotated[list[str], Field(description="Which ones; leave it empty for all of them.")] = [],  # noqa: B006  # read only
) -> ToolResult:
    """The user's variables in the live kernel: name, type, shape or length, a short preview; for data frames the
    columns with their types and the first rows. Look here before you guess what a name holds. Of those you name you
    are told more: memory, more of the value, a figure as an image.
    """
    found = await (await free_kernel(context)).variables(context.chat, tuple(names))
    telling = context.telling
    lines = [_indent(describe(one, telling)) for one in found.variables]
    lines += [f"{name}: no such variable" for name in found.missing]
    if found.left_out:
        lines.append(f"[{found.left_out} more; name those that matter]")
    if any(choose_disclosure(one, telling) is not VariableDetail.FULL for one in found.variables):
        lines.append(VALUES_WITHHELD)
    pictures = [picture for one in found.variables for picture in load_picture(one, telling)]
    return ToolResult("\n".join(lines) or "The user has no variables yet.", images=tuple(pictures[:MAX_PICTURES]))


async def kernel_of(context: ToolContext) -> Kernel:
    """Return the kernel that the user is looking at: that of the cell that asks, else of the active notebook, else the
    one that was used last. Raises: ToolError when none runs."""
    kernel = context.kernel
    if not context.from_cell:
        kernel = await find_active_kernel(kernel, context.kernels, context.notebooks)
    if kernel is None:
        raise ToolError("There is no live kernel.", "Ask the user to open a notebook.")
    return kernel


async def free_kernel(context: ToolContext) -> Kernel:
    """Return that kernel if nothing runs in it in the background. See `kernel_of`. Raises: ToolError."""
    kernel = await kernel_of(context)
    free(context, kernel.id)
    return kernel


def _find_ending(done: KernelExecuteResult) -> JobEnding:
    return JobEnding(
        done.status is not RunStatus.OK, "" if done.status is RunStatus.OK else done.text.rpartition("\n")[2]
    )


def _indent(lines: list[str]) -> str:
    return "\n  ".join(line.replace("\n", "\n  ") for line in lines)


TOOLS = (run_code, variables)
