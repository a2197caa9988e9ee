"""The tools that run code in the live kernel and show its variables. `kernel_control` has the tools that interrupt and
restart a kernel.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import BeforeValidator, Field

from jupyter_eca.config.schema import VariableDetail
from jupyter_eca.engine.model.request import MAX_PICTURES, ApprovalCoverage
from jupyter_eca.errors import ToolError
from jupyter_eca.plugins.tools.base import Need, ToolContext, tool
from jupyter_eca.plugins.tools.notebook import find_path
from jupyter_eca.plugins.tools.waited_code import (
    InBackground,
    RunWatch,
    check_kernel_free,
    describe_job,
    wait_or_detach,
)
from jupyter_eca.protocol.job import Job
from jupyter_eca.protocol.notebook import RunStatus
from jupyter_eca.workspace.files.read_threads import run_read
from jupyter_eca.workspace.kernels.kernel_choice import find_prompt_kernel
from jupyter_eca.workspace.kernels.output_text import IMAGE_TYPES
from jupyter_eca.workspace.ports import CELLS, JobEnding, NewJob
from jupyter_eca.workspace.reading import image
from jupyter_eca.workspace.reading.drawing import draw
from jupyter_eca.workspace.reading.variable_text import VALUES_WITHHELD, choose_disclosure, describe, load_picture
from jupyter_eca.workspace.tool_result import ToolResult

if TYPE_CHECKING:
    from collections.abc import Sequence

    from jupyter_eca.engine.model.request import ImagePart
    from jupyter_eca.protocol.notebook import KernelExecuteResult, KernelPicture
    from jupyter_eca.workspace.ports import Kernel

# With more variables than this, and none named, each is described in one line: its name, type and size.
MAX_DETAILED = 20

# How many characters a label has, at most. It is one line in a list of jobs.
_LABEL_LENGTH = 60

# The types of the arguments, with their descriptions for the model.
KernelPath = Annotated[str, Field(description="Its notebook, by default the one you were asked in.")]


def _split_names(value: Any) -> Any:
    """Accept a text, because models write that too: `df, orders`."""
    return [name for name in re.split(r"[\s,]+", value) if name] if isinstance(value, str) else value


Names = Annotated[list[str], BeforeValidator(_split_names), Field(description="Which ones; empty for all.")]


async def find_notebook_of_kernel(context: ToolContext) -> str:
    """Return the path of the notebook whose kernel is meant when no path is given; "" when it has none. See
    `find_kernel`."""
    if context.notebook and not context.direct:
        return context.notebook
    try:
        return (await find_kernel(context, "")).notebook
    except ToolError:  # the call itself says that there is no kernel
        return ""


async def _check_free_kernel(context: ToolContext, arguments: dict[str, Any]) -> None:
    """Check before the user is asked that a kernel can run the code. There is nothing to preview, so this returns None.

    Raises: ToolError when no kernel can run it."""
    await find_free_kernel(context, str(arguments.get("path", "")))


@tool(
    needs=[Need.KERNEL],
    summary="Running code {path}",
    preview=_check_free_kernel,
    runs_on_replay=True,
    approval_covers=ApprovalCoverage.NOTEBOOK,
    paths=["path"],
    code=["code"],
    default_notebook=find_notebook_of_kernel,
)
async def run_code(
    context: ToolContext,
    code: Annotated[str, Field(description="Python source; the last expression is shown.")],
    path: KernelPath = "",
    background: InBackground = False,
) -> ToolResult:
    """Run code in the user's live kernel, where their variables are; what it defines stays there. The code is not put
    into the notebook.

    Returns what it printed and showed, with its pictures, or its traceback.
    """
    kernel = await find_free_kernel(context, path)
    watch, line = RunWatch(clock=context.clock), " ".join(code.split())
    label = line if len(line) <= _LABEL_LENGTH else line[: _LABEL_LENGTH - 1] + "…"
    about = NewJob(context.chat, label, code, context.call, CELLS, kernel.id)
    run = kernel.execute(context.chat, code, watch)
    result = await wait_or_detach(context, run, watch, about, _describe_ending, background=background)
    if isinstance(result, Job):
        return ToolResult(add_kernel_name(context, kernel, describe_job(result, watch, background=background)))
    pictures, problems = await run_read(_load_pictures, result.pictures)
    text = add_kernel_name(context, kernel, "\n".join((result.text or "(no output)", *problems)))
    interrupted = result.status is RunStatus.INTERRUPTED
    return ToolResult(text, error=result.status is not RunStatus.OK, images=pictures, interrupted=interrupted)


@tool(
    reads=True,
    needs=[Need.KERNEL],
    summary="Looking at variables",
    paths=["path"],
    default_notebook=find_notebook_of_kernel,
)
async def variables(
    context: ToolContext,
    names: Names = [],  # noqa: B006  # read only
    path: KernelPath = "",
) -> ToolResult:
    """The user's variables in the live kernel: name, type, size and a short preview. Look here before you guess what a
    name holds.

    Of those you name you are told more: memory, more of the value, a figure as an image; of a table its first rows and
    a line for each column: type, share of nulls, range and mean or the most frequent values; of a database connection
    its tables and columns (`con.orders`: one table with its first rows).
    """
    kernel = await find_free_kernel(context, path)
    found = await kernel.variables(context.chat, tuple(names))
    variables_config = context.variables_config
    # Of each variable, the lines about it. The first line has its name, type and size.
    described = [describe(variable, variables_config) for variable in found.variables]
    is_brief = not names and len(described) > MAX_DETAILED
    lines = [entry[0] for entry in described] if is_brief else [_indent(entry) for entry in described]
    if is_brief:
        lines.append("[many variables: a line for each; name those of which you need more]")
    lines += [f"{name}: no such variable" for name in found.missing]
    if found.left_out:
        lines.append(f"[{found.left_out} more; name those that matter]")
    if any(choose_disclosure(variable, variables_config) is not VariableDetail.FULL for variable in found.variables):
        lines.append(VALUES_WITHHELD)
    pictures = [picture for variable in found.variables for picture in load_picture(variable, variables_config)]
    text = add_kernel_name(context, kernel, "\n".join(lines) or "The user has no variables yet.")
    return ToolResult(text, images=tuple(pictures[:MAX_PICTURES]))


async def find_kernel(context: ToolContext, path: str) -> Kernel:
    """Return the kernel that a call means: the one of the notebook that the model names, else of the cell in which the
    user asked, else of the notebook in which the user asked. A program that calls a tool directly has asked in no
    notebook, so it gets a kernel only if exactly one runs. Raises: ToolError when there is no such kernel."""
    notebook = "" if context.direct else context.notebook
    named = await find_path(context, path) if path.strip() else ""
    if context.from_cell and named in {"", notebook}:
        kernel = context.kernel
    else:
        kernel = await find_prompt_kernel(context.kernel, context.kernels, named or notebook)
    if kernel is None:
        raise ToolError("There is no live kernel.", "Ask the user to open a notebook.")
    return kernel


async def find_free_kernel(context: ToolContext, path: str) -> Kernel:
    """Return the kernel that a call means, see `find_kernel`. Raises: ToolError, also when a background job uses it."""
    kernel = await find_kernel(context, path)
    check_kernel_free(context, kernel.id)
    return kernel


def add_kernel_name(context: ToolContext, kernel: Kernel, text: str) -> str:
    """Return a result with the name of the kernel's notebook before it. The kernel of the cell in which the user asked
    is not named, because a locked answer must stay the same when its notebook is renamed."""
    own = context.from_cell and kernel is context.kernel
    return f"In the kernel of {kernel.notebook}:\n{text}" if kernel.notebook and not own else text


def _load_pictures(pictures: Sequence[KernelPicture]) -> tuple[tuple[ImagePart, ...], list[str]]:
    """Load the pictures of a run. Also return a line for each that cannot be sent to a model."""
    loaded: list[ImagePart] = []
    problems: list[str] = []
    for picture in pictures[-MAX_PICTURES:]:
        try:
            if picture.media_type in IMAGE_TYPES:
                part = image.load_base64("".join(picture.data.split()), picture.name)
            else:
                part = image.load_bytes(draw(picture.media_type, picture.data), picture.name)
        except ToolError as error:
            problems.append(f"[{picture.name} is only shown to the user: {error}]")
        else:
            loaded.append(replace(part, name=picture.name))
    return tuple(loaded), problems


def _describe_ending(done: KernelExecuteResult) -> JobEnding:
    """Return how code that was moved to the background has ended: whether it failed, and with which error."""
    return JobEnding(
        done.status is not RunStatus.OK, "" if done.status is RunStatus.OK else done.text.rpartition("\n")[2]
    )


def _indent(lines: list[str]) -> str:
    """Return the lines as one text, with all lines after the first one indented."""
    return "\n  ".join(line.replace("\n", "\n  ") for line in lines)


TOOLS = (run_code, variables)
