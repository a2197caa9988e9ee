"""The tool that changes cells of a notebook, all in one step, and runs them.

What is shown, approved, run and stored is one value: the changes in the `FileChangeDetails` of the preview, with the
cells that run afterwards. For example, the model writes an insertion and an edit with `run`. The preview computes both
changes and the two sources that will run. The user approves one diff. The call then makes exactly these changes, all or
none, with a checkpoint for each. It reads the notebook back, and runs the two cells if they are as they were shown.

This module must not compute a change: `cell_preview` and `cell_edits` do. `notebook` runs the cells.
"""

from __future__ import annotations

from contextlib import nullcontext, suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import Field

from jupyter_eca.engine.model.request import ApprovalCoverage
from jupyter_eca.errors import StoppedRunError, ToolError
from jupyter_eca.plugins.tools.base import Need, ToolContext, tool, validate
from jupyter_eca.plugins.tools.cell_edits import (
    checkpoint_and_apply,
    notebook_delete_cell,
    notebook_edit_cell,
    notebook_insert_cell,
    notebook_move_cell,
    require_known,
)
from jupyter_eca.plugins.tools.cell_preview import ChangeStep, plan_steps, replace_numbers_by_ids
from jupyter_eca.plugins.tools.notebook import (
    NotebookPath,
    apply_earlier_calls,
    check_kernel,
    check_loaded,
    find_default_notebook,
    get_notebooks,
    notebook_run_cells,
    read_notebook,
    run_cells,
)
from jupyter_eca.protocol.content import FileChangeDetails, ShownCell
from jupyter_eca.protocol.notebook import CellType, DeleteCell, EditCell, InsertCell, MoveCell
from jupyter_eca.workspace.known_versions import make_cell_key
from jupyter_eca.workspace.notebooks import cell_changes
from jupyter_eca.workspace.notebooks.change_parts import divide_changes
from jupyter_eca.workspace.notebooks.edit_verification import are_applied
from jupyter_eca.workspace.shielded import run_to_end
from jupyter_eca.workspace.tool_result import ToolResult

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from jupyter_eca.protocol.notebook import NotebookDocument

# The types of the arguments, with their descriptions for the model.
Changes = Annotated[
    list[ChangeStep],
    Field(description="Made in this order: numbers are those after the changes before; ids stay."),
]
# Where cells cannot run, this argument is not offered. So only its description says something about runs, and the
# docstring of the tool does not.
Run = Annotated[
    bool,
    Field(
        description="Then run the inserted and edited cells from top to bottom, up to the first that fails; you get "
        "their outputs and pictures."
    ),
]
PreviewId = Annotated[str, Field(description="Instead of changes: the id of a preview, to make exactly those.")]


async def _preview(context: ToolContext, arguments: dict[str, Any]) -> FileChangeDetails:
    """Return the changes that a call would make, and the cells that it would run, which the user sees before the
    approval. Raises: ToolError."""
    values = validate(notebook_change.arguments, arguments)
    document = await read_notebook(context, values["path"])
    # All calls of a reply are previewed before the first one runs. `before` is the notebook as it will be when the
    # earlier calls of this reply have run.
    before = apply_earlier_calls(context, document)
    steps: Sequence[ChangeStep] = values["changes"]
    if context.earlier_calls and steps:
        # The model has taken cell numbers from the notebook as it is now, so a number is looked up there. If that
        # fails, for example because an earlier call inserts the cell, the number is looked up in `before`.
        with suppress(ToolError):
            steps = replace_numbers_by_ids(context, document, steps)
    return await _plan(context, before, document, steps, run=values["run"], preview=values["preview"])


@tool(
    makes_checkpoints=True,
    needs=[Need.NOTEBOOKS],
    summary="Changing cells {path}",
    preview=_preview,
    approval_covers=ApprovalCoverage.NOTEBOOK,
    paths=["path"],
    default_notebook=find_default_notebook,
    code=["changes"],
    parts={
        "insert": notebook_insert_cell,
        "edit": notebook_edit_cell,
        "delete": notebook_delete_cell,
        "move": notebook_move_cell,
        "run": notebook_run_cells,
    },
)
async def notebook_change(
    context: ToolContext,
    changes: Changes = [],  # noqa: B006  # read only
    run: Run = False,
    preview: PreviewId = "",
    path: NotebookPath = "",
) -> ToolResult:
    """Change cells of a notebook, all in one step: one diff to approve, all or none.

    Read a cell before you change it: one that is not as you read it is left, and you are shown it.
    """
    lock = context.checkpointer.cell_lock if context.checkpointer is not None else nullcontext()
    async with lock:
        document, details = await _find_approved(context, changes, run=run, preview=preview, path=path)
        if details.runs:
            check_kernel(context, document, "nothing was changed")
        after, result = await _make_changes(context, document, details, changes)
    if result.error or not details.runs:
        return result
    try:
        cells = [cell_changes.find_cell(after, cell.id) for cell in details.runs]
        ran = await run_cells(context, after, cells)
    except StoppedRunError as error:
        return ToolResult(f"{result.text}\n\n{error}", error=True, details=result.details)
    except ToolError as error:
        # The model must not make the changes a second time.
        return ToolResult(f"{result.text}\n\nThe cells were not run: {error}", error=True, details=result.details)
    # The pictures, and whether the run failed or was interrupted, are those of the run. The other fields are those of
    # this call, or empty.
    return replace(
        ran,
        text=f"{result.text}\n\n{ran.text}",
        details=result.details,
        whole_length=None,
        fetched_rule="",
        links=(),
        documents=(),
    )


TOOLS = (notebook_change,)


async def _plan(
    context: ToolContext,
    document: NotebookDocument,
    live: NotebookDocument,
    steps: Sequence[ChangeStep],
    *,
    run: bool,
    preview: str,
) -> FileChangeDetails:
    """Return the changes that a call makes, and the cells that it runs then. `live` is the notebook as it is now, and
    `document` as it is after earlier calls of the same reply. `steps` are the changes that the model has written, or
    `preview` is the id of an earlier preview of changes, and the other is empty. `run` says whether the call runs cells
    afterwards. Raises: ToolError."""
    if bool(steps) is bool(preview.strip()):
        raise ToolError("Give either changes or preview; nothing was changed.")
    if preview.strip():
        changes, after = await _find_preview(context, document, live, preview.strip())
    else:
        changes, after = plan_steps(context, document, steps, live=live)
    details = cell_changes.describe_changes(document, after, *changes)
    details = details.model_copy(update={"parts": divide_changes(changes) or None})
    if not run:
        return details
    check_kernel(context, document, "nothing was changed")
    return details.model_copy(update={"runs": _list_runs(after, changes)})


async def _find_preview(
    context: ToolContext, document: NotebookDocument, live: NotebookDocument, id: str
) -> tuple[tuple[cell_changes.Change, ...], NotebookDocument]:
    """Return the changes that were shown under this id, and the notebook after them. Raises: ToolError."""
    shown = await context.previews.find(id) if context.previews is not None else None
    if shown is None or not shown.cells:
        raise ToolError(
            f"There is no preview {id} of cells in this chat; nothing was changed.", "Give changes instead."
        )
    if shown.path != document.path:
        raise ToolError(f"The preview {id} is of {shown.path}; nothing was changed.", "Give this path too.")
    changes = tuple(change for change in shown.cells if isinstance(change, cell_changes.Change))
    touched: set[str] = set()
    for change in changes:
        if (cell := cell_changes.get_cell_id(change)) not in touched:
            # The cell has the source from which the preview was made, or the change below fails.
            require_known(context, live, change, partly=True)
        touched.add(cell)
    return _apply_all(document, changes)


def _apply_all(
    document: NotebookDocument, changes: Iterable[cell_changes.Change]
) -> tuple[tuple[cell_changes.Change, ...], NotebookDocument]:
    """Return the changes with the present places of their cells, and the notebook after them.

    Raises: ToolError when a cell is gone or has another source, or when a new cell is there already.
    """
    made: list[cell_changes.Change] = []
    for change in changes:
        if isinstance(change, InsertCell) and document.find_cell(change.cell.id) is not None:
            raise ToolError(f"The new cell [{change.cell.id}] is in {document.path} already; nothing was changed.")
        placed = cell_changes.update_index(document, change)
        document = cell_changes.apply(document, placed)
        made.append(placed)
    return tuple(made), document


def _list_runs(after: NotebookDocument, changes: Iterable[cell_changes.Change]) -> tuple[ShownCell, ...]:
    """Return the code cells that were inserted or edited, in the order of the notebook. Raises: ToolError for none."""
    changed = {cell_changes.get_cell_id(change) for change in changes if isinstance(change, InsertCell | EditCell)}
    runs = tuple(
        ShownCell(number=number, id=cell.id, source=cell.source)
        for number, cell in enumerate(after.cells, 1)
        if cell.id in changed and cell.cell_type is CellType.CODE
    )
    if not runs:
        raise ToolError(
            "run needs a code cell that is inserted or edited; nothing was changed.",
            "Leave run out; notebook_run_cells runs other cells.",
        )
    return runs


async def _find_approved(
    context: ToolContext, steps: Sequence[ChangeStep], *, run: bool, preview: str, path: str
) -> tuple[NotebookDocument, FileChangeDetails]:
    """Return the notebook, and the change of it that the user has approved. It is not computed again, because a number
    may now mean another cell. A change that nobody was shown is computed now. Raises: ToolError."""
    shown_details = context.shown_details
    if isinstance(shown_details, FileChangeDetails) and shown_details.cells:
        return await get_notebooks(context).read(shown_details.path), shown_details
    if preview.strip():
        # The rules were decided without knowing what the preview contains.
        raise ToolError("What this preview contains was not shown; nothing was changed.", "Make the call again, alone.")
    document = await read_notebook(context, path)
    return document, await _plan(context, document, document, steps, run=run, preview=preview)


async def _make_changes(
    context: ToolContext, document: NotebookDocument, details: FileChangeDetails, steps: Sequence[ChangeStep]
) -> tuple[NotebookDocument, ToolResult]:
    """Make the changes in `details`, and return the notebook as it is read back, and the result for the model. `steps`
    are the changes as the model has written them; empty if it has named a preview. Raises: ToolError."""
    changes = [change for change in details.cells or () if isinstance(change, cell_changes.Change)]
    # `partly` has the indexes of the changes that change only a part of a cell.
    if details.left_out:
        # The changes that remain are not those of the steps. An edit of which a part remains is a partial one.
        partly = {index for index, change in enumerate(changes) if isinstance(change, EditCell)}
    else:
        partly = {index for index, step in enumerate(steps) if step.is_partial} if steps else set(range(len(changes)))
    touched: set[str] = set()
    for index, change in enumerate(changes):
        if (cell := cell_changes.get_cell_id(change)) not in touched:
            require_known(context, document, change, partly=index in partly)
        touched.add(cell)
    placed, expected = _apply_all(document, changes)
    check_loaded(context, cell_changes.find_loaded_content(document, expected))
    after = await run_to_end(checkpoint_and_apply(context, document, placed))
    for id, source in cell_changes.get_sources(after, *touched).items():
        if source is not None and any(_changes_source(change, id) for change in placed):
            context.known.learn_own(make_cell_key(after.path, id), source)
    shown = cell_changes.describe_changes(document, after, *placed).model_copy(update={"runs": details.runs})
    if not are_applied(after, expected, placed):
        now = "\n".join(cell_changes.describe_cell(after, id) for id in touched if after.find_cell(id))
        text = f"{after.path} is not as you wanted it: something else changed it at the same time. It is now:\n{now}"
        return after, ToolResult(text, error=True, details=shown)
    lines = [_describe_change(document, after, change) for change in placed]
    size = f"{after.path} has {cell_changes.describe_size(after)} now."
    rewritten = _list_present(after, placed) if details.left_out else _list_rewritten(after, placed, steps)
    return after, ToolResult("\n".join((f"Done; {size}", *lines, *rewritten)), details=shown)


def _changes_source(change: cell_changes.Change, id: str) -> bool:
    """Return whether a change sets the source of the cell with this id."""
    return isinstance(change, InsertCell | EditCell) and cell_changes.get_cell_id(change) == id


def _describe_change(before: NotebookDocument, after: NotebookDocument, change: cell_changes.Change) -> str:
    """Return what was done with one cell, with its number afterwards."""
    id = cell_changes.get_cell_id(change)
    number = cell_changes.find_number(after, id)
    cell = f"cell {number} [{id}]" if number else f"[{id}]"
    match change:
        case InsertCell():
            return f"Inserted {cell}."
        case EditCell():
            return f"Edited {cell}."
        case DeleteCell():
            return f"Deleted cell {cell_changes.find_number(before, id)} [{id}]."
        case MoveCell():
            return f"Moved {cell}."


def _list_rewritten(
    after: NotebookDocument, changes: Sequence[cell_changes.Change], steps: Sequence[ChangeStep]
) -> list[str]:
    """Return the text of each cell that is not word for word as the model wrote it. The model knows the other cells."""
    last = {cell_changes.get_cell_id(change): step for change, step in zip(changes, steps, strict=False)}
    cells = ((after.find_cell(id), step.source) for id, step in last.items() if step.source is not None)
    return [cell_changes.describe_cell(after, cell.id) for cell, source in cells if cell and cell.source != source]


def _list_present(after: NotebookDocument, changes: Iterable[cell_changes.Change]) -> list[str]:
    """Return the text of each changed cell as it is now. If the user left out parts, the model has written something
    else."""
    ids = dict.fromkeys(map(cell_changes.get_cell_id, changes))
    return [cell_changes.describe_cell(after, id) for id in ids if after.find_cell(id) is not None]
