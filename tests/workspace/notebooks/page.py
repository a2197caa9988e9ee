"""A page with open notebooks, at the other end of a link. Its notebooks are nbformat, and nbclient runs them."""

from __future__ import annotations

import asyncio
import copy
from typing import TYPE_CHECKING, Any

from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError, DeadKernelError

from jupyter_eca.errors import RemoteError
from jupyter_eca.protocol.base import Done
from jupyter_eca.protocol.notebook import (
    NotebookCell,
    NotebookDocument,
    NotebookEditParams,
    NotebookInfo,
    NotebookListResult,
    NotebookRunParams,
    NotebookRunResult,
)
from jupyter_eca.transport.peer import Peer
from tests.workspace.notebooks.books import node

if TYPE_CHECKING:
    from jupyter_eca.protocol.base import Model
    from jupyter_eca.transport.link import Link

_SHOWN = ("id", "cell_type", "source", "metadata", "execution_count", "outputs", "attachments")


class Page:
    def __init__(self, link: Link) -> None:
        self.open: dict[str, Any] = {}
        self.peer = Peer(link, self._answer, lambda _method, _params: None)
        self.runs: set[asyncio.Task[Any]] = set()
        self._client: Any = None

    async def _answer(self, method: str, params: Any) -> Any:
        match method:
            case "notebook/list":
                infos = tuple(NotebookInfo(path=path, active=True) for path in self.open)
                answer: Model = NotebookListResult(notebooks=infos)
            case "notebook/read":
                answer = self._document(params["path"])
            case "notebook/edit":
                answer = self._edit(NotebookEditParams.model_validate(params))
            case "notebook/run":
                answer = await self._run(NotebookRunParams.model_validate(params))
            case _:
                answer = Done()
        return answer.as_json_object()

    def _cells(self, path: str) -> list[Any]:
        if path not in self.open:
            raise RemoteError(f"{path} is not open")
        return self.open[path].cells

    def _document(self, path: str) -> NotebookDocument:
        cells = tuple(_shown(cell) for cell in self._cells(path))
        language = self.open[path].metadata.get("language_info", {}).get("name", "")
        return NotebookDocument(path=path, cells=cells, language=language)

    def _edit(self, params: NotebookEditParams) -> NotebookDocument:
        cells = self._cells(params.path)
        before, kept = copy.deepcopy(cells), list(cells)
        try:
            for change in params.changes:
                _apply(cells, change.model_dump(mode="json"))
        except RemoteError:
            cells[:] = kept
            for cell, was in zip(kept, before, strict=True):
                cell.clear()
                cell.update(was)
            raise
        return self._document(params.path)

    async def _run(self, params: NotebookRunParams) -> NotebookRunResult:
        book = self.open[params.path]
        if self._client is None:
            self._client = NotebookClient(book, timeout=None)
            self._client.create_kernel_manager()
            await self._client.async_start_new_kernel()
            await self._client.async_start_new_kernel_client()
        self._client.nb = book
        ran: list[NotebookCell] = []
        status = "ok"
        for id in params.cell_ids:
            at = _at(book.cells, id)
            status = await self._run_one(book.cells[at], at)
            ran.append(_shown(book.cells[at]))
            if status != "ok":
                break
        return NotebookRunResult.model_validate({"status": status, "ran": ran})

    async def _run_one(self, cell: Any, at: int) -> str:
        work = asyncio.ensure_future(self._client.async_execute_cell(cell, at))
        self.runs.add(work)
        try:
            await asyncio.shield(work)
        except asyncio.CancelledError:
            await self._client.km.interrupt_kernel()
            raise
        except CellExecutionError:
            return "error"
        except DeadKernelError as error:
            await self.close()
            raise RemoteError("the kernel died") from error
        return "ok"

    async def settled(self) -> None:
        """Wait until cancelled runs have ended."""
        await asyncio.gather(*self.runs, return_exceptions=True)
        self.runs.clear()

    async def close(self) -> None:
        if self._client is not None:
            client, self._client = self._client, None
            client.kc.stop_channels()
            await client.km.shutdown_kernel(now=True)


def _at(cells: list[Any], id: str) -> int:
    for at, cell in enumerate(cells):
        if cell.id == id:
            return at
    raise RemoteError(f"there is no cell {id}")


def _shown(cell: Any) -> NotebookCell:
    return NotebookCell.model_validate({name: cell[name] for name in _SHOWN if name in cell})


def _apply(cells: list[Any], change: dict[str, Any]) -> None:
    given: dict[str, Any] = change.get("cell") or {}
    id: str = given.get("id") or change["cell_id"]
    here = any(cell.id == id for cell in cells)
    mark = {"jupyter_eca": {"written": True}} if change.get("marks") else {}
    if "was" in change and change["was"] is not None and cells[_at(cells, id)].source != change["was"]:
        raise RemoteError("its source was changed meanwhile")
    if change["kind"] == "insert" and here:
        raise RemoteError(f"there is a cell {id} already")
    if change["kind"] == "edit":
        cell = cells[_at(cells, id)]
        cell.source = change["source"]
        cell.metadata = {**cell.metadata, **mark}
        return
    was_at = _at(cells, id) if here or not given else 0
    found = cells.pop(was_at) if here or not given else None
    if change["kind"] == "delete":
        return
    if change["kind"] == "move":
        cells.insert(change["index"], found)
        return
    at = was_at if here else change["index"]
    kept: dict[str, Any] = {name: given[name] for name in _SHOWN if given.get(name) is not None}
    if given["cell_type"] == "code":
        kept = {"outputs": [], "execution_count": None, **kept}
    else:
        kept.pop("outputs", None)
    cells.insert(at, node({"metadata": mark, **kept}))
