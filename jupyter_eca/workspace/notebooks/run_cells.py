"""Runs cells of a notebook one after the other in its kernel, and stores their outputs in the notebook. This is for
notebooks that no page has open.

It must not know how a notebook is stored: `file.py` and `shared_document.py` implement `RunnableNotebooks`.
`cell_outputs.py` builds the outputs.
"""

from __future__ import annotations

import asyncio
import logging
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

from jupyter_eca.errors import ToolError
from jupyter_eca.protocol.notebook import CellType, NotebookRunResult, RunStatus
from jupyter_eca.workspace.kernels.tail import Tail
from jupyter_eca.workspace.notebooks.cell_outputs import CellOutputs
from jupyter_eca.workspace.notebooks.cells import find_index
from jupyter_eca.workspace.shielded import run_to_end

if TYPE_CHECKING:
    from collections.abc import Sequence

    from jupyter_eca.protocol.notebook import NotebookCell, NotebookDocument
    from jupyter_eca.workspace.notebooks.cells import NbformatCell
    from jupyter_eca.workspace.ports import CellKernel, Kernels, RunObserver

_log = logging.getLogger(__name__)

# A cell with this tag may fail without ending the run. nbclient and JupyterLab use the same tag.
_MAY_FAIL = "raises-exception"


class RunnableNotebooks(Protocol):
    """Notebooks in which a run can store outputs."""

    async def read(self, path: str) -> NotebookDocument:
        """Return the notebook as it is now, with its cells and their outputs."""
        ...

    async def read_cells(self, path: str) -> list[NbformatCell]:
        """Return the cells as they are now.

        Raises: ToolError when the notebook cannot be read.
        """
        ...

    async def begin_cell(self, path: str, id: str) -> None:
        """Note that a cell is about to run. `put_outputs` marks its end."""
        ...

    async def put_outputs(self, path: str, id: str, outputs: list[dict[str, Any]], count: int | None) -> None:
        """Store the outputs of a cell that ran. Other changes of the notebook, made meanwhile, are kept.

        Raises: ToolError when the cell is gone.
        """
        ...


async def run(
    notebooks: RunnableNotebooks,
    kernels: Kernels | None,
    chat: str,
    path: str,
    ids: Sequence[str],
    observer: RunObserver | None = None,
) -> NotebookRunResult:
    """Run the cells with these ids, and return the result. See `Notebooks.run` in `workspace/ports.py`. `kernels` is
    None where the program is itself inside of the kernel."""
    before = await notebooks.read_cells(path)
    for id in ids:
        find_index(before, id)  # raises if there is no such cell, before any cell runs
    if kernels is None:
        raise ToolError(
            "Cells cannot be run from in here: the kernel is busy with the cell that asks.",
            "Use run_code for its code.",
        )
    kernel = await kernels.wait_for_idle_kernel(chat, path)
    language = (await notebooks.read(path)).language
    if kernel.language and language and kernel.language != language.lower():
        raise ToolError(f"{path} is written in {language}, and the kernel here speaks {kernel.language} only.")
    ran_ids: list[str] = []
    status = RunStatus.OK
    for id in ids:
        ran_ids.append(id)
        tail = Tail()
        if observer is not None:
            observer(id, partial(getattr, tail, "text"))  # a function that returns `tail.text` as it is then
        status = await _run_cell(notebooks, kernel, path, id, tail)
        if status is not RunStatus.OK:
            break
    after = await notebooks.read(path)
    return NotebookRunResult(status=status, ran=_list_cells(after, ran_ids))


def _list_cells(document: NotebookDocument, ids: Sequence[str]) -> tuple[NotebookCell, ...]:
    """Return the cells with these ids, each once."""
    cells = (document.find_cell(id) for id in dict.fromkeys(ids))
    return tuple(cell for cell in cells if cell is not None)


async def _run_cell(notebooks: RunnableNotebooks, kernel: CellKernel, path: str, id: str, tail: Tail) -> RunStatus:
    """Run one cell and store its outputs, also when it is cancelled. The cell may have been edited since `run` was
    called, so its present source is run."""
    cells = await notebooks.read_cells(path)
    cell = cells[find_index(cells, id)]
    if cell.type is not CellType.CODE:
        return RunStatus.OK
    outputs = CellOutputs()

    def on_message(message: dict[str, Any]) -> None:
        """Add a message of the kernel to the outputs of the cell and to the lines that the user sees while the cell
        runs."""
        outputs.add_message(message)
        tail.add_message(message)

    await notebooks.begin_cell(path, id)
    try:
        status = await kernel.run(id, cell.source, on_message) if cell.source.strip() else RunStatus.OK
    except (ToolError, asyncio.CancelledError):
        try:
            await run_to_end(notebooks.put_outputs(path, id, outputs.outputs, outputs.count))
        except ToolError as error:
            _log.warning("the outputs of a cell were lost: %s", error)
        raise
    await run_to_end(notebooks.put_outputs(path, id, outputs.outputs, outputs.count))
    may_fail = _MAY_FAIL in cell.node.get("metadata", {}).get("tags", ())
    return RunStatus.OK if may_fail and status is RunStatus.ERROR else status
