"""Owns `Step`: one change in the list of changes that a model writes for a notebook, and what such a list makes of it.

It must not show or make the changes: `cell_preview` shows them in plan mode, and `notebook_change` makes them.
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

from pydantic import BaseModel, ConfigDict, Field

from jupyter_eca.errors import StaleSourceError, ToolError
from jupyter_eca.plugins.tools import cell_edits
from jupyter_eca.protocol.notebook import CellType
from jupyter_eca.workspace.notebooks import cell_changes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from jupyter_eca.plugins.tools.base import ToolContext
    from jupyter_eca.protocol.notebook import NotebookDocument


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
    cell: int | str = Field("", description="edit, delete, move: its id or number.")
    source: str | None = Field(None, description="insert, edit: the whole source.")
    original_content: str = Field("", description="edit, instead of source: the text to replace, once in the cell.")
    new_content: str = Field("", description="edit: what takes its place.")
    cell_type: CellType = Field(CellType.CODE, description="insert.")
    after: int | str = Field("", description="insert: the cell before it; 0 for the top, empty for the end.")
    index: int = Field(0, description="move: its number then.")

    @property
    def is_partial(self) -> bool:
        """Whether it changes only a part of a cell. The model must then know this part word for word."""
        return bool(self.original_content)


Steps = Annotated[list[Step], Field(min_length=1, description="The changes, in the order in which they would be made.")]


def plan_steps(
    context: ToolContext, document: NotebookDocument, steps: Sequence[Step], *, live: NotebookDocument | None = None
) -> tuple[tuple[cell_changes.Change, ...], NotebookDocument]:
    """Return the changes that the steps make, and the notebook after them.

    With `live`, the notebook as it is now, the model must know the cells in it that it changes. A cell that an earlier
    step has changed is known. Raises: ToolError, which names the step; StaleSourceError for a cell that the model does
    not know.
    """
    changes: list[cell_changes.Change] = []
    for number, step in enumerate(steps, 1):
        try:
            change = _plan_step(context, document, step)
            if live and cell_changes.get_cell_id(change) not in map(cell_changes.get_cell_id, changes):
                cell_edits.require_known(context, live, change, partly=step.is_partial)
            document = cell_changes.apply(document, change)
        except StaleSourceError:
            raise
        except ToolError as error:
            raise ToolError(f"Change {number} ({step.do}): {error}") from error
        changes.append(change)
    return tuple(changes), document


def name_cells(context: ToolContext, document: NotebookDocument, steps: Sequence[Step]) -> tuple[Step, ...]:
    """Return the steps with ids in the place of the numbers that cells have in this notebook."""
    changes, _ = plan_steps(context, document, steps)
    return tuple(
        step if step.do is Do.INSERT else step.model_copy(update={"cell": cell_changes.get_cell_id(change)})
        for step, change in zip(steps, changes, strict=True)
    )


def _plan_step(context: ToolContext, document: NotebookDocument, step: Step) -> cell_changes.Change:
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
