"""A page with notebooks open, at the other end of a memory link: what JupyterLab is to the server."""

from __future__ import annotations

import asyncio
import base64
import json
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from jupyter_eca.errors import RemoteError, ToolError
from jupyter_eca.fronts.eca.session import EcaSession
from jupyter_eca.protocol import notebook as wire
from jupyter_eca.protocol.editor import EditorGetDiagnosticsParams
from jupyter_eca.protocol.methods import METHODS
from jupyter_eca.transport.eca_client import CallDecision
from jupyter_eca.transport.memory import make_link_pair
from jupyter_eca.transport.peer import Peer
from tests.support.host_and_client import Desk, Door, answer, desk

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Sequence
    from pathlib import Path

    from jupyter_eca.protocol.chat import ChatContentReceivedParams
    from jupyter_eca.protocol.content import ToolCalledContent, ToolCallRunContent
    from jupyter_eca.transport.eca_client import EcaClient
    from jupyter_eca.workspace.ports import RunObserver

PATH = "work/nb.ipynb"


def code(id: str, source: str, *outputs: dict[str, Any], count: int | None = None) -> wire.NotebookCell:
    state = wire.CellState.NEVER_RUN if count is None else wire.CellState.RAN
    kind = wire.CellType.CODE
    return wire.NotebookCell(id=id, cell_type=kind, source=source, outputs=outputs, execution_count=count, state=state)


def text(id: str, source: str) -> wire.NotebookCell:
    return wire.NotebookCell(id=id, cell_type=wire.CellType.MARKDOWN, source=source)


def printed(words: str) -> dict[str, Any]:
    return {"output_type": "stream", "name": "stdout", "text": words}


PNG = base64.b64encode(b"\x89PNG\r\n\x1a\n and so on").decode()
PLOT: dict[str, Any] = {
    "output_type": "display_data",
    "data": {"image/png": PNG, "text/plain": "<Figure>"},
    "metadata": {},
}


@dataclass
class Page:
    """`books` are its open notebooks, the first one the active one. Running a cell prints its source; one that holds
    `fail` fails, and one that holds `plot` shows a picture. `hold` keeps a run going until it is set.
    `before_edit` is what somebody does in the page at the moment an edit arrives, `after_edit` just behind it.
    With `problems` it has an editor that tells those; it cannot read the `unreadable` one. `language` is what
    its kernels say that they speak."""

    books: dict[str, list[wire.NotebookCell]]
    hold: asyncio.Event | None = None
    running: asyncio.Event = field(default_factory=asyncio.Event)
    interrupted: asyncio.Event = field(default_factory=asyncio.Event)
    before_edit: Callable[[], None] | None = None
    after_edit: Callable[[], None] | None = None
    problems: list[dict[str, Any]] | None = None
    unreadable: str = ""
    language: str = "python"
    asked: list[str | None] = field(default_factory=list[str | None])
    shown: list[str] = field(default_factory=list[str])
    edits: int = 0
    kernel_ids: dict[str, str] = field(default_factory=dict[str, str])
    """The ids of the kernels of its notebooks, as its list of them has them."""
    hold_read: asyncio.Event | None = None
    """Keeps a reading of a notebook going until it is set."""

    def cells(self, path: str = PATH) -> list[tuple[str, str]]:
        return [(cell.id, cell.source) for cell in self.books[path]]

    def type(self, id: str, source: str) -> None:
        """As a person does."""
        cells = self.books[PATH]
        at = next(at for at, cell in enumerate(cells) if cell.id == id)
        cells[at] = cells[at].model_copy(update={"source": source})

    async def run(self, id: str) -> None:
        """As a person does."""
        await self._run(PATH, [id], "by hand")

    async def join(self, table: Desk) -> None:
        ours, theirs = make_link_pair()
        table.tasks.create_task(EcaSession(theirs, Door(table.host)).run())
        self._link = ours
        peer = self._peer = Peer(ours, self._answer, lambda _method, _params: None)
        table.tasks.create_task(peer.run())
        can = {"chat": True, "notebook": True} | ({} if self.problems is None else {"editor": {"diagnostics": True}})
        await peer.request("initialize", {"capabilities": {"codeAssistant": {"envelope": True, **can}}})
        await peer.notify("initialized", {})

    async def leave(self) -> None:
        await self._link.close()

    async def _answer(self, method: str, params: Any) -> Any:
        match METHODS[method].parse(params):
            case wire.NotebookReadParams(path=path) if path == self.unreadable:
                raise RemoteError(f"{path} was closed")
            case wire.NotebookReadParams(path=path):
                if self.hold_read is not None:
                    await self.hold_read.wait()
                return self._document(path).as_json_object()
            case wire.NotebookEditParams(path=path, changes=changes):
                return self._edit(path, changes).as_json_object()
            case wire.NotebookRunParams(path=path, cell_ids=ids, run_id=run):
                return (await self._run(path, ids, run)).as_json_object()
            case EditorGetDiagnosticsParams(uri=uri):
                self.asked.append(uri)
                return {"diagnostics": self.problems}
            case wire.NotebookOpenParams(path=path):
                self.shown.append(path)
                return {}
            case _:
                infos = [
                    wire.NotebookInfo(path=path, active=at == 0, kernel_id=self.kernel_ids.get(path))
                    for at, path in enumerate(self.books)
                ]
                return wire.NotebookListResult(notebooks=tuple(infos)).as_json_object()

    def _document(self, path: str) -> wire.NotebookDocument:
        return wire.NotebookDocument(
            path=path, cells=tuple(self.books[path]), language=self.language, kernel_id="k", kernel_status="idle"
        )

    def _edit(self, path: str, changes: Sequence[wire.CellChange]) -> wire.NotebookDocument:
        if self.before_edit is not None:
            self.before_edit()
        cells = list(self.books[path])
        for change in changes:
            _change(cells, change)
        self.books[path] = cells
        self.edits += 1
        if self.after_edit is not None:
            self.after_edit()
        return self._document(path)

    async def _run(self, path: str, ids: Sequence[str], run: str) -> wire.NotebookRunResult:
        begun = wire.NotebookRunProgressParams(run_id=run, cell_id=ids[0], text="begun\n 10%\r 20%")
        await self._peer.notify("notebook/runProgress", begun.as_json_object())
        self.running.set()
        if self.hold is not None:
            try:
                await self.hold.wait()
            except asyncio.CancelledError:
                self.interrupted.set()
                raise
        ran: list[wire.NotebookCell] = []
        for count, id in enumerate(ids, 7):
            at, cell = _found(self.books[path], id)
            fails = "fail" in cell.source
            error = {"output_type": "error", "ename": "E", "evalue": "no", "traceback": ["E: no"]}
            outputs = (error,) if fails else (printed(f"ran {cell.source}"),)
            if "plot" in cell.source:
                outputs = (PLOT, *outputs)
            news = {"outputs": outputs, "execution_count": count, "state": wire.CellState.RAN}
            self.books[path][at] = cell.model_copy(update=news)
            ran.append(self.books[path][at])
            if fails:
                return wire.NotebookRunResult(status=wire.RunStatus.ERROR, ran=tuple(ran))
        return wire.NotebookRunResult(status=wire.RunStatus.OK, ran=tuple(ran))


def _found(cells: list[wire.NotebookCell], id: str) -> tuple[int, wire.NotebookCell]:
    for at, cell in enumerate(cells):
        if cell.id == id:
            return at, cell
    raise RemoteError(f"There is no cell {id}.")


def _change(cells: list[wire.NotebookCell], change: wire.CellChange) -> None:
    match change:
        case wire.InsertCell(index=index, cell=new):
            cells.insert(index, wire.NotebookCell(id=new.id, cell_type=new.cell_type, source=new.source))
            return
        case wire.PutCell(index=index, cell=cell) if all(one.id != cell.id for one in cells):
            cells.insert(index, cell)
            return
        case wire.PutCell(cell=wire.NotebookCell(id=id), was=was) | wire.EditCell(cell_id=id, was=was):
            pass
        case wire.DeleteCell(cell_id=id, was=was):
            pass
        case wire.MoveCell(cell_id=id):
            was = None
    at, cell = _found(cells, id)
    if was is not None and cell.source != was:
        raise RemoteError("The cell was changed meanwhile.")
    match change:
        case wire.PutCell():
            cells[at] = change.cell
        case wire.EditCell():
            cells[at] = cell.model_copy(update={"source": change.source, "state": wire.CellState.EDITED})
        case wire.DeleteCell():
            del cells[at]
        case wire.MoveCell():
            cells.insert(change.index, cells.pop(at))


class Nobody:
    """`workspace.base.Notebooks` where there are none but those of pages."""

    async def list(self) -> tuple[wire.NotebookInfo, ...]:
        return ()

    async def read(self, path: str) -> wire.NotebookDocument:
        raise ToolError(f"There is no notebook {path}.")

    async def edit(self, chat: str, path: str, changes: Sequence[wire.CellChange]) -> wire.NotebookDocument:  # noqa: ARG002
        return await self.read(path)

    async def run(
        self,
        chat: str,  # noqa: ARG002
        path: str,
        cells: Sequence[str],  # noqa: ARG002
        observer: RunObserver | None = None,  # noqa: ARG002
    ) -> wire.NotebookRunResult:
        raise ToolError(f"There is no notebook {path}.")

    async def show(self, path: str, cell: str | None = None) -> None:
        pass


@dataclass
class Room:
    """A chat beside a page. `call` has the model call a tool, and gives the end of the call."""

    table: Desk
    page: Page
    client: EcaClient

    async def call(
        self, tool: str, choose: Callable[[ToolCallRunContent], CallDecision | None] | None = None, **arguments: Any
    ) -> ToolCalledContent:
        received = await self.ask([{"tool": tool, "arguments": arguments}], choose)
        return called(received)[0]

    async def show_all(self) -> None:
        """Have the model know all cells as they are now."""
        known = (await self.table.host.chats.load("chat")).known_versions
        for path, cells in self.page.books.items():
            known.learn_cells(path, cells)

    async def ask(
        self,
        calls: list[dict[str, Any]],
        choose: Callable[[ToolCallRunContent], CallDecision | None] | None = None,
        agent: str = "",
    ) -> list[ChatContentReceivedParams]:
        script(self.table.folder, calls)
        return await answer(self.client, "go", choose or yes, agent=agent)


def yes(_: ToolCallRunContent) -> CallDecision:
    return CallDecision(approved=True)


def called(received: Sequence[ChatContentReceivedParams]) -> list[Any]:
    return [one.content for one in received if getattr(one.content, "type", "") == "toolCalled"]


def result(content: ToolCalledContent) -> str:
    return content.outputs[0].text


@asynccontextmanager
async def room(
    folder: Path, *cells: wire.NotebookCell, page: Page | None = None, read: bool = True, **config: Any
) -> AsyncGenerator[Room]:
    """`read`: the model of the chat has read the notebooks of the page already."""
    (folder / "work").mkdir(exist_ok=True)
    page = page or Page({PATH: list(cells)})
    async with desk(folder, [], Nobody(), **config) as table:
        await page.join(table)
        there = Room(table, page, await table.client())
        if read:
            await there.show_all()
        try:
            yield there
        finally:
            await page.leave()


def script(folder: Path, calls: list[dict[str, Any]]) -> None:
    """What the model does when it is next asked; then it says that it is done."""
    rules = [{"message": "", "reply": calls}, {"result": "", "reply": [{"text": "Done."}]}]
    (folder / "script.json").write_text(json.dumps({"rules": rules}))
