"""The tools that read a live notebook and run its cells. This module must not change cells: `cell_edits` does.
`notebook_create` makes a new notebook.
"""

from __future__ import annotations

from contextlib import suppress
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Annotated, Any, Final, cast

from pydantic import AliasChoices, BeforeValidator, Field

from jupyter_eca.engine.model.request import MAX_PICTURES, ApprovalCoverage
from jupyter_eca.errors import StaleSourceError, ToolError
from jupyter_eca.plugins.tools.base import Need, ToolContext, tool, validate
from jupyter_eca.plugins.tools.waited_code import (
    InBackground,
    RunWatch,
    check_kernel_free,
    describe_job,
    wait_or_detach,
)
from jupyter_eca.protocol.content import FileChangeDetails, RunCellsDetails, ShownCell
from jupyter_eca.protocol.job import Job
from jupyter_eca.protocol.notebook import CellState, CellType, PutCell, RunStatus
from jupyter_eca.workspace.files.read_threads import run_read
from jupyter_eca.workspace.head_and_tail import MAX_RESULT_CHARS
from jupyter_eca.workspace.known_versions import Version, make_cell_key
from jupyter_eca.workspace.notebooks import cell_changes
from jupyter_eca.workspace.notebooks.run_states import mark_run_states
from jupyter_eca.workspace.ports import CELLS, JobEnding, NewJob
from jupyter_eca.workspace.reading.cell_text import MAX_OUTPUT, name_pictures, render_cells, render_outputs
from jupyter_eca.workspace.reading.notebook_heading import describe_notebook
from jupyter_eca.workspace.tool_result import ToolResult

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from jupyter_eca.protocol.notebook import NotebookCell, NotebookDocument, NotebookRunResult
    from jupyter_eca.workspace.ports import Notebooks

# The room in a result, in characters, for the lines that say what it is.
_HEADER_CHARS = 500

# How many characters the outputs of each cell may have. These limits are tried one after the other, until all cells fit
# into the result, because the sources are more important than long outputs.
_OUTPUT_LIMITS = (MAX_OUTPUT, 1000, 300, 100, 0)

# The types of the arguments, with their descriptions for the model.
NotebookPath = Annotated[str, Field(description="By default the notebook you were asked in.")]


def _join_cells(value: Any) -> Any:
    """Accept a number or a list, because models write these too: `["c1", 2]` is `c1,2`."""
    match value:
        case bool() | None:
            return value
        case int():
            return str(value)
        case list():
            return ",".join(map(str, cast("list[Any]", value)))
        case _:
            return value


def _split_cells(value: Any) -> Any:
    """Accept a text or a number, because models write these too: `c1,2` is `["c1", "2"]`."""
    match value:
        case str():
            return [part.strip() for part in value.split(",") if part.strip()]
        case int() if not isinstance(value, bool):
            return [value]
        case _:
            return value


# Models write `cell` for a single one, as other tools call it.
_NAMES: Final = AliasChoices("cells", "cell")
CellNames = Annotated[
    str,
    BeforeValidator(_join_cells),
    Field(description="Numbers, ranges and ids: `3`, `2-5,8`; empty for all.", validation_alias=_NAMES),
]
CellsToRun = Annotated[
    list[int | str],
    BeforeValidator(_split_cells),
    Field(min_length=1, description="Ids or numbers of cells, in the order to run.", validation_alias=_NAMES),
]


async def find_default_notebook(context: ToolContext) -> str:
    """Return the path of the notebook in which the user asked, else of the only open one; "" for none."""
    if context.notebook or context.notebooks is None:
        return context.notebook
    opened = await context.notebooks.list()
    return opened[0].path if len(opened) == 1 else ""


@tool(
    reads=True,
    needs=[Need.NOTEBOOKS],
    summary="Reading the notebook {path}",
    paths=["path"],
    default_notebook=find_default_notebook,
)
async def notebook_read(context: ToolContext, path: NotebookPath = "", cells: CellNames = "") -> ToolResult:
    """Read a notebook as it is now, with unsaved changes: each cell with its number, [id], state, source and outputs.

    A single cell is shown with its pictures and all of its outputs; of several cells, long outputs are cut. Ids stay
    when cells are inserted, moved or deleted; numbers do not.
    """
    document, history = await mark_run_states(await read_notebook(context, path), context.kernels)
    chosen = cell_changes.find_cells(document, cells) if cells.strip() else document.cells
    if len(chosen) == 1 and cells.strip():
        # `named` is the notebook in which each picture has the name by which the text refers to it.
        named, pictures = await run_read(name_pictures, document, {chosen[0].id})
        text = render_cells(named, {chosen[0].id}, output=MAX_RESULT_CHARS)
        context.known.learn_cells(document.path, chosen)
        return ToolResult(f"{describe_notebook(document, history)}\n\n{text}", images=pictures)
    named, _ = name_pictures(document, {cell.id for cell in chosen}, 0)
    return ToolResult(f"{describe_notebook(document, history)}\n\n{_fit_cells(context, named, chosen)}")


async def _preview_run(context: ToolContext, arguments: dict[str, Any]) -> RunCellsDetails:
    """Return the cells that a call would run, which the user sees before the approval. Raises: ToolError when they
    cannot run."""
    values = validate(notebook_run_cells.arguments, arguments)
    document = await read_notebook(context, values["path"])
    check_kernel(context, document)
    after = apply_earlier_calls(context, document)
    chosen = _find_named_cells(after, values["cells"])
    _require_known(context, document, [cell.id for cell in chosen])
    return RunCellsDetails(
        path=document.path,
        cells=tuple(
            ShownCell(number=cell_changes.find_number(after, cell.id), id=cell.id, source=cell.source)
            for cell in chosen
        ),
    )


@tool(
    needs=[Need.NOTEBOOKS, Need.CELL_RUNS],
    summary="Running cells {cells}",
    preview=_preview_run,
    approval_covers=ApprovalCoverage.NOTEBOOK,
    paths=["path"],
    default_notebook=find_default_notebook,
)
async def notebook_run_cells(
    context: ToolContext, cells: CellsToRun, path: NotebookPath = "", background: InBackground = False
) -> ToolResult:
    """Run cells of a notebook, as the user does, up to the first that fails. Returns each cell's outputs with its
    pictures. There is no time limit.

    For code that is not to be in the notebook use run_code.
    """
    document, chosen = await _find_cells_to_run(context, cells, path)
    check_kernel(context, document)
    return await run_cells(context, document, chosen, background=background)


async def run_cells(
    context: ToolContext,
    document: NotebookDocument,
    chosen: Sequence[NotebookCell],
    *,
    background: bool = False,
) -> ToolResult:
    """Run cells of a notebook, in this order, and return their outputs, and the sources that the model does not know.
    Raises: ToolError."""
    # The run replaces the outputs of the cells. So the cells are saved as they are before it.
    if context.checkpointer is not None:
        before = {cell.id: cell for cell in chosen if cell.cell_type is CellType.CODE}
        undo = [
            PutCell(index=cell_changes.find_number(document, id) - 1, cell=cell, was=cell.source)
            for id, cell in before.items()
        ]
        if undo:
            await context.checkpointer.keep_cells(document.path, undo, cell_changes.get_sources(document, *before))
    ids = [cell.id for cell in chosen]
    watch = RunWatch(ids, [str(cell_changes.find_number(document, id)) for id in ids], context.clock)
    label = f"{_name_cells(document, chosen)} of {document.path}"
    about = NewJob(context.chat, label, label, context.call, CELLS, document.kernel_id, document.path)
    run = _run_watched(get_notebooks(context), context.chat, document.path, ids, watch)
    done = await wait_or_detach(context, run, watch, about, _describe_ending, background=background)
    if isinstance(done, Job):
        return ToolResult(f"{_capitalize(label)}: {describe_job(done, watch, background=background)}")
    return await _make_run_result(context, document, chosen, done.ran, done.status)


TOOLS = (notebook_read, notebook_run_cells)


async def _run_watched(
    notebooks: Notebooks, chat: str, path: str, ids: Sequence[str], watch: RunWatch
) -> NotebookRunResult:
    """Run cells. When all have ended, pass the whole output of each cell to the watch."""
    done = await notebooks.run(chat, path, ids, watch)
    for cell in done.ran:
        watch.finish(cell.id, render_outputs(cell.outputs))
    return done


def check_kernel(context: ToolContext, document: NotebookDocument, nothing: str = "nothing was run") -> None:
    """Check that the notebook's kernel can run cells now. `nothing` is the part of the error that says what has not
    happened. Raises: ToolError."""
    check_kernel_free(context, document.kernel_id, document.path)
    if context.from_cell and _waits_for_answer(context, document):
        raise ToolError(
            f"A cell of this notebook waits for your answer, and others would only run after it; {nothing}.",
            "Use run_code for their code, or ask the user to run them.",
        )


def apply_earlier_calls(context: ToolContext, document: NotebookDocument) -> NotebookDocument:
    """Return the notebook as it will be when the calls before this one in the same reply have run."""
    changes = (
        change
        for details in context.earlier_calls
        if isinstance(details, FileChangeDetails) and details.path == document.path
        for change in details.cells or ()
    )
    for change in changes:
        if isinstance(change, cell_changes.Change):
            with suppress(ToolError):
                document = cell_changes.apply(document, cell_changes.update_index(document, change))
    return document


async def _find_cells_to_run(
    context: ToolContext, cells: list[int | str], path: str
) -> tuple[NotebookDocument, list[NotebookCell]]:
    """Return the notebook and the cells to run: the cells that the user was shown, or else those that the call names.

    A shown cell must have the source that was shown, which has the changes of earlier calls of the same answer in it.
    Raises: ToolError.
    """
    shown_details = context.shown_details
    if not isinstance(shown_details, RunCellsDetails):
        document = await read_notebook(context, path)
        named = _find_named_cells(document, cells)
        _require_known(context, document, [cell.id for cell in named])
        return document, named
    document = await get_notebooks(context).read(shown_details.path)
    chosen: list[NotebookCell] = []
    for shown_cell in shown_details.cells:
        cell = cell_changes.find_cell(document, shown_cell.id)
        if cell.source != shown_cell.source:
            raise _make_stale_error(context, document, cell, "since the run was shown")
        chosen.append(cell)
    return document, chosen


def _find_named_cells(document: NotebookDocument, cells: Sequence[int | str]) -> list[NotebookCell]:
    """Return the cells that a call names, in its order. A text may name several: "2-5". Raises: ToolError."""
    return [found for cell in cells for found in cell_changes.find_cells(document, str(cell))]


def _require_known(context: ToolContext, document: NotebookDocument, ids: Collection[str]) -> None:
    """Check that no cell was changed since the model read it, because the user may still be writing it. A cell that the
    model has not read may run, since the user sees its source. Raises: StaleSourceError."""
    for cell in document.cells:
        known = context.known.compare(make_cell_key(document.path, cell.id), cell.source)
        if cell.id in ids and known is Version.CHANGED:
            raise _make_stale_error(context, document, cell, "since you read it")


def _make_stale_error(
    context: ToolContext, document: NotebookDocument, cell: NotebookCell, since: str
) -> StaleSourceError:
    """Return the error for a cell that was changed. It has the source, which the model then knows."""
    context.known.learn_cells(document.path, (cell,))
    return StaleSourceError(
        f"Cell {cell_changes.find_number(document, cell.id)} of {document.path} was changed {since}; nothing was run. "
        f"It is now:\n{cell_changes.describe_cell(document, cell.id)}\n",
        "Run it again if that is what you want.",
    )


def get_notebooks(context: ToolContext) -> Notebooks:
    """Return the notebooks of the chat. Raises: ToolError when it has none."""
    if context.notebooks is None:
        raise ToolError("There are no notebooks here.")
    return context.notebooks


def check_loaded(context: ToolContext, loads: str | None) -> None:
    """Check that the preview of the call named all that the changed cells load from elsewhere as soon as they are
    shown, such as images. `loads` is this in words; None for nothing. Raises: ToolError."""
    shown = context.shown_details.loads if isinstance(context.shown_details, FileChangeDetails) else None
    if loads and loads != shown:
        raise ToolError(
            f"As soon as it is shown, this loads {loads}. Nobody was asked about that; nothing was changed.",
            "Make the call again, alone, so that the user is asked.",
        )


async def read_notebook(context: ToolContext, path: str) -> NotebookDocument:
    """Return the current state of a notebook. Without a path it is the one in which the user asked, or the only open
    one. Raises: ToolError."""
    if path.strip():
        return await get_notebooks(context).read(await find_path(context, path))
    if default := await find_default_notebook(context):
        return await get_notebooks(context).read(default)
    names = ", ".join(info.path for info in await get_notebooks(context).list())
    raise ToolError(
        "You were not asked in a notebook.",
        f"Give the path of one. Open are: {names}." if names else "Give the path of one.",
    )


async def find_path(context: ToolContext, path: str) -> str:
    """Return Jupyter's path of a notebook that the model names. Raises: ToolError."""
    # No character is removed, because the approval was decided for exactly this path. In a chat with a working
    # directory it was decided for a path that starts there.
    if context.files.folder:
        return context.files.contents_path(context.files.resolve(path))
    name = str(PurePosixPath(path))
    opened = await context.notebooks.list() if context.notebooks is not None else ()
    if any(info.path == name for info in opened):
        return name
    return context.files.contents_path(context.files.resolve(path))


def _waits_for_answer(context: ToolContext, document: NotebookDocument) -> bool:
    """Return whether the notebook's kernel waits for this answer, because the user asked in one of its cells. If the
    ids of kernels are not known, the kernel counts as waiting while a cell is running."""
    asking = context.kernel.id if context.kernel else None
    if asking is not None and document.kernel_id is not None:
        return asking == document.kernel_id
    return any(cell.state is CellState.RUNNING for cell in document.cells)


def _name_cells(document: NotebookDocument, chosen: Sequence[NotebookCell]) -> str:
    """Name the cells: "cell 3", "cells 3-5", "cells 3, 8"."""
    numbers = [cell_changes.find_number(document, cell.id) for cell in chosen]
    first, last = numbers[0], numbers[-1]
    if len(numbers) > 2 and numbers == list(range(first, last + 1)):
        return f"cells {first}-{last}"
    return f"cell{'s' if len(numbers) > 1 else ''} {', '.join(map(str, numbers))}"


def _capitalize(text: str) -> str:
    """Return a text that begins with a capital letter. Unlike `str.capitalize`, the other letters stay as they are."""
    return text[:1].upper() + text[1:]


def _describe_ending(done: NotebookRunResult) -> JobEnding:
    """Return how a run has ended that was moved to the background: whether it failed, and with which error."""
    errors = [output for cell in done.ran for output in cell.outputs if output.get("output_type") == "error"]
    note = f"{errors[-1].get('ename')}: {errors[-1].get('evalue')}" if errors else ""
    match done.status:
        case RunStatus.OK:
            return JobEnding()
        case RunStatus.ERROR:
            return JobEnding(failed=True, note=note)
        case RunStatus.INTERRUPTED:
            return JobEnding(failed=True, note="it was interrupted")


def _is_known(context: ToolContext, document: NotebookDocument, cell: NotebookCell) -> bool:
    """Return whether the model knows the present source of a cell."""
    return context.known.compare(make_cell_key(document.path, cell.id), cell.source) is Version.CURRENT


def _fit_cells(
    context: ToolContext,
    document: NotebookDocument,
    chosen: tuple[NotebookCell, ...],
    without_source: Collection[str] = (),
) -> str:
    """Return the text of the cells for the model. If it is too long, first the outputs are shortened, and then the last
    cells are left out. No cell is cut. See `render_cells` for `without_source`."""
    ids = [cell.id for cell in chosen]
    room = MAX_RESULT_CHARS - _HEADER_CHARS
    text = ""
    for limit in _OUTPUT_LIMITS:
        text = render_cells(document, set(ids), output=limit, without_source=without_source)
        if len(text) <= room:
            context.known.learn_cells(document.path, chosen)
            cut = f"cut to {limit} characters a cell" if limit else "left out"
            return text if limit == MAX_OUTPUT else f"[outputs are {cut}]\n\n{text}"
    parts: list[str] = []
    for cell in chosen:
        part = render_cells(document, {cell.id}, output=0, without_source=without_source)
        if parts and room < len(part):
            left_out = cell_changes.find_number(document, cell.id)
            more = f"[cells from {left_out} on are left out: go on with cells={left_out}-{len(document.cells)}]"
            return "\n\n".join(["[outputs are left out]", *parts, more])
        room -= len(part) + 2
        parts.append(part)
        context.known.learn_cells(document.path, (cell,))
    return text


async def _make_run_result(
    context: ToolContext,
    document: NotebookDocument,
    chosen: Sequence[NotebookCell],
    ran: tuple[NotebookCell, ...],
    status: RunStatus,
) -> ToolResult:
    """Return the result of a run for the model: the cells as they are after the run, with the numbers that they had
    before it. `chosen` are all cells that were to run, and `ran` those that have run. The source of a cell is left out
    when the model knows it: it has read or written the cell just before."""
    now = {cell.id: cell for cell in ran}
    after = document.model_copy(update={"cells": tuple(now.get(cell.id, cell) for cell in document.cells)})
    named, pictures = await run_read(name_pictures, after, now.keys(), MAX_PICTURES)
    known = {cell.id for cell in now.values() if _is_known(context, document, cell)}
    text = _fit_cells(context, named, tuple(cell for cell in after.cells if cell.id in now), known) if now else ""
    missing = [str(cell_changes.find_number(document, cell.id)) for cell in chosen if cell.id not in now]
    heading = {
        RunStatus.OK: f"Ran in {document.path}:",
        RunStatus.ERROR: f"A cell of {document.path} failed:",
        RunStatus.INTERRUPTED: f"The run of cells of {document.path} was interrupted:",
    }[status]
    not_run = f"Not run: cell {', '.join(missing)}." if missing else ""
    text = "\n\n".join(part for part in (heading, text, not_run) if part)
    failed = status is not RunStatus.OK
    return ToolResult(text, error=failed, images=pictures, interrupted=status is RunStatus.INTERRUPTED)
