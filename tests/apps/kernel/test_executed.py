"""What the assistant does to notebooks while nbclient runs one: the kernel has only files, and one of them is in the
memory of nbclient."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

import pytest
import pytest_asyncio
from nbclient import NotebookClient

from tests.apps.kernel.nbclient_notebook import LOAD, PATIENCE, document, surround
from tests.support.host_and_client import settings

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator
    from pathlib import Path

pytestmark = pytest.mark.asyncio(loop_scope="module")

TOOLS = ("notebook_read", "notebook_edit_cell", "notebook_run_cells")


def calls(tool: str, path: str, **arguments: Any) -> list[dict[str, Any]]:
    return [{"tool": tool, "arguments": {"path": path, **arguments}}]


def rules(path: str) -> list[dict[str, Any]]:
    edit = calls("notebook_edit_cell", path, cell=2, source="total = 2")
    run = calls("notebook_run_cells", path, cells=[2])
    return [
        {"message": f"change {path}", "result": "total = 1", "tool": "notebook_read", "reply": edit},
        {"message": f"run {path}", "result": "total", "tool": "notebook_read", "reply": run},
        {"message": path, "reply": calls("notebook_read", path)},
    ]


RULES: list[dict[str, Any]] = [
    {"result": "(?s)memory.*cell is now.*total = 1", "reply": [{"text": "I would have changed it."}]},
    {"result": "(?s)Edited cell 2.*total = 2", "reply": [{"text": "I changed it."}]},
    {"result": "run_code", "reply": [{"text": "I cannot run it."}]},
    *rules("this.ipynb"),
    *rules("other.ipynb"),
]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def ran(tmp_path_factory: pytest.TempPathFactory) -> AsyncGenerator[tuple[Path, Any]]:
    """The folder, and the notebook after its run as its program wrote it; `other.ipynb` is one that nobody runs."""
    folder = tmp_path_factory.mktemp("book")
    asking = [f"%eca {what}" for what in ("change this.ipynb", "change other.ipynb", "run other.ipynb")]
    book = document(LOAD, "total = 1", *asking)
    with pytest.MonkeyPatch.context() as patch:
        config = settings(folder, RULES, toolCall={"approval": {"allow": {tool: {} for tool in TOOLS}}})
        surround(patch, folder, config)
        for name, content in (("this", book), ("other", document(LOAD, "total = 1"))):
            (folder / f"{name}.ipynb").write_text(json.dumps(content))
        client: Any = NotebookClient(book, timeout=PATIENCE, resources={"metadata": {"path": str(folder)}})
        async with asyncio.timeout(PATIENCE * 2):
            yield folder, await client.async_execute()


def sources(folder: Path, name: str) -> list[str]:
    return ["".join(cell["source"]) for cell in json.loads((folder / name).read_text())["cells"]]


def said(book: Any, n: int) -> str:
    return book.cells[n].outputs[-1].data["text/plain"].splitlines()[-1]


async def test_the_notebook_that_is_run_is_read_and_not_edited(ran: tuple[Path, Any]) -> None:
    folder, book = ran
    assert said(book, 2) == "I would have changed it."
    assert sources(folder, "this.ipynb") == [cell.source for cell in book.cells]
    assert book.cells[1].source == "total = 1"


async def test_another_notebook_is_edited_in_its_file(ran: tuple[Path, Any]) -> None:
    folder, book = ran
    assert said(book, 3) == "I changed it."
    assert sources(folder, "other.ipynb") == [LOAD, "total = 2"]


async def test_cells_cannot_be_run_from_a_cell_that_runs(ran: tuple[Path, Any]) -> None:
    _, book = ran
    assert said(book, 4) == "I cannot run it."
