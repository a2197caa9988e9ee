"""A page does not send outputs again that the server has. What the server reads is nevertheless what the page shows."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jupyter_eca.errors import ToolError
from jupyter_eca.fronts.eca.client_ports import LinkNotebooks
from jupyter_eca.transport.memory import make_link_pair
from jupyter_eca.transport.peer import Peer

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from jupyter_eca.protocol.notebook import NotebookDocument

pytestmark = pytest.mark.asyncio

IDS = ("a", "b", "c", "d")


class CountingPage:
    """A page whose notebooks have cells with texts as outputs. It sends at most `room` of them in an answer."""

    def __init__(self, room: int = 100) -> None:
        self.room = room
        self.books: dict[str, dict[str, tuple[int, str]]] = {}
        self.highest = 0
        self.sent: list[str] = []
        self.open: set[str] = set()

    def put(self, path: str, id: str, text: str) -> None:
        self.highest += 1
        self.books.setdefault(path, {})[id] = (self.highest, text)
        self.open.add(path)

    async def answer(self, method: str, params: Any) -> Any:
        match method:
            case "notebook/list":
                return {"notebooks": [{"path": path} for path in sorted(self.open)]}
            case "notebook/readOutputs":
                return {"cells": [self._outputs(params["path"], id) for id in params["cellIds"][: self.room]]}
            case _:
                return self._document(params["path"], params["knownOutputs"])

    def _document(self, path: str, known: int) -> dict[str, Any]:
        left = self.room
        cells: list[dict[str, Any]] = []
        for id, (version, _) in self.books[path].items():
            cell: dict[str, Any] = {"id": id, "cellType": "code", "source": "", "outputsVersion": version}
            if version > known and left:
                left -= 1
                cell |= self._outputs(path, id)
            cells.append(cell)
        return {"path": path, "cells": cells, "outputsVersion": self.highest}

    def _outputs(self, path: str, id: str) -> dict[str, Any]:
        self.sent.append(id)
        version, text = self.books[path].get(id, (0, ""))
        output = {"output_type": "stream", "name": "stdout", "text": text}
        return {"id": id, "outputs": [output] if text else [], "outputsVersion": version}


@asynccontextmanager
async def served(page: CountingPage) -> AsyncGenerator[LinkNotebooks]:
    ours, theirs = make_link_pair()
    peers = [Peer(link, page.answer, lambda _method, _params: None) for link in (ours, theirs)]
    async with asyncio.TaskGroup() as tasks:
        running = [tasks.create_task(peer.run()) for peer in peers]
        yield LinkNotebooks(peers[0])
        for task in running:
            task.cancel()


def texts(document: NotebookDocument) -> dict[str, str]:
    return {cell.id: "".join(output["text"] for output in cell.outputs) for cell in document.cells}


async def test_only_changed_outputs_are_sent_again() -> None:
    page = CountingPage()
    for id in IDS:
        page.put("n.ipynb", id, f"old {id}")
    async with served(page) as notebooks:
        assert texts(await notebooks.read("n.ipynb")) == {id: f"old {id}" for id in IDS}
        page.put("n.ipynb", "b", "new b")
        page.sent.clear()
        after = await notebooks.edit("chat", "n.ipynb", ())
        assert texts(after) == {"a": "old a", "b": "new b", "c": "old c", "d": "old d"}
        assert page.sent == ["b"]


async def test_what_the_tools_get_says_nothing_of_versions() -> None:
    page = CountingPage()
    page.put("n.ipynb", "a", "text")
    async with served(page) as notebooks:
        for _ in range(2):
            assert "outputsVersion" not in str((await notebooks.read("n.ipynb")).as_json_object())


async def test_outputs_of_a_notebook_that_was_closed_are_forgotten() -> None:
    page = CountingPage()
    page.put("n.ipynb", "a", "text")
    async with served(page) as notebooks:
        await notebooks.read("n.ipynb")
        page.open.clear()
        await notebooks.list()
        page.sent.clear()
        assert texts(await notebooks.read("n.ipynb")) == {"a": "text"}
        assert page.sent == ["a"]


async def test_a_page_that_answers_with_no_cells_is_not_asked_for_ever() -> None:
    page = CountingPage(room=0)
    page.put("n.ipynb", "a", "text")
    async with served(page) as notebooks:
        with pytest.raises(ToolError, match="has no cells"):
            await notebooks.read("n.ipynb")


@settings(deadline=None)
@given(
    room=st.integers(1, 3),
    steps=st.lists(
        st.tuples(st.sampled_from(["m.ipynb", "n.ipynb", "o.ipynb"]), st.sampled_from(IDS), st.text(max_size=2)),
        max_size=12,
    ),
    reads=st.integers(1, 3),
)
async def test_the_server_always_reads_what_the_page_shows(
    room: int, steps: list[tuple[str, str, str]], reads: int
) -> None:
    page = CountingPage(room)
    async with served(page) as notebooks:
        for path, id, text in steps:
            page.put(path, id, text)
            read = await asyncio.gather(*(notebooks.read(path) for _ in range(reads)))
            shown = {id: text for id, (_, text) in page.books[path].items()}
            assert [texts(document) for document in read] == [shown] * reads
