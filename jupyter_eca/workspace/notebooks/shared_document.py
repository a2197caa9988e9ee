"""Notebooks that jupyter-collaboration shares: edited in the document that all their pages have, so that no page's own
edit is lost. Imported only where that extension is loaded; through its `get_document`, whatever its version.

A change takes one transaction and no turn of the loop: what a page types meanwhile comes after it, and is merged.
"""

from __future__ import annotations

import importlib
import inspect
from typing import TYPE_CHECKING, Any, Final

from jupyter_eca.errors import ToolError
from jupyter_eca.protocol.notebook import CellState, CellType, MoveCell, NotebookDocument, NotebookInfo
from jupyter_eca.workspace.notebooks import cells, run_cells
from jupyter_eca.workspace.notebooks.file import kernel_of, language_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from jupyter_eca.protocol.notebook import CellChange, NotebookCell, NotebookRunResult
    from jupyter_eca.workspace.notebooks.cells import Held
    from jupyter_eca.workspace.ports import Heard, Kernels, Notebooks

# How the extension names the documents it shares: format, type, and an id of the file.
_NOTEBOOK: Final = "json:notebook:"


class SharedNotebooks:
    """`workspace.base.Notebooks`; `rest` answers for those that are not shared now."""

    def __init__(self, sharing: Any, rest: Notebooks, kernels: Kernels | None) -> None:
        self._sharing = sharing
        self._rest = rest
        self._kernels = kernels

    async def list(self) -> tuple[NotebookInfo, ...]:
        names = [name for name in self._sharing.ywebsocket_server.rooms if name.startswith(_NOTEBOOK)]
        shared = [await self._sharing.get_document(room_id=name, copy=False) for name in names]
        return tuple(NotebookInfo(path=document.path) for document in shared if document is not None and document.path)

    async def read(self, path: str) -> NotebookDocument:
        document = await self._shared(path)
        return await self._rest.read(path) if document is None else await self._shown(path, document)

    async def edit(self, chat: str, path: str, changes: Sequence[CellChange]) -> NotebookDocument:
        document = await self._shared(path)
        if document is None:
            return await self._rest.edit(chat, path, changes)
        await self._check_file(path)
        held = _held(document)
        cells.changed(held, changes, with_ids=True)
        with document.ydoc.transaction():
            for change in changes:
                made = cells.changed(held, (change,), with_ids=True)
                _make(document, change, held, made)
                held = made
        return await self._shown(path, document)

    async def run(self, chat: str, path: str, cells: Sequence[str], heard: Heard | None = None) -> NotebookRunResult:
        if await self._shared(path) is None:
            return await self._rest.run(chat, path, cells, heard)
        return await run_cells.run(self, self._kernels, chat, path, cells, heard)

    async def show(self, path: str, cell: str | None = None) -> None:
        """Pages are shown things by their own clients."""

    # -- what a run needs

    async def held(self, path: str) -> list[Held]:
        return _held(await self._still_shared(path))

    async def begin(self, path: str, id: str) -> None:
        _put(await self._still_shared(path), id, [], None, "running")

    async def put(self, path: str, id: str, outputs: list[dict[str, Any]], count: int | None) -> None:
        _put(await self._still_shared(path), id, outputs, count, "idle")

    # -- the document

    async def _shared(self, path: str) -> Any | None:
        return await self._sharing.get_document(path=path, content_type="notebook", file_format="json", copy=False)

    async def _check_file(self, path: str) -> None:
        """A room outlives its file, and can save nothing then. Raises: ToolError."""
        there = self._sharing.serverapp.contents_manager.file_exists(path)
        if not (await there if inspect.isawaitable(there) else there):
            raise ToolError(f"There is no notebook {path} (any more).", "It may have been deleted or renamed.")

    async def _still_shared(self, path: str) -> Any:
        document = await self._shared(path)
        if document is None:
            raise ToolError(f"{path} was closed everywhere while its cells ran.", cells.AGAIN)
        return document

    async def _shown(self, path: str, document: Any) -> NotebookDocument:
        meta: Any = document.ydoc.get("meta", type=_pycrdt().Map).to_py() or {}
        kernel, status = await kernel_of(self._kernels, path)
        return NotebookDocument(
            path=path,
            cells=tuple(_cell(document, at, held) for at, held in enumerate(_held(document))),
            language=language_of(meta.get("metadata") or {}),
            kernel_id=kernel,
            kernel_status=status,
        )


def _held(document: Any) -> list[Held]:
    """By the ids that the pages know too, which a notebook has here although its file may be too old for them."""
    found: list[dict[str, Any]] = []
    for at, ycell in enumerate(document.ycells):
        found.append(document.get_cell(at) | {"id": str(ycell["id"])})
    return cells.hold(found)


def _cell(document: Any, at: int, held: Held) -> NotebookCell:
    shown = cells.shown(held)
    runs = shown.cell_type is CellType.CODE and document.ycells[at].get("execution_state") == "running"
    return shown.model_copy(update={"state": CellState.RUNNING}) if runs else shown


def _make(document: Any, change: CellChange, before: Sequence[Held], after: Sequence[Held]) -> None:
    """One change; no other cell is touched, since pages may be typing in it."""
    ycells = document.ycells
    if isinstance(change, MoveCell):
        # Taken out and put in anew: Yjs knows no move.
        was = cells.find(before, change.cell_id)
        del ycells[was]
        ycells.insert(cells.find(after, change.cell_id), document.create_ycell(before[was].node))
        return
    at = next((n for n, cell in enumerate(after) if n >= len(before) or cell is not before[n]), len(after))
    if len(after) > len(before):
        ycells.insert(at, document.create_ycell(after[at].node))
    elif len(after) < len(before):
        del ycells[at]
    elif at < len(after):
        _replace(document, at, before[at].node, after[at].node)


def _replace(document: Any, at: int, was: dict[str, Any], now: dict[str, Any]) -> None:
    if was | {"source": ""} == now | {"source": ""}:
        document.set_cell(at, source=now["source"])  # letter by letter: cursors stay, and what others type in it
    else:
        document.set_cell(at, now)


def _put(document: Any, id: str, outputs: list[dict[str, Any]], count: int | None, state: str) -> None:
    pycrdt = _pycrdt()
    ycell = document.ycells[cells.find(_held(document), id)]
    shared: list[Any] = [
        pycrdt.Map(output | {"text": pycrdt.Text(output["text"])} if output["output_type"] == "stream" else output)
        for output in outputs
    ]
    with document.ydoc.transaction():
        ycell["outputs"].clear()
        ycell["outputs"].extend(shared)
        ycell["execution_count"] = count
        ycell["execution_state"] = state


def _pycrdt() -> Any:
    """It comes with the extension; nobody else needs it."""
    return importlib.import_module("pycrdt")
