"""The tools that show the state of the live kernel, interrupt and restart it, and look up a name in it. This module
must not run code: `kernel` does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from pydantic import Field

from jupyter_eca.engine.model.request import ApprovalCoverage
from jupyter_eca.errors import ToolError
from jupyter_eca.plugins.tools.base import Need, ToolContext, tool
from jupyter_eca.plugins.tools.kernel import (
    add_kernel_name,
    find_free_kernel,
    find_kernel,
    find_notebook_of_kernel,
)

if TYPE_CHECKING:
    from jupyter_eca.protocol.notebook import KernelState
    from jupyter_eca.workspace.ports import Kernel

# How many characters the text about a name has, at most. The signature and the beginning of the docstring are first.
# The examples and the source of a large function, which come after them, fill pages.
MAX_INSPECTION_CHARACTERS = 4_000

# The types of the arguments, with their descriptions for the model.
OtherKernel = Annotated[str, Field(description="As in run_code.")]
Name = Annotated[str, Field(min_length=1, description="A name as code writes it: `df`, `np.linalg.norm`.")]


@tool(
    reads=True,
    needs=[Need.KERNEL],
    summary="Looking up {name}",
    paths=["path"],
    default_notebook=find_notebook_of_kernel,
)
async def inspect(context: ToolContext, name: Name, path: OtherKernel = "") -> str:
    """What the live kernel knows of a name: signature, docstring and source of a function, class or module; type and
    docstring of a value. Look here before you guess how an installed version is called.
    """
    kernel = await find_free_kernel(context, path)
    found = await kernel.inspect(name)
    if not found.found:
        raise ToolError(f"The kernel knows no {name}.", "It must have been imported or defined there first.")
    text = found.text
    if len(text) > MAX_INSPECTION_CHARACTERS:
        left_out = len(text) - MAX_INSPECTION_CHARACTERS
        beginning = text[:MAX_INSPECTION_CHARACTERS]
        text = f"{beginning}\n[{left_out} more characters: inspect a name inside of it, or read its file]"
    return add_kernel_name(context, kernel, text)


@tool(
    reads=True,
    needs=[Need.KERNEL],
    summary="Looking at the kernel {path}",
    paths=["path"],
    default_notebook=find_notebook_of_kernel,
)
async def kernel_state(context: ToolContext, path: OtherKernel = "") -> str:
    """Whether the live kernel is idle, busy (with which cell, for how long, how many wait) or dead. Answers at once,
    also when the kernel is busy.
    """
    return await _describe(await find_kernel(context, path))


async def _check_kernel(context: ToolContext, arguments: dict[str, Any]) -> None:
    """Check before the user is asked that there is such a kernel. There is nothing to preview, so this returns None.
    Raises: ToolError when there is none."""
    await find_kernel(context, str(arguments.get("path", "")))


@tool(
    needs=[Need.KERNEL, Need.KERNEL_CONTROL],
    summary="Interrupting the kernel {path}",
    preview=_check_kernel,
    approval_covers=ApprovalCoverage.NOTEBOOK,
    paths=["path"],
    default_notebook=find_notebook_of_kernel,
)
async def kernel_interrupt(context: ToolContext, path: OtherKernel = "") -> str:
    """Interrupt what the live kernel runs, as the stop button does. Variables stay. Ends the user's own cells too: do
    it only when they want that.
    """
    kernel = await find_kernel(context, path)
    await kernel.interrupt()
    return f"Interrupted. {await _describe(kernel)}"


@tool(
    needs=[Need.KERNEL, Need.KERNEL_CONTROL],
    summary="Restarting the kernel {path}",
    preview=_check_kernel,
    approval_covers=ApprovalCoverage.NOTEBOOK,
    paths=["path"],
    default_notebook=find_notebook_of_kernel,
)
async def kernel_restart(context: ToolContext, path: OtherKernel = "") -> str:
    """Restart the live kernel. All variables and imports are gone then; cells keep their outputs. Only when nothing
    else helps.
    """
    kernel = await find_kernel(context, path)
    await kernel.restart()
    return f"Restarted; its variables are gone. {await _describe(kernel)}"


TOOLS = (inspect, kernel_state, kernel_interrupt, kernel_restart)


async def _describe(kernel: Kernel) -> str:
    """Return a sentence about the state of a kernel now."""
    return _describe_state(await kernel.state(), kernel.notebook)


def _describe_state(state: KernelState, notebook: str) -> str:
    """Return a sentence about a state: `The kernel of a.ipynb (python) is busy with cell 3 for 4.2 seconds.`"""
    name = f"The kernel of {notebook}" if notebook else "The kernel"
    parts = [f"{name} ({state.language})" if state.language else name, f"is {state.status}"]
    if state.cell:
        parts.append(f"with cell {state.cell}")
    if state.busy_ms is not None:
        parts.append(f"for {state.busy_ms / 1000:.1f} seconds")
    waiting = f"; {state.queued} more wait" if state.queued else ""
    return f"{' '.join(parts)}{waiting}."
