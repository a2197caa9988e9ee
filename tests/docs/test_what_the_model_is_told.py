"""The requests that `what-the-model-is-told.md` shows are those that are sent."""

from __future__ import annotations

import os
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from jupyter_eca.protocol.chat import AnswerLock
from jupyter_eca.protocol.context import CursorContext, Position, Range
from jupyter_eca.protocol.notebook import CellState, KernelState, NotebookDocument
from jupyter_eca.workspace.kernels.run_history import KernelHistory, make_digest
from jupyter_eca.workspace.ports import RanInput
from jupyter_eca.workspace.reading.input_text import describe_inputs
from tests.plugins.contexts.open_notebooks import Room, Shelf, code, failed, room, words
from tests.support.docs_pages import blocks, page
from tests.support.host_and_client import answer, said

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator
    from pathlib import Path

pytestmark = pytest.mark.asyncio

SHOWN = dict(blocks(page("what-the-model-is-told.md"), "text"))
NOTEBOOK = "sales.ipynb"
TRACEBACK = [
    "KeyError      Traceback (most recent call last)",
    "Cell In[7], line 1\n----> 1 share(df)",
    "Cell In[2], line 2, in share(df)\n      1 def share(df):\n----> 2     return df['price'] / df['price'].sum()",
    "File ~/env/lib/python3.12/site-packages/pandas/core/frame.py:4102, in DataFrame.__getitem__(self, key)\n"
    "-> 4102     indexer = self.columns.get_loc(key)",
    "KeyError: 'price'",
]
RULES = [
    f"rules['customer-{number}'] = Rule(minimum={number}, maximum={number + 9}, region='north-west', currency='EUR')"
    for number in range(3000)
]
CELLS = (
    words("h1", "# Load"),
    code("c2", "import pandas as pd\ndf = pd.read_csv('sales.csv')", count=1),
    words("h3", "# Shares"),
    code("c4", "def share(df):\n    return df['price'] / df['price'].sum()", count=2),
    code("c5", "share(df)", failed("KeyError", "'price'", *TRACEBACK), count=7),
    code("c6", "%%eca\nWhy does the cell above fail?").model_copy(update={"state": CellState.RUNNING}),
    code("c7", "\n".join(RULES)),
)


class SalesKernel:
    """The kernel of the notebook, in which the cells ran that have an execution count."""

    id = "k"

    async def find(self, path: str | None) -> SalesKernel:
        assert path == NOTEBOOK
        return self

    async def state(self) -> KernelState:
        return KernelState(status="idle", language="python")

    async def history(self) -> KernelHistory:
        ran = {cell.execution_count: make_digest(cell.source) for cell in CELLS if cell.execution_count is not None}
        return KernelHistory(125.0, ran)


@asynccontextmanager
async def sales(folder: Path, status: str = "idle", **config: Any) -> AsyncGenerator[Room]:
    """A page with the notebook open, and its kernel."""
    document = NotebookDocument(
        path=NOTEBOOK, cells=CELLS, language="python", kernel_id="k", kernel_status=status, active_cell_id="c5"
    )
    async with room(folder, Shelf({NOTEBOOK: document}), notebook={"place": True}, **config) as there:
        host, kernels = there.table.host, SalesKernel()
        host.current.workspace = replace(host.workspace, kernels=kernels)  # type: ignore[arg-type]  # as much as is used
        yield there


async def ask(there: Room, message: str, cell: str, line: int = 0) -> str:
    """Return the message of the request, when it is asked in the panel."""
    spot = Position(line=line, character=0)
    place = CursorContext(path=NOTEBOOK, position=Range(start=spot, end=spot), cell=cell)
    return said(await answer(there.strict, message, contexts=(place,))) + "\n"


async def test_the_page_shows_what_a_panel_sends(tmp_path: Path) -> None:
    async with sales(tmp_path) as there:
        assert await ask(there, "Why does this fail?", "c5") == SHOWN["first"]
        assert await ask(there, "What should it return?", "c5") == SHOWN["again"]
        assert await ask(there, "What are these?", "c7", 1500) == SHOWN["long"]


async def test_the_page_shows_what_is_sent_of_a_file_that_is_named(tmp_path: Path) -> None:
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib/shares.py").write_text("def share(df):\n    return df['price'] / df['price'].sum()")
    async with sales(tmp_path, toolCall={"approval": {"allow": {"read_file": {}}}}) as there:
        question = "What does `share` in lib/shares.py return?"
        assert said(await answer(there.strict, question)) + "\n" == SHOWN["named"]


async def test_the_page_shows_what_a_cell_sends(tmp_path: Path) -> None:
    async with sales(tmp_path, "busy") as there:
        lock = AnswerLock(notebook=NOTEBOOK, folder=str(tmp_path), cell="c6")
        sent = said(await answer(there.cell, "Why does the cell above fail?", lock=lock))
        assert f"{sent}\n" == SHOWN["cell"]


async def test_the_page_shows_what_is_sent_of_a_notebook_that_must_not_be_read(tmp_path: Path) -> None:
    async with sales(tmp_path, toolCall={"approval": {"deny": {"notebook_read": {}}}}) as there:
        assert await ask(there, "Why does this fail?", "c5") == SHOWN["denied"]


class Kernel:
    """What ran in a kernel."""

    is_unattended = True

    def last_error(self) -> list[str]:
        return TRACEBACK

    def source(self, count: int) -> str:
        return self.list_inputs()[count - 1].source

    def list_inputs(self) -> tuple[RanInput, ...]:
        return (
            RanInput(1, "import pandas as pd\ndf = pd.read_csv('sales.csv')"),
            RanInput(2, "def share(df):\n    return df['price'] / df['price'].sum()"),
            RanInput(7, "share(df)", "KeyError: 'price'"),
        )


async def test_the_page_shows_what_is_sent_of_a_kernel_without_a_server() -> None:
    _, text = describe_inputs(Kernel(), ())
    assert text.replace(f"process {os.getpid()}", "process 4711") + "\n" == SHOWN["kernel"]
