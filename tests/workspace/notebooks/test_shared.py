"""A shared document in which pages type while the assistant edits it. Needs jupyter-collaboration."""

from __future__ import annotations

import importlib
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import pytest

from jupyter_eca.errors import ToolError
from jupyter_eca.protocol.notebook import DeleteCell, EditCell, InsertCell, MoveCell, NewCell
from jupyter_eca.workspace.notebooks.file import NotebookFiles
from jupyter_eca.workspace.notebooks.shared_document import SharedNotebooks
from jupyter_eca.workspace.ports import Files
from tests.workspace.notebooks.answers import SHARING, sharing_server, write
from tests.workspace.notebooks.books import book, code

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator
    from pathlib import Path

pytestmark = pytest.mark.asyncio


@asynccontextmanager
async def shared(folder: Path, content: Any) -> AsyncGenerator[tuple[SharedNotebooks, Any]]:
    """The port of the assistant, and the shared document of `a.ipynb`."""
    pytest.importorskip(SHARING, reason="jupyter-collaboration is not installed")
    async with sharing_server(folder) as sharing:
        write(folder, "a.ipynb", content)
        document = await sharing.get_document(
            path="a.ipynb", content_type="notebook", file_format="json", copy=False, create=True
        )
        yield SharedNotebooks(sharing, NotebookFiles(Files((folder,))), None), document


def page(document: Any) -> Any:
    """Return another document with the same content, as a page has it."""
    pycrdt, kinds = importlib.import_module("pycrdt"), importlib.import_module("jupyter_ydoc")
    own = pycrdt.Doc()
    own.apply_update(document.ydoc.get_update())
    return kinds.YNotebook(own)


def merge(*documents: Any) -> None:
    for one in documents:
        for other in documents:
            if other is not one:
                other.ydoc.apply_update(one.ydoc.get_update(other.ydoc.get_state()))


async def test_nothing_that_two_pages_type_during_an_edit_is_lost(tmp_path: Path) -> None:
    content = book(code("a", "first = 1\n"), code("b", "second = 2\n"), code("c", "third = 3\n"))
    async with shared(tmp_path, content) as (notebooks, room):
        one, two = page(room), page(room)
        one.ycells[0]["source"].insert(len("first = 1\n"), "# one\n")
        one.append_cell(code("from-one", "1"))
        two.ycells[0]["source"].insert(0, "# two\n")
        two.ycells[1]["source"].insert(len("second = 2\n"), "# two\n")
        told = await notebooks.edit(
            "chat",
            "a.ipynb",
            (
                EditCell(cell_id="a", was="first = 1\n", source="first = 10\n"),
                InsertCell(index=1, cell=NewCell(id="from-us", source="0")),
                DeleteCell(cell_id="c", was="third = 3\n"),
                MoveCell(cell_id="from-us", index=0),
            ),
        )
        assert [cell.id for cell in told.cells] == ["from-us", "a", "b"]
        merge(room, one, two)
        sources = {cell["id"]: cell["source"] for cell in room.get()["cells"]}
        assert set(sources) == {"from-us", "a", "b", "from-one"}
        assert sources["a"] == "# two\nfirst = 10\n# one\n"
        assert sources["b"] == "second = 2\n# two\n"
        assert one.get() == two.get() == room.get()


async def test_shared_notebooks_are_listed_and_others_are_read_from_files(tmp_path: Path) -> None:
    async with shared(tmp_path, book(code("a", "1"))) as (notebooks, _):
        write(tmp_path, "b.ipynb", book(code("alone", "1")))
        assert [info.path for info in await notebooks.list()] == ["a.ipynb"]
        assert [cell.id for cell in (await notebooks.read("b.ipynb")).cells] == ["alone"]
        await notebooks.edit("chat", "b.ipynb", (EditCell(cell_id="alone", was="1", source="2"),))
        assert '"2"' in (tmp_path / "b.ipynb").read_text()
        assert [info.path for info in await notebooks.list()] == ["a.ipynb"]


async def test_a_shared_notebook_whose_file_is_gone_is_not_edited(tmp_path: Path) -> None:
    async with shared(tmp_path, book(code("a", "1"))) as (notebooks, room):
        await notebooks.read("a.ipynb")
        (tmp_path / "a.ipynb").rename(tmp_path / "b.ipynb")
        with pytest.raises(ToolError, match=r"no notebook a\.ipynb"):
            await notebooks.edit("chat", "a.ipynb", (EditCell(cell_id="a", was="1", source="2"),))
        assert room.get()["cells"][0]["source"] == "1"
        assert not (tmp_path / "a.ipynb").exists()
