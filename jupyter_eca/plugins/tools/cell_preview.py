"""The tool with which plan mode shows changes of cells without making them. It shows them in the same form as
`cell_edits`, which makes changes.
"""

from __future__ import annotations

import asyncio
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

from jupyter_eca.errors import ToolError
from jupyter_eca.plugins.tools import cell_edits
from jupyter_eca.plugins.tools.base import Need, ToolContext, tool, validate
from jupyter_eca.plugins.tools.notebook import NotebookPath, find_default_notebook, read_notebook
from jupyter_eca.protocol.notebook import CellType, NotebookDocument
from jupyter_eca.workspace.notebooks import cell_changes
from jupyter_eca.workspace.tool_result import ToolResult

if TYPE_CHECKING:
    from collections.abc import Sequence

    from jupyter_eca.protocol.content import FileChangeDetails


class Do(StrEnum):
    """The kinds of changes."""

    INSERT = "insert"
    EDIT = "edit"
    DELETE = "delete"
    MOVE = "move"


class Step(BaseModel):
    """One change. It is flat, because the servers of some models do not support unions."""

    model_config = ConfigDict(extra="forbid")

    do: Do
    cell: int | str = Field("", description="Of edit, delete and move: the cell's id or number.")
    source: str | None = Field(None, description="Of insert: the source. Of edit: the whole new source.")
    original_content: str = Field("", description="Of edit, instead of source: the text to replace.")
    new_content: str = Field("", description="Of edit: the text to put in its place.")
    cell_type: CellType = Field(CellType.CODE, description="Of insert.")
    after: int | str = Field(
        "", description="Of insert: the id or number of the cell to put it after; 0 for the top, empty for the end."
    )
    index: int = Field(0, description="Of move: the number that the cell is to have then.")


Steps = Annotated[list[Step], Field(min_length=1, description="The changes, in the order in which they would be made.")]


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
    return ToolResult(f"Shown to the user; nothing was changed:\n{details.diff}", details=details)


TOOLS = (preview_notebook_change,)


async def _as_details(context: ToolContext, steps: Sequence[Step], path: str) -> FileChangeDetails:
    """Return the details of the changes together."""
    before = document = await _read_document(context, path)
    changes: list[cell_changes.Change] = []
    for number, step in enumerate(steps, 1):
        try:
            change = _plan_change(context, document, step)
            document = cell_changes.apply(document, change)
        except ToolError as error:
            raise ToolError(f"Change {number} ({step.do}): {error}") from error
        changes.append(change)
    return cell_changes.describe_changes(before, document, *changes)


async def _read_document(context: ToolContext, path: str) -> NotebookDocument:
    """Return a notebook, without cells if there is no such file yet."""
    if path.endswith(".ipynb"):
        real = context.files.resolve(path)
        if not await asyncio.to_thread(real.exists):
            return NotebookDocument(path=context.files.contents_path(real), cells=())
    return await read_notebook(context, path)


def _plan_change(context: ToolContext, document: NotebookDocument, step: Step) -> cell_changes.Change:
    match step.do:
        case Do.INSERT:
            source = step.source if step.source is not None else step.new_content
            return cell_edits.plan_insert(context, document, source=source, cell_type=step.cell_type, after=step.after)
        case Do.EDIT:
            original, new = step.original_content, step.new_content
            return cell_edits.plan_edit(
                context, document, cell=step.cell, source=step.source, original_content=original, new_content=new
            )
        case Do.DELETE:
            return cell_edits.plan_delete(context, document, cell=step.cell)
        case Do.MOVE:
            return cell_edits.plan_move(context, document, cell=step.cell, index=_check_index(step))


def _check_index(step: Step) -> int:
    if step.index < 1:
        raise ToolError("index must be at least 1; nothing was changed.")
    return step.index
