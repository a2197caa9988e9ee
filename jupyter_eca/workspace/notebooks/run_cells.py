"""Cells of a notebook run one after the other, where no page does it: in its kernel, their outputs put into it."""

from __future__ import annotations

import asyncio
import logging
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

from jupyter_eca.errors import ToolError
from jupyter_eca.protocol.notebook import CellType, NotebookRunResult, RunStatus
from jupyter_eca.workspace.kernels.tail import Tail
from jupyter_eca.workspace.notebooks.cell_outputs import CellOutputs
from jupyter_eca.workspace.notebooks.cells import find
from jupyter_eca.workspace.shielded import whole

if TYPE_CHECKING:
    from collections.abc import Sequence

    from jupyter_eca.protocol.notebook import NotebookCell, NotebookDocument
    from jupyter_eca.workspace.notebooks.cells import Held
    from jupyter_eca.workspace.ports import CellKernel, Heard, Kernels

_log = logging.getLogger(__name__)

# A cell that is meant to fail ends nothing (nbclient's and JupyterLab's word for it).
_MAY_FAIL = "raises-exception"


class Book(Protocol):
    """A notebook that takes outputs."""

    async def read(self, path: str) -> NotebookDocument: ...

    async def held(self, path: str) -> list[Held]:
        """Its cells as they are now. Raises: ToolError when it cannot be had."""
        ...

    async def begin(self, path: str, id: str) -> None:
        """A cell is about to run; `put` ends it."""
        ...

    async def put(self, path: str, id: str, outputs: list[dict[str, Any]], count: int | None) -> None:
        """Of a cell that was run, whatever else was changed meanwhile. Raises: ToolError when it is gone."""
        ...


async def run(
    book: Book, kernels: Kernels | None, chat: str, path: str, ids: Sequence[str], heard: Heard | None = None
) -> NotebookRunResult:
    """`workspace.base.Notebooks.run`."""
    before = await book.held(path)
    for id in ids:
        find(before, id)
    if kernels is None:
        raise ToolError(
            "Cells cannot be run from in here: the kernel is busy with the cell that asks.",
            "Use run_code for its code.",
        )
    kernel = await kernels.runner(chat, path)
    language = (await book.read(path)).language
    if kernel.language and language and kernel.language != language.lower():
        raise ToolError(f"{path} is written in {language}, and the kernel here speaks {kernel.language} only.")
    ran: list[str] = []
    status = RunStatus.OK
    for id in ids:
        ran.append(id)
        tail = Tail()
        if heard is not None:
            heard(id, partial(getattr, tail, "text"))
        status = await _run(book, kernel, path, id, tail)
        if status is not RunStatus.OK:
            break
    after = await book.read(path)
    return NotebookRunResult(status=status, ran=_all(after, ran))


def _all(document: NotebookDocument, ids: Sequence[str]) -> tuple[NotebookCell, ...]:
    found = (document.cell(id) for id in dict.fromkeys(ids))
    return tuple(cell for cell in found if cell is not None)


async def _run(book: Book, kernel: CellKernel, path: str, id: str, tail: Tail) -> RunStatus:
    """With its source as it is when its turn comes."""
    cells = await book.held(path)
    cell = cells[find(cells, id)]
    if cell.type is not CellType.CODE:
        return RunStatus.OK
    outputs = CellOutputs()

    def take(message: dict[str, Any]) -> None:
        outputs.take(message)
        tail.take(message)

    await book.begin(path, id)
    try:
        status = await kernel.run(id, cell.source, take) if cell.source.strip() else RunStatus.OK
    except (ToolError, asyncio.CancelledError):
        try:
            await whole(book.put(path, id, outputs.outputs, outputs.count))
        except ToolError as error:
            _log.warning("what a cell had put out was lost: %s", error)
        raise
    await whole(book.put(path, id, outputs.outputs, outputs.count))
    may_fail = _MAY_FAIL in cell.node.get("metadata", {}).get("tags", ())
    return RunStatus.OK if may_fail and status is RunStatus.ERROR else status
