"""Owns `ChangeStep`, one change in the list of changes that a model writes for a notebook, and the tool with which plan
mode shows such a list without making the changes. It shows them in the same form as `notebook_change`, which makes
them.
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any, Final

from pydantic import BaseModel, ConfigDict, Field
from pydantic.json_schema import SkipJsonSchema  # noqa: TC002  # pydantic reads the annotations

from jupyter_eca.engine.model.proposals import NOTEBOOK_CHANGE_TOOL, make_preview_id
from jupyter_eca.errors import StaleSourceError, ToolError
from jupyter_eca.plugins.tools import cell_edits
from jupyter_eca.plugins.tools.base import Need, ToolContext, tool, validate
from jupyter_eca.plugins.tools.notebook import NotebookPath, find_default_notebook, read_notebook
from jupyter_eca.protocol.notebook import CellType, InsertCell, NotebookDocument
from jupyter_eca.workspace.files.read_threads import run_read
from jupyter_eca.workspace.notebooks import cell_changes
from jupyter_eca.workspace.tool_result import ToolResult

if TYPE_CHECKING:
    from collections.abc import Sequence

    from jupyter_eca.protocol.content import FileChangeDetails


# The kinds of changes. No docstrings here and in `ChangeStep`: they would be sent to the model in the schema.
class StepKind(StrEnum):
    INSERT = "insert"
    EDIT = "edit"
    DELETE = "delete"
    MOVE = "move"


# One change, as the model writes it. `plan_steps` makes a `cell_changes.Change` of it, which is checked and names cells
# only by ids. It is flat, because the servers of some models do not support unions. Each description begins with the
# kinds of changes that have the field. `original_content` must occur exactly once in the cell. `index` is the number
# that the cell has after the move, counted from 1.
class ChangeStep(BaseModel):
    model_config = ConfigDict(extra="forbid")

    do: StepKind
    cell: int | str = Field("", description="edit, delete, move: its id or number.")
    source: str | SkipJsonSchema[None] = Field(None, description="insert, edit: the whole source.")
    original_content: str = Field("", description="edit, instead of source: the text to replace, once in the cell.")
    new_content: str = Field("", description="edit: what takes its place.")
    cell_type: CellType = Field(CellType.CODE, description="insert.")
    after: int | str = Field("", description="insert: the cell before it; 0 for the top, empty for the end.")
    index: int = Field(0, description="move: its number then.")

    @property
    def is_partial(self) -> bool:
        """Whether it changes only a part of a cell. The model must then know this part word for word."""
        return bool(self.original_content)


# The type of an argument, with its description for the model.
Steps = Annotated[list[ChangeStep], Field(min_length=1, description="As in notebook_change.")]


def plan_steps(
    context: ToolContext,
    document: NotebookDocument,
    steps: Sequence[ChangeStep],
    *,
    live: NotebookDocument | None = None,
) -> tuple[tuple[cell_changes.Change, ...], NotebookDocument]:
    """Return the changes that the steps make, and the notebook after them.

    `document` is the notebook that the steps start from. `live` is the notebook as the user has it now, None if the
    changes are only shown. The two differ when earlier calls of the same reply have not run yet: `document` then has
    their changes already. With `live`, the model must have read the current source of each cell that it changes or
    deletes, except of cells that an earlier step has changed.

    Raises: ToolError, which names the step; StaleSourceError when the model has not read the current source of a cell.
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


def replace_numbers_by_ids(
    context: ToolContext, document: NotebookDocument, steps: Sequence[ChangeStep]
) -> tuple[ChangeStep, ...]:
    """Return the steps with the ids of cells instead of the numbers that the cells have in this notebook. An id still
    means the same cell after cells were inserted, moved or deleted."""
    changes, _ = plan_steps(context, document, steps)
    return tuple(_replace_number(step, change) for step, change in zip(steps, changes, strict=True))


def _replace_number(step: ChangeStep, change: cell_changes.Change) -> ChangeStep:
    """Return a step that names by its id the cell that it changes, or the cell that it inserts below."""
    if not isinstance(change, InsertCell):
        return step.model_copy(update={"cell": cell_changes.get_cell_id(change)})
    return step.model_copy(update={"after": cell_edits.get_anchor(change)})


def _plan_step(context: ToolContext, document: NotebookDocument, step: ChangeStep) -> cell_changes.Change:
    """Return the change that a step makes. Raises: ToolError when its fields do not fit."""
    match step.do:
        case StepKind.INSERT:
            if step.original_content or step.new_content:
                # Approval rules look only at `source` of an insertion. They would not see text in another field.
                raise ToolError("An insertion takes its text from source; nothing was changed.")
            source = step.source or ""
            return cell_edits.plan_insert(context, document, source=source, cell_type=step.cell_type, after=step.after)
        case StepKind.EDIT:
            original, new = step.original_content, step.new_content
            return cell_edits.plan_edit(
                context, document, cell=step.cell, source=step.source, original_content=original, new_content=new
            )
        case StepKind.DELETE:
            return cell_edits.plan_delete(context, document, cell=step.cell)
        case StepKind.MOVE:
            return cell_edits.plan_move(context, document, cell=step.cell, index=_check_index(step))


def _check_index(step: ChangeStep) -> int:
    """Return the index of a step that moves a cell. Raises: ToolError for one that is too small."""
    if step.index < 1:
        raise ToolError("index must be at least 1; nothing was changed.")
    return step.index


# The result for the model.
_SHOWN: Final = """Shown to the user; nothing was changed. notebook_change with preview "{id}" makes exactly this:
{diff}"""


async def _preview(context: ToolContext, arguments: dict[str, Any]) -> FileChangeDetails:
    """Return the changes of a call as one diff, which the user sees."""
    values = validate(preview_notebook_change.arguments, arguments)
    return await _describe_steps(context, values["changes"], values["path"])


@tool(
    reads=True,
    needs=[Need.NOTEBOOKS],
    agents=["plan"],
    # Models are not offered this tool any more, because plan mode now shows changes with `notebook_change`.
    replaced_by=NOTEBOOK_CHANGE_TOOL,
    summary="Previewing changes of cells {path}",
    preview=_preview,
    paths=["path"],
    default_notebook=find_default_notebook,
)
async def preview_notebook_change(context: ToolContext, changes: Steps, path: NotebookPath = "") -> ToolResult:
    """Show the user, as one diff, changes of a notebook's cells that you propose. Nothing is changed.

    Read the notebook first, and put all of its changes into one call. The path of a notebook that is not there yet
    shows a new one.
    """
    details = await _describe_steps(context, changes, path)
    return ToolResult(_SHOWN.format(id=make_preview_id(context.call), diff=details.diff), details=details)


TOOLS = (preview_notebook_change,)


async def _describe_steps(context: ToolContext, steps: Sequence[ChangeStep], path: str) -> FileChangeDetails:
    """Return what the user sees of all changes together. Raises: ToolError when a step does not fit."""
    before = await _read_document(context, path)
    changes, after = plan_steps(context, before, steps)
    return cell_changes.describe_changes(before, after, *changes)


async def _read_document(context: ToolContext, path: str) -> NotebookDocument:
    """Return a notebook, without cells if there is no such file yet."""
    if path.endswith(".ipynb"):
        real = context.files.resolve(path)
        if not await run_read(real.exists):
            return NotebookDocument(path=context.files.contents_path(real), cells=())
    return await read_notebook(context, path)
