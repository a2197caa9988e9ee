"""A page with notebooks open, as far as contexts see it: it lists and reads documents that are in memory."""

from __future__ import annotations

from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from jupyter_eca.errors import RemoteError
from jupyter_eca.fronts.eca.session import EcaSession
from jupyter_eca.plugins.contexts.resolve import find_mentioned_contexts, read_materials
from jupyter_eca.protocol import notebook as wire
from jupyter_eca.protocol.context import ChatQueryContextParams, ChatQueryContextResult
from jupyter_eca.protocol.methods import METHODS
from jupyter_eca.transport.memory import make_link_pair
from jupyter_eca.transport.peer import Peer
from tests.support.host_and_client import Desk, Door, answer, desk, said
from tests.support.notebook_page import Nobody

if TYPE_CHECKING:
    import asyncio
    from collections.abc import AsyncGenerator
    from pathlib import Path

    from jupyter_eca.plugins.contexts.base import Material
    from jupyter_eca.protocol.context import ChatContext
    from jupyter_eca.transport.eca_client import EcaClient

PATH = "work/orbits.ipynb"

# The model says what it was told, contexts included.
ECHO: list[dict[str, Any]] = [{"message": "(?P<all>(.|\n)*)", "reply": [{"text": "$all"}]}]


def code(id: str, source: str, *outputs: dict[str, Any], count: int | None = None) -> wire.NotebookCell:
    state = wire.CellState.NEVER_RUN if count is None else wire.CellState.RAN
    kind = wire.CellType.CODE
    return wire.NotebookCell(id=id, cell_type=kind, source=source, outputs=outputs, execution_count=count, state=state)


def words(id: str, source: str) -> wire.NotebookCell:
    return wire.NotebookCell(id=id, cell_type=wire.CellType.MARKDOWN, source=source)


def printed(text: str) -> dict[str, Any]:
    return {"output_type": "stream", "name": "stdout", "text": text}


def failed(name: str, value: str, *traceback: str) -> dict[str, Any]:
    return {"output_type": "error", "ename": name, "evalue": value, "traceback": list(traceback)}


@dataclass
class Shelf:
    """`reads` counts how often a document was asked for. While `hold` is there it answers nothing until that is set."""

    books: dict[str, wire.NotebookDocument]
    hold: asyncio.Event | None = None
    reads: int = 0

    async def join(self, table: Desk) -> Peer:
        ours, theirs = make_link_pair()
        table.tasks.create_task(EcaSession(theirs, Door(table.host)).run())
        self._link = ours
        peer = Peer(ours, self._answer, lambda _method, _params: None)
        table.tasks.create_task(peer.run())
        await peer.request("initialize", {"capabilities": {"codeAssistant": {"chat": True, "notebook": True}}})
        await peer.notify("initialized", {})
        await peer.request("chat/queryFiles", {})  # the page is joined by the time that this is answered
        return peer

    async def leave(self) -> None:
        await self._link.close()

    async def _answer(self, method: str, params: Any) -> Any:
        if self.hold is not None:
            await self.hold.wait()
        match METHODS[method].parse(params):
            case wire.NotebookReadParams(path=path) if path in self.books:
                self.reads += 1
                return self.books[path].as_json_object()
            case wire.NotebookReadParams(path=path):
                raise RemoteError(f"There is no notebook {path}.")
            case _:
                infos = [wire.NotebookInfo(path=path, active=place == 0) for place, path in enumerate(self.books)]
                return wire.NotebookListResult(notebooks=tuple(infos)).as_json_object()


@dataclass
class Variables:
    """A live kernel that has these, and counts how often it was asked."""

    has: tuple[wire.Variable, ...]
    hold: asyncio.Event | None = None
    asked: list[tuple[str, ...]] = field(default_factory=list[tuple[str, ...]])

    async def execute(self, code: str) -> wire.KernelExecuteResult:
        return wire.KernelExecuteResult(status=wire.RunStatus.OK, text=code)

    async def variables(self, names: tuple[str, ...]) -> wire.KernelVariablesResult:
        self.asked.append(names)
        if self.hold is not None:
            await self.hold.wait()
        found = tuple(one for one in self.has if not names or one.name in names)
        missing = tuple(name for name in names if all(one.name != name for one in found))
        return wire.KernelVariablesResult(variables=found, missing=missing)


@dataclass
class Room:
    """A strict client, the page, and a cell's kernel, of one host."""

    table: Desk
    shelf: Shelf
    page: Peer
    strict: EcaClient
    cell: EcaClient

    async def told(self, message: str, who: EcaClient | None = None) -> str:
        """What the model is given of a message."""
        return said(await answer(who or self.strict, message))

    async def material(self, message: str) -> list[Material]:
        there = self.table.host.tool_contexts.build_surroundings("chat", None)
        return await read_materials(there, await find_mentioned_contexts(there, message))

    async def offered(self, query: str, who: EcaClient | Peer | None = None) -> list[ChatContext]:
        params = ChatQueryContextParams(query=query, chat_id="chat").as_json_object()
        if isinstance(who, Peer) or who is None:
            result = ChatQueryContextResult.model_validate(await self.page.request("chat/queryContext", params))
            return list(result.contexts)
        return list(await who.list_contexts("chat", query))


@asynccontextmanager
async def room(
    folder: Path, shelf: Shelf | tuple[wire.NotebookCell, ...], variables: Variables | None = None, **more: Any
) -> AsyncGenerator[Room]:
    """With cells in place of a shelf, they are the one notebook."""
    if isinstance(shelf, tuple):
        shelf = Shelf({PATH: wire.NotebookDocument(path=PATH, cells=shelf, kernel_id="k")})
    async with desk(folder, ECHO, Nobody(), **more) as table:
        page = await shelf.join(table)
        try:
            # the client's kernel is asked for two methods only
            cell: Any = variables or Variables(())
            yield Room(table, shelf, page, await table.client(), await table.client(cell))
        finally:
            await shelf.leave()
