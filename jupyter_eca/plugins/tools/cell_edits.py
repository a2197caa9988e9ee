"""Plans changes of cells and makes them, and has the tools that insert, edit, delete and move one cell.

`notebook_change` has replaced these tools. They still work, for chats that know them and over MCP.

The user sees a change before it is approved. A checkpoint is made before the change, so that it can be undone, and the
notebook is read back after it, so that the model learns what is really there. This module must not compute the notebook
after a change: `workspace/notebooks/cell_changes.py` does. In plan mode, in which nothing may be changed, the tool of
the module `cell_preview` proposes changes instead.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Annotated, Any, Final

from pydantic import Field, ValidationError

from jupyter_eca.engine.model.request import ApprovalCoverage
from jupyter_eca.errors import StaleSourceError, ToolError
from jupyter_eca.plugins.tools.base import Need, ToolContext, tool
from jupyter_eca.plugins.tools.notebook import (
    NotebookPath,
    apply_earlier_calls,
    check_loaded,
    find_default_notebook,
    get_notebooks,
    read_notebook,
)
from jupyter_eca.protocol.content import FileChangeDetails
from jupyter_eca.protocol.notebook import CellType, DeleteCell, EditCell, InsertCell, MoveCell, NewCell
from jupyter_eca.workspace.files.text_replace import replace
from jupyter_eca.workspace.known_versions import Version, make_cell_key
from jupyter_eca.workspace.notebooks import cell_changes
from jupyter_eca.workspace.notebooks.change_parts import divide_changes
from jupyter_eca.workspace.notebooks.edit_verification import is_applied
from jupyter_eca.workspace.notebooks.prompt_cells import as_code, choose_default_kind, is_prompt
from jupyter_eca.workspace.shielded import run_to_end
from jupyter_eca.workspace.tool_result import ToolResult

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from jupyter_eca.plugins.tools.base import NativeTool
    from jupyter_eca.protocol.notebook import NotebookDocument

    # A function that returns the change that a call makes, from the call's arguments.
    Planner = Callable[..., cell_changes.Change]

# The tool that replaces the tools of this module.
REPLACED_BY: Final = "notebook_change"

# The types of the arguments, with their descriptions for the model.
Cell = Annotated[int | str, Field(description="The cell's id, or its number as notebook_read shows it.")]
Source = Annotated[str, Field(description="The whole source of the cell.")]
Type = Annotated[CellType, Field(description="What kind of cell.")]
After = Annotated[
    int | str, Field(description="The id or number of the cell to put it after; 0 for the top, empty for the end.")
]
NewSource = Annotated[
    str | None, Field(description="The whole new source. Instead of original_content and new_content.")
]
Original = Annotated[str, Field(description="The text to replace, copied exactly from the cell.")]
New = Annotated[str, Field(description="The text to put in its place; empty to delete it.")]
NewNumber = Annotated[int, Field(ge=1, description="The number that the cell is to have then.")]


async def _preview_insert(context: ToolContext, arguments: dict[str, Any]) -> FileChangeDetails:
    """Return what `notebook_insert_cell` would change, which the user sees before the approval."""
    return await _preview(context, plan_insert, notebook_insert_cell, arguments)


async def _preview_edit(context: ToolContext, arguments: dict[str, Any]) -> FileChangeDetails:
    """Return what `notebook_edit_cell` would change."""
    return await _preview(context, plan_edit, notebook_edit_cell, arguments)


async def _preview_delete(context: ToolContext, arguments: dict[str, Any]) -> FileChangeDetails:
    """Return what `notebook_delete_cell` would change."""
    return await _preview(context, plan_delete, notebook_delete_cell, arguments)


async def _preview_move(context: ToolContext, arguments: dict[str, Any]) -> FileChangeDetails:
    """Return what `notebook_move_cell` would change."""
    return await _preview(context, plan_move, notebook_move_cell, arguments)


@tool(
    makes_checkpoints=True,
    revertible=True,
    needs=[Need.NOTEBOOKS],
    summary="Inserting a cell",
    preview=_preview_insert,
    approval_covers=ApprovalCoverage.NOTEBOOK,
    paths=["path"],
    default_notebook=find_default_notebook,
    replaced_by=REPLACED_BY,
    code=["source"],
)
async def notebook_insert_cell(
    context: ToolContext, source: Source, cell_type: Type = CellType.CODE, after: After = "", path: NotebookPath = ""
) -> ToolResult:
    """Put a new cell into a live notebook, by default at its end. Does not run it: use notebook_run_cells.

    The cells after it have other numbers then; ids stay.
    """
    return await _apply(context, plan_insert, path, source=source, cell_type=cell_type, after=after)


@tool(
    makes_checkpoints=True,
    revertible=True,
    needs=[Need.NOTEBOOKS],
    summary="Editing cell {cell}",
    preview=_preview_edit,
    approval_covers=ApprovalCoverage.NOTEBOOK,
    paths=["path"],
    default_notebook=find_default_notebook,
    replaced_by=REPLACED_BY,
    code=["source", "new_content"],
)
async def notebook_edit_cell(
    context: ToolContext,
    cell: Cell,
    source: NewSource = None,
    original_content: Original = "",
    new_content: New = "",
    path: NotebookPath = "",
) -> ToolResult:
    """Change the source of a cell of a live notebook: all of it (source), or one place (original_content, which must
    occur in it exactly once, and new_content). Does not run it; its outputs stay until it runs.

    Read the cell first. Name it by its id: numbers shift when somebody inserts or deletes cells.
    """
    arguments = {"source": source, "original_content": original_content, "new_content": new_content}
    return await _apply(context, plan_edit, path, cell=cell, **arguments)


# This tool is not `revertible`. With the setting `review`, the user may review what a revertible tool has changed after
# the call instead of before it. So the preview of such a tool must show all that is changed. The preview of this one
# does not show the outputs that are deleted with the cell.
@tool(
    makes_checkpoints=True,
    needs=[Need.NOTEBOOKS],
    summary="Deleting cell {cell}",
    preview=_preview_delete,
    approval_covers=ApprovalCoverage.NOTEBOOK,
    paths=["path"],
    default_notebook=find_default_notebook,
    replaced_by=REPLACED_BY,
)
async def notebook_delete_cell(context: ToolContext, cell: Cell, path: NotebookPath = "") -> ToolResult:
    """Delete a cell of a live notebook, with its outputs. What it defined in the kernel stays there."""
    return await _apply(context, plan_delete, path, cell=cell)


@tool(
    makes_checkpoints=True,
    revertible=True,
    needs=[Need.NOTEBOOKS],
    summary="Moving cell {cell} to {index}",
    preview=_preview_move,
    approval_covers=ApprovalCoverage.NOTEBOOK,
    paths=["path"],
    default_notebook=find_default_notebook,
    replaced_by=REPLACED_BY,
)
async def notebook_move_cell(context: ToolContext, cell: Cell, index: NewNumber, path: NotebookPath = "") -> ToolResult:
    """Move a cell of a live notebook to another place. index is the number that it then has, from 1."""
    return await _apply(context, plan_move, path, cell=cell, index=index)


TOOLS = (notebook_insert_cell, notebook_edit_cell, notebook_delete_cell, notebook_move_cell)


# -- the change that a call makes


def plan_insert(
    context: ToolContext, document: NotebookDocument, *, source: str, cell_type: CellType, after: int | str
) -> cell_changes.Change:
    """Return the insertion of a cell. Raises: ToolError, as the other planners, when the arguments do not fit."""
    # The id of the cell before the new one, as `InsertCell` has it: "" for the top, None for the end. In the argument
    # `after`, these are 0 and "".
    index, anchor = cell_changes.END, None
    if str(after).strip():
        top = str(after).strip() == "0" and document.find_cell("0") is None
        anchor = "" if top else cell_changes.find_cell(document, after).id
        index = cell_changes.find_number(document, anchor)
    id = cell_changes.make_cell_id(document, f"{context.chat}:{context.call}")
    if cell_type is CellType.CODE:
        # In some notebooks, a cell that begins with no magic is a prompt. There, `as_code` adds the magic for code.
        source = as_code(source, choose_default_kind(document.language))
    new_cell = NewCell(id=id, cell_type=cell_type, source=_normalize_line_ends(source))
    return InsertCell(index=index, cell=new_cell, after=anchor)


def get_anchor(change: InsertCell) -> int | str:
    """Return the place of an insertion as a value of the argument `after`: the id of the cell before it, 0 for the top,
    or "" for the end."""
    return "" if change.after is None else change.after or 0


def plan_edit(
    context: ToolContext,  # noqa: ARG001  # all planners have the same first parameters
    document: NotebookDocument,
    *,
    cell: int | str,
    source: str | None,
    original_content: str,
    new_content: str,
) -> cell_changes.Change:
    """Return the new source of a cell."""
    current = cell_changes.find_cell(document, cell)
    if (source is None) is not bool(original_content):
        raise ToolError("Give either source, or original_content and new_content; nothing was changed.")
    expected = source
    if expected is None:
        try:
            expected = replace(current.source, original_content, new_content, everywhere=False).text
        except ToolError:
            times = "more than once" if current.source.count(original_content) > 1 else "not"
            raise ToolError(
                f"original_content is {times} in the cell; nothing was changed. The cell is:\n"
                f"{cell_changes.describe_cell(document, current.id)}\n",
                "Copy from this as it is, with enough around it to be unique.",
            ) from None
    # A cell that is code stays code, also if a cell without a magic is a prompt in this notebook. A prompt stays one.
    default_kind = choose_default_kind(document.language)
    if current.cell_type is CellType.CODE and not is_prompt(current.source, default_kind):
        expected = as_code(expected, default_kind)
    expected = _normalize_line_ends(expected)
    if expected == current.source:
        raise ToolError("That is the source of the cell already; nothing was changed.")
    return EditCell(cell_id=current.id, was=current.source, source=expected)


def plan_delete(context: ToolContext, document: NotebookDocument, *, cell: int | str) -> cell_changes.Change:  # noqa: ARG001
    """Return the deletion of a cell."""
    current = cell_changes.find_cell(document, cell)
    return DeleteCell(cell_id=current.id, was=current.source)


def plan_move(context: ToolContext, document: NotebookDocument, *, cell: int | str, index: int) -> cell_changes.Change:  # noqa: ARG001
    """Return the move of a cell."""
    current = cell_changes.find_cell(document, cell)
    place = min(index, len(document.cells))
    if place == cell_changes.find_number(document, current.id):
        raise ToolError(f"The cell is number {place} already; nothing was changed.")
    others = [cell.id for cell in document.cells if cell.id != current.id]
    return MoveCell(cell_id=current.id, index=place - 1, after=others[place - 2] if place > 1 else "")


def _normalize_line_ends(source: str) -> str:
    """Return a source with the line ends of notebooks."""
    return source.replace("\r\n", "\n")


# -- previews and edits


async def _preview(
    context: ToolContext, plan: Planner, called_tool: NativeTool, arguments: dict[str, Any]
) -> FileChangeDetails:
    """Return the change that a call of `called_tool` would make. `plan` computes it. Raises: ToolError."""
    try:
        model = called_tool.arguments.model_validate(arguments)
    except ValidationError as error:
        raise ToolError("The arguments do not fit.") from error
    fields = {name: getattr(model, name) for name in type(model).model_fields if name != "path"}
    document = await read_notebook(context, arguments.get("path", ""))
    # All calls of a reply are previewed before the first one runs. `before` is the notebook as it will be when the
    # earlier calls of this reply have run.
    before = apply_earlier_calls(context, document)
    if context.earlier_calls:
        # The model has taken cell numbers from the notebook as it is now, so a number is looked up there. If that
        # fails, for example because an earlier call inserts the cell, the number is looked up in `before`.
        with suppress(ToolError):
            planned = plan(context, document, **fields)
            if isinstance(planned, InsertCell):
                fields["after"] = get_anchor(planned)
            else:
                fields["cell"] = cell_changes.get_cell_id(planned)
    change = plan(context, before, **fields)
    require_known(context, document, change, partly=_is_partial(fields))
    details = cell_changes.describe_changes(before, cell_changes.apply(before, change), change)
    return details.model_copy(update={"parts": divide_changes((change,)) or None})


async def _apply(context: ToolContext, plan: Planner, path: str, **arguments: Any) -> ToolResult:
    """Make the change of a call, and return its result. If there are checkpoints, only one call of the chat at a time
    may change cells. Raises: ToolError."""
    if context.checkpointer is None:
        return await _make_approved_change(context, plan, path, arguments)
    async with context.checkpointer.cell_lock:
        return await _make_approved_change(context, plan, path, arguments)


async def _make_approved_change(
    context: ToolContext, plan: Planner, path: str, arguments: dict[str, Any]
) -> ToolResult:
    """Make the change that the user has approved: in the notebook that was shown, and only if the cell is still as it
    was shown. It is not computed again, because a number may now mean another cell, and another notebook may be active.
    There are two exceptions. If only earlier calls of this turn have changed the cell since, the change is computed
    from its current source. A change that nobody had to approve is computed now."""
    # The preview that the user has approved; None if nobody had to approve the call.
    shown_details = context.shown_details
    if isinstance(shown_details, FileChangeDetails) and shown_details.cells:
        document = await get_notebooks(context).read(shown_details.path)
        (change,) = shown_details.cells
        if not isinstance(change, cell_changes.Change):
            raise ToolError("What was shown is no change that this tool makes.")
        # An edit of which the user approved only a part is not computed again from what the model wrote.
        if not shown_details.left_out and await _has_changed_by_earlier_calls(context, document, change):
            change = plan(context, document, **arguments | {"cell": cell_changes.get_cell_id(change)})
    else:
        document = await read_notebook(context, path)
        change = plan(context, document, **arguments)
    require_known(context, document, change, partly=_is_partial(arguments))
    # The cells before the place may have changed since the preview.
    change = cell_changes.update_index(document, change)
    expected = cell_changes.apply(document, change)
    # A Markdown cell may load content, such as an image, from an address as soon as it is shown. The change is refused
    # if it loads something that the preview did not name.
    check_loaded(context, cell_changes.find_loaded_content(document, expected))
    after = await run_to_end(checkpoint_and_apply(context, document, (change,)))
    # The model has written this source, so it knows it. It may never have read a cell that it only moves.
    for id, source in cell_changes.get_sources(after, cell_changes.get_cell_id(change)).items():
        if source is not None and not isinstance(change, MoveCell):
            context.known.learn_own(make_cell_key(after.path, id), source)
    return _as_result(document, expected, after, change)


def _is_partial(arguments: Mapping[str, Any]) -> bool:
    """Return whether a call changes only a part of a cell. The model must then know this part word for word."""
    return bool(arguments.get("original_content"))


def require_known(
    context: ToolContext, document: NotebookDocument, change: cell_changes.Change, *, partly: bool
) -> None:
    """Check that the model knows the current source of the cell that it changes or deletes. With `partly`, a cell that
    the model has never read may be changed too.

    Raises: StaleSourceError, with the current source if the model has read an older one.
    """
    cell = document.find_cell(change.cell_id) if isinstance(change, EditCell | DeleteCell) else None
    if cell is None:
        return
    version = context.known.compare(make_cell_key(document.path, cell.id), cell.source)
    if version is Version.CURRENT or (version is Version.UNKNOWN and partly):
        return
    name = f"cell {cell_changes.find_number(document, cell.id)} of {document.path}"
    why = f"{name} was changed since you read it" if version is Version.CHANGED else f"you have not read {name}"
    if version is Version.UNKNOWN:  # the source is not in the error, because rules may deny to read it
        advice = f"Read it first with notebook_read (cells: {cell.id}), then decide."
        raise StaleSourceError(f"{why[:1].upper()}{why[1:]}; nothing was changed.", advice)
    context.known.learn_cells(document.path, (cell,))
    raise StaleSourceError(
        f"{why[:1].upper()}{why[1:]}; nothing was changed. It is now:\n"
        f"{cell_changes.describe_cell(document, cell.id)}\n",
        "Decide anew with this source.",
    )


async def _has_changed_by_earlier_calls(
    context: ToolContext, document: NotebookDocument, change: cell_changes.Change
) -> bool:
    """Return whether the cell differs from what was shown, and only because of earlier calls of this turn. All calls of
    a reply are shown before the first one runs."""
    if context.checkpointer is None or not isinstance(change, EditCell | DeleteCell):
        return False
    current = document.find_cell(change.cell_id)
    if current is None or current.source == change.was:
        return False
    return (await context.checkpointer.list_sources_of_turn(document.path)).get(current.id) == current.source


async def checkpoint_and_apply(
    context: ToolContext, document: NotebookDocument, changes: Sequence[cell_changes.Change]
) -> NotebookDocument:
    """Make checkpoints and the changes, all or none of them, and return the notebook as it is read back. Each change
    has a checkpoint of its own, so that each cell can be undone alone.

    Raises: ToolError when nothing was changed. It has the sources that the cells have now.
    """
    path, checkpointer, expected = document.path, context.checkpointer, document
    # With the setting `notebook.markCells`, the metadata of a cell says that the assistant has written in it.
    if context.marks_cells:
        changes = [
            change.model_copy(update={"marks": True}) if isinstance(change, InsertCell | EditCell) else change
            for change in changes
        ]
    # The number of each checkpoint, and the id of the cell that the change is about.
    checkpoints: list[tuple[int, str]] = []
    for change in changes:
        before, expected, id = expected, cell_changes.apply(expected, change), cell_changes.get_cell_id(change)
        if checkpointer is not None:
            order = [cell.id for cell in before.cells]
            undo, sources = (cell_changes.invert(before, change),), cell_changes.get_sources(expected, id)
            checkpoints.append((await checkpointer.keep_cells(path, undo, sources, order), id))
    try:
        after = await get_notebooks(context).edit(context.chat, path, changes)
    except ToolError as error:
        # After an error nothing should be changed. But the answer may only have been late or lost, so it is checked.
        after = await get_notebooks(context).read(path)
        # If some cells are as wanted and the user has typed in another, the changes were made, and can be undone.
        if not any(is_applied(after, expected, change) for change in changes):
            if checkpointer is not None:
                for number, _ in checkpoints:
                    # None deletes the checkpoint, because nothing was changed.
                    await checkpointer.record_sources(number, None)
            raise ToolError(f"{error} Nothing was changed.{_describe_now(context, after, changes)}") from error
    if checkpointer is not None:
        # Of a cell that was changed several times, only the last change has left what is there now.
        for number, id in {id: (number, id) for number, id in checkpoints}.values():
            await checkpointer.record_sources(number, cell_changes.get_sources(after, id))
    return after


def _describe_now(context: ToolContext, document: NotebookDocument, changes: Sequence[cell_changes.Change]) -> str:
    """Return the cells of the changes as they are now, which the model then knows."""
    ids = dict.fromkeys(map(cell_changes.get_cell_id, changes))
    cells = [cell for id in ids if (cell := document.find_cell(id)) is not None]
    context.known.learn_cells(document.path, cells)
    if not cells:
        return ""
    heading = "The cell is now" if len(cells) == 1 else "The cells are now"
    return f" {heading}:\n" + "\n".join(cell_changes.describe_cell(document, cell.id) for cell in cells)


def _as_result(
    before: NotebookDocument, expected: NotebookDocument, after: NotebookDocument, change: cell_changes.Change
) -> ToolResult:
    """Return the result for the model, from the notebook that was read back."""
    id, path = cell_changes.get_cell_id(change), after.path
    details = cell_changes.describe_changes(before, after, change)
    state = (
        f"It is now:\n{cell_changes.describe_cell(after, id)}"
        if after.find_cell(id)
        else f"There is no cell [{id}] in it."
    )
    if not is_applied(after, expected, change):
        text = f"{path} is not as you wanted it: something else changed it at the same time. {state}"
        return ToolResult(text, error=True, details=details)
    size = f"{path} has {cell_changes.describe_size(after)} now"
    match change:
        case InsertCell():
            text = f"Inserted; {size}. {state}"
        case EditCell():
            text = f"Edited cell {cell_changes.find_number(after, id)} of {path}. {state}"
        case DeleteCell():
            text = (
                f"Deleted cell {cell_changes.find_number(before, id)} [{id}]; {size}, "
                "and those after it one number less."
            )
        case MoveCell():
            text = f"Moved cell {cell_changes.find_number(before, id)} of {path}. {state}"
    return ToolResult(text, details=details)
