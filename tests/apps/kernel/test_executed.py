"""What the assistant does to notebooks while nbclient runs one: the kernel has only files, and one of them is in the
memory of nbclient."""

from __future__ import annotations

import asyncio
import json
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
import pytest_asyncio
from nbclient import NotebookClient

from jupyter_eca.apps.kernel.engine.executed_notebook import ExecutedNotebooks
from jupyter_eca.errors import ToolError
from jupyter_eca.protocol.notebook import EditCell
from jupyter_eca.workspace.ports import Files
from tests.apps.kernel.nbclient_notebook import LOAD, PATIENCE, document, surround
from tests.support.host_and_client import settings

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator
    from pathlib import Path

pytestmark = pytest.mark.asyncio(loop_scope="module")

RULES: list[dict[str, Any]] = [
    {"result": "There is no tool 'notebook_edit_cell'.*read_file", "reply": [{"text": "I have no such tool."}]},
    {"result": "total = 1", "reply": [{"text": "I read its cells."}]},
    {"message": "^change", "reply": [{"tool": "notebook_edit_cell", "arguments": {"cell": 2, "source": "total = 2"}}]},
    {"message": "^read", "reply": [{"tool": "read_file", "arguments": {"path": "other.ipynb"}}]},
    {"message": "(?s)^why.*(?P<told>Inputs.*)\n</context>", "reply": [{"text": "````\n$told\n````"}]},
    {"message": "^why", "reply": [{"text": "Nothing is new."}]},
]
FAIL = "try_it = 1\n1 / 0"


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def ran(tmp_path_factory: pytest.TempPathFactory) -> AsyncGenerator[tuple[Path, Any]]:
    """The folder, and the notebook after its run as its program wrote it; `other.ipynb` is one that nobody runs."""
    folder = tmp_path_factory.mktemp("book")
    asking = ["%eca why?", "%eca why again?", "%eca change it", "%eca read other.ipynb"]
    book = document(LOAD, "total = 1", FAIL, *asking)
    book.cells[2].metadata["tags"] = ["raises-exception"]
    with pytest.MonkeyPatch.context() as patch:
        surround(patch, folder, settings(folder, RULES, notebook={"place": True}))
        for name, content in (("this", book), ("other", document(LOAD, "total = 1"))):
            (folder / f"{name}.ipynb").write_text(json.dumps(content))
        client: Any = NotebookClient(book, timeout=PATIENCE, resources={"metadata": {"path": str(folder)}})
        async with asyncio.timeout(PATIENCE * 2):
            yield folder, await client.async_execute()


def sources(folder: Path, name: str) -> list[str]:
    return ["".join(cell["source"]) for cell in json.loads((folder / name).read_text())["cells"]]


def said(book: Any, n: int) -> str:
    return book.cells[n].outputs[-1].data["text/plain"].splitlines()[-1]


async def test_no_tool_of_live_notebooks_is_offered(ran: tuple[Path, Any]) -> None:
    folder, book = ran
    assert said(book, 5) == "I have no such tool."
    assert sources(folder, "this.ipynb") == [cell.source for cell in book.cells]


async def test_notebook_files_are_read_as_cells(ran: tuple[Path, Any]) -> None:
    _, book = ran
    assert said(book, 6) == "I read its cells."


async def test_a_question_tells_the_last_inputs_of_the_kernel_with_their_errors_once(ran: tuple[Path, Any]) -> None:
    _, book = ran
    told = book.cells[3].outputs[-1].data["text/plain"]
    assert f"[1] {LOAD}\n[2] total = 1\n[3] {FAIL}\n-> ZeroDivisionError: division by zero\n" in told
    assert "The last traceback:\nZeroDivisionError" in told
    assert "%eca" not in told
    assert said(book, 4) == "Nothing is new."


async def test_a_notebook_that_a_program_runs_is_never_edited(ran: tuple[Path, Any]) -> None:
    folder, book = ran
    request = {"content": {"allow_stdin": False}}
    history = SimpleNamespace(input_hist_raw=["", "total = 1"])
    shell = SimpleNamespace(kernel=SimpleNamespace(get_parent=lambda: request), history_manager=history)
    notebooks = ExecutedNotebooks(Files((folder,)), shell)
    assert notebooks.is_unattended
    cell = (await notebooks.read("this.ipynb")).cells[1]
    with pytest.raises(ToolError, match="has it in memory"):
        await notebooks.edit("chat", "this.ipynb", (EditCell(cell_id=cell.id, was="total = 1", source="total = 2"),))
    assert sources(folder, "this.ipynb") == [cell.source for cell in book.cells]
