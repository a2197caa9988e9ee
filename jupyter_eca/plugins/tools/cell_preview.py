"""The tool with which plan mode shows changes of cells without making them. It shows them in the same form as
`notebook_change`, which makes them.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any, Final

from jupyter_eca.plugins.tools.base import Need, ToolContext, tool, validate
from jupyter_eca.plugins.tools.cell_steps import Step, Steps, plan_steps
from jupyter_eca.plugins.tools.notebook import NotebookPath, find_default_notebook, read_notebook
from jupyter_eca.protocol.notebook import NotebookDocument
from jupyter_eca.workspace.files.read_threads import run_read
from jupyter_eca.workspace.notebooks import cell_changes
from jupyter_eca.workspace.tool_result import ToolResult

if TYPE_CHECKING:
    from collections.abc import Sequence

    from jupyter_eca.protocol.content import FileChangeDetails


_SHOWN: Final = """Shown to the user; nothing was changed. notebook_change with preview "{id}" makes exactly this:
{diff}"""


async def _preview(context: ToolContext, arguments: dict[str, Any]) -> FileChangeDetails:
    values = validate(preview_notebook_change.arguments, arguments)
    return await _as_details(context, values["changes"], values["path"])


@tool(
    reads=True,
    needs=[Need.NOTEBOOKS],
    agents=["plan"],
    summary="Previewing changes of cells {path}",
    preview=_preview,
    paths=["path"],
    default_notebook=find_default_notebook,
)
async def preview_notebook_change(context: ToolContext, changes: Steps, path: NotebookPath = "") -> ToolResult:
    """Show the user, as one diff, changes of a notebook's cells that you propose. Nothing is changed.

    Read the notebook first. Put all changes of a notebook into one call. They are worked out one after the other:
    numbers are those that the cells have after the changes before; ids stay. The path of a notebook that is not there
    yet shows a new one.
    """
    details = await _as_details(context, changes, path)
    return ToolResult(_SHOWN.format(id=make_preview_id(context.call), diff=details.diff), details=details)


TOOLS = (preview_notebook_change,)


async def _as_details(context: ToolContext, steps: Sequence[Step], path: str) -> FileChangeDetails:
    """Return the details of the changes together."""
    before = await _read_document(context, path)
    changes, after = plan_steps(context, before, steps)
    return cell_changes.describe_changes(before, after, *changes)


def make_preview_id(call: str) -> str:
    """Return the id by which the model names what a call has shown."""
    return hashlib.sha256(call.encode("utf-8", "replace")).hexdigest()[:8]


async def _read_document(context: ToolContext, path: str) -> NotebookDocument:
    """Return a notebook, without cells if there is no such file yet."""
    if path.endswith(".ipynb"):
        real = context.files.resolve(path)
        if not await run_read(real.exists):
            return NotebookDocument(path=context.files.contents_path(real), cells=())
    return await read_notebook(context, path)
