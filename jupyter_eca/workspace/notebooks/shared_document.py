"""Edits notebooks that the server extension jupyter-collaboration shares between pages. The change is made in the
shared document that all pages have (a Yjs document), so that no page loses an edit.

A change is one transaction, which contains no await. So what a page types meanwhile comes after it, and is merged. The
module is imported only where that extension is loaded. It must use only the extension's `get_document` and its list of
rooms (the documents that are open), which all versions have. `file.py` handles notebooks that are not shared.
"""

from __future__ import annotations

import importlib
import inspect
from typing import TYPE_CHECKING, Any, Final

from jupyter_eca.errors import ToolError
from jupyter_eca.protocol.notebook import CellState, CellType, MoveCell, NotebookDocument, NotebookInfo
from jupyter_eca.workspace.notebooks import cells, run_cells
from jupyter_eca.workspace.notebooks.file import detect_language, find_kernel

if TYPE_CHECKING:
    from collections.abc import Sequence

    from jupyter_eca.protocol.notebook import CellChange, NotebookCell, NotebookRunResult
    from jupyter_eca.workspace.notebooks.cells import NbformatCell
    from jupyter_eca.workspace.ports import Kernels, Notebooks, RunObserver

# The beginning of the extension's names for shared notebooks. A name has the format, the type, and an id of the file.
_NOTEBOOK: Final = "json:notebook:"


class SharedNotebooks:
    """Implements the interface `Notebooks` of `workspace/ports.py` for shared documents. `sharing` is the server
    extension of jupyter-collaboration. `fallback` handles the notebooks that are not shared now."""

    def __init__(self, sharing: Any, fallback: Notebooks, kernels: Kernels | None) -> None:
        self._sharing = sharing
        self._fallback = fallback
        self._kernels = kernels

    async def list(self) -> tuple[NotebookInfo, ...]:
        """List the notebooks that are shared now."""
        names = [name for name in self._sharing.ywebsocket_server.rooms if name.startswith(_NOTEBOOK)]
        shared = [await self._sharing.get_document(room_id=name, copy=False) for name in names]
        return tuple(NotebookInfo(path=document.path) for document in shared if document is not None and document.path)

    async def read(self, path: str) -> NotebookDocument:
        """Read a notebook, with its outputs."""
        document = await self._find_document(path)
        return await self._fallback.read(path) if document is None else await self._to_document(path, document)

    async def edit(self, chat: str, path: str, changes: Sequence[CellChange]) -> NotebookDocument:
        """Make all changes in one transaction, or none of them, and return the notebook read back."""
        document = await self._find_document(path)
        if document is None:
            return await self._fallback.edit(chat, path, changes)
        await self._check_file(path)
        before = _list_cells(document)
        cells.apply_changes(before, changes, with_ids=True)  # raises if one of the changes is refused
        with document.ydoc.transaction():
            for change in changes:
                after = cells.apply_changes(before, (change,), with_ids=True)
                _apply_change(document, change, before, after)
                before = after
        return await self._to_document(path, document)

    async def run(
        self, chat: str, path: str, cells: Sequence[str], observer: RunObserver | None = None
    ) -> NotebookRunResult:
        """Run cells one after the other until one fails, and store their outputs in the document."""
        if await self._find_document(path) is None:
            return await self._fallback.run(chat, path, cells, observer)
        return await run_cells.run(self, self._kernels, chat, path, cells, observer)

    async def show(self, path: str, cell: str | None = None) -> None:
        """Do nothing: each page is a client of its own, which is asked to show the cell."""

    # -- for `run_cells`

    async def read_cells(self, path: str) -> list[NbformatCell]:
        """Return the cells as they are now."""
        return _list_cells(await self._require_document(path))

    async def begin_cell(self, path: str, id: str) -> None:
        """Remove the outputs of a cell, and mark it as running."""
        _put_outputs(await self._require_document(path), id, [], None, "running")

    async def put_outputs(self, path: str, id: str, outputs: list[dict[str, Any]], count: int | None) -> None:
        """Store the outputs and the execution count of a cell that ran."""
        _put_outputs(await self._require_document(path), id, outputs, count, "idle")

    # -- the document

    async def _find_document(self, path: str) -> Any | None:
        """Return the shared document of a notebook; None when it is not shared now."""
        return await self._sharing.get_document(path=path, content_type="notebook", file_format="json", copy=False)

    async def _check_file(self, path: str) -> None:
        """Check that the file still exists. The shared document outlives its file, but can no longer be saved then.

        Raises: ToolError.
        """
        exists = self._sharing.serverapp.contents_manager.file_exists(path)
        if not (await exists if inspect.isawaitable(exists) else exists):
            raise ToolError(f"There is no notebook {path} (any more).", "It may have been deleted or renamed.")

    async def _require_document(self, path: str) -> Any:
        """Return the shared document of a notebook.

        Raises: ToolError when the notebook is no longer shared.
        """
        document = await self._find_document(path)
        if document is None:
            raise ToolError(f"{path} was closed everywhere while its cells ran.", cells.READ_AGAIN)
        return document

    async def _to_document(self, path: str, document: Any) -> NotebookDocument:
        """Convert a shared document to the model for clients."""
        meta: Any = document.ydoc.get("meta", type=_import_pycrdt().Map).to_py() or {}
        kernel, status = await find_kernel(self._kernels, path)
        return NotebookDocument(
            path=path,
            cells=tuple(_to_cell(document, index, cell) for index, cell in enumerate(_list_cells(document))),
            language=detect_language(meta.get("metadata") or {}),
            kernel_id=kernel,
            kernel_status=status,
        )


def _list_cells(document: Any) -> list[NbformatCell]:
    """List the cells with the ids that the pages use. A shared notebook always has ids, even if the format of its file
    is too old to store them."""
    nodes: list[dict[str, Any]] = []
    for index, ycell in enumerate(document.ycells):
        nodes.append(document.get_cell(index) | {"id": str(ycell["id"])})
    return cells.identify_cells(nodes)


def _to_cell(document: Any, index: int, cell: NbformatCell) -> NotebookCell:
    """Convert a cell to the model for clients, and mark it if it is running."""
    result = cells.to_notebook_cell(cell)
    is_running = result.cell_type is CellType.CODE and document.ycells[index].get("execution_state") == "running"
    return result.model_copy(update={"state": CellState.RUNNING}) if is_running else result


def _apply_change(
    document: Any, change: CellChange, before: Sequence[NbformatCell], after: Sequence[NbformatCell]
) -> None:
    """Apply one change to the shared document. `before` and `after` are all cells before and after the change. No other
    cell is touched, since users may be typing in it."""
    ycells = document.ycells
    if isinstance(change, MoveCell):
        # The cell is removed and inserted again: Yjs has no move.
        old_index = cells.find_index(before, change.cell_id)
        del ycells[old_index]
        ycells.insert(cells.find_index(after, change.cell_id), document.create_ycell(before[old_index].node))
        return
    # The index of the first cell that is not the same object as before.
    index = next((n for n, cell in enumerate(after) if n >= len(before) or cell is not before[n]), len(after))
    if len(after) > len(before):
        ycells.insert(index, document.create_ycell(after[index].node))
    elif len(after) < len(before):
        del ycells[index]
    elif index < len(after):
        _replace_cell(document, index, before[index].node, after[index].node)


def _replace_cell(document: Any, index: int, old: dict[str, Any], new: dict[str, Any]) -> None:
    """Replace a cell in the shared document. `old` and `new` are the cell as nbformat JSON."""
    # The first branch is for a cell in which only the source differs, and in which metadata was only added.
    same: dict[str, Any] = {"source": "", "metadata": {}}
    if old | same == new | same and old.get("metadata", {}).items() <= new.get("metadata", {}).items():
        # This changes only the characters that differ. So cursors stay, and what others type in the cell is kept.
        document.set_cell(index, source=new["source"])
        if old.get("metadata") != new.get("metadata"):
            document.ycells[index]["metadata"].update(new["metadata"])
    else:
        document.set_cell(index, new)


def _put_outputs(document: Any, id: str, outputs: list[dict[str, Any]], count: int | None, state: str) -> None:
    """Store the outputs and the state of a cell, in one transaction. `state` is the execution state that JupyterLab
    shows: `running` or `idle`."""
    pycrdt = _import_pycrdt()
    ycell = document.ycells[cells.find_index(_list_cells(document), id)]
    shared: list[Any] = [
        pycrdt.Map(output | {"text": pycrdt.Text(output["text"])} if output["output_type"] == "stream" else output)
        for output in outputs
    ]
    with document.ydoc.transaction():
        ycell["outputs"].clear()
        ycell["outputs"].extend(shared)
        ycell["execution_count"] = count
        ycell["execution_state"] = state


def _import_pycrdt() -> Any:
    """Import pycrdt, which comes with the extension. No other module needs it."""
    return importlib.import_module("pycrdt")
