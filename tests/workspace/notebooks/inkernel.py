"""The notebooks of a host inside of a kernel that nbclient runs: each call is a cell that it executes."""

from __future__ import annotations

import json
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import nbformat
from nbclient import NotebookClient
from pydantic import TypeAdapter

from jupyter_eca.errors import ToolError
from jupyter_eca.protocol.notebook import CellChange, NotebookDocument, NotebookInfo, NotebookRunResult
from tests.workspace.notebooks.books import book, node

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Sequence
    from pathlib import Path

    from jupyter_eca.workspace.ports import RunObserver

_CHANGES: TypeAdapter[tuple[CellChange, ...]] = TypeAdapter(tuple[CellChange, ...])

_BEGIN = """import json
from pathlib import Path
from pydantic import TypeAdapter
from jupyter_eca.errors import ToolError
from jupyter_eca.apps.kernel.engine.executed_notebook import ExecutedNotebooks
from jupyter_eca.protocol.notebook import CellChange
from jupyter_eca.workspace.ports import Files
changes = TypeAdapter(tuple[CellChange, ...])
notebooks = ExecutedNotebooks(Files((Path.cwd(),)), get_ipython())"""

_CALL = """try:
    print(json.dumps({{"done": (await notebooks.{call}).as_json_object()}}))
except ToolError as error:
    print(json.dumps({{"refused": str(error)}}))"""

PATIENCE = 60


class KernelNotebooks:
    """Implements the port `Notebooks`."""

    def __init__(self, client: Any) -> None:
        self._client = client

    async def list(self) -> tuple[NotebookInfo, ...]:
        return ()

    async def read(self, path: str) -> NotebookDocument:
        return NotebookDocument.model_validate(await self._call(f"read({path!r})"))

    async def edit(self, chat: str, path: str, changes: Sequence[CellChange]) -> NotebookDocument:
        text = _CHANGES.dump_json(tuple(changes), by_alias=True).decode()
        call = f"edit({chat!r}, {path!r}, changes.validate_json({text!r}))"
        return NotebookDocument.model_validate(await self._call(call))

    async def run(
        self,
        chat: str,
        path: str,
        cells: Sequence[str],
        observer: RunObserver | None = None,  # noqa: ARG002
    ) -> NotebookRunResult:
        return NotebookRunResult.model_validate(await self._call(f"run({chat!r}, {path!r}, {tuple(cells)!r})"))

    async def show(self, path: str, cell: str | None = None) -> None:
        """Do nothing, because no page is there to show it."""

    async def _call(self, call: str) -> Any:
        answer = json.loads(await self.execute(_CALL.format(call=call)))
        if "refused" in answer:
            raise ToolError(answer["refused"])
        return answer["done"]

    async def execute(self, source: str) -> str:
        cell: Any = nbformat.v4.new_code_cell(source)  # pyright: ignore[reportUnknownMemberType]  # untyped library
        self._client.nb.cells.append(cell)
        await self._client.async_execute_cell(cell, len(self._client.nb.cells) - 1)
        return "".join(output["text"] for output in cell.outputs)


@asynccontextmanager
async def kernel_notebooks(folder: Path) -> AsyncGenerator[KernelNotebooks]:
    client: Any = NotebookClient(node(book()), timeout=PATIENCE, resources={"metadata": {"path": str(folder)}})
    async with client.async_setup_kernel():
        notebooks = KernelNotebooks(client)
        await notebooks.execute(_BEGIN)
        yield notebooks
