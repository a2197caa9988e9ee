"""A page that the browser has frozen does not answer. It must not slow every prompt."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import pytest

from jupyter_eca.fronts.eca import client_ports
from jupyter_eca.fronts.eca.client_ports import LinkNotebooks
from jupyter_eca.protocol.notebook import NotebookInfo, NotebookListResult
from jupyter_eca.transport.memory import make_link_pair
from jupyter_eca.transport.peer import Peer
from jupyter_eca.workspace.notebooks.file import NotebookFiles
from jupyter_eca.workspace.notebooks.notebook_router import NotebookRouter
from jupyter_eca.workspace.ports import Files
from tests.support.timeouts import PATIENCE

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator
    from pathlib import Path

pytestmark = pytest.mark.asyncio


class FreezingPage:
    """A page with one open notebook. It reads nothing before it is awake, as when the browser has frozen it."""

    def __init__(self, path: str, tasks: asyncio.TaskGroup) -> None:
        ours, theirs = make_link_pair()
        self.path = path
        self.page = Peer(theirs, self._answer, lambda _method, _params: None)
        self.peer = Peer(ours, self._answer, lambda _method, _params: None)
        self.notebooks = LinkNotebooks(self.peer)
        self._tasks = tasks
        self.running = [tasks.create_task(self.peer.run())]

    def wake(self) -> None:
        self.running.append(self._tasks.create_task(self.page.run()))

    async def _answer(self, method: str, params: Any) -> Any:  # noqa: ARG002
        return NotebookListResult(notebooks=(NotebookInfo(path=self.path, active=True),)).as_json_object()


@asynccontextmanager
async def two_pages(folder: Path) -> AsyncGenerator[tuple[FreezingPage, NotebookRouter]]:
    """A frozen page, and what finds the open notebooks of this page and of another one, which answers."""
    async with asyncio.TaskGroup() as tasks:
        frozen, lively = FreezingPage("frozen.ipynb", tasks), FreezingPage("lively.ipynb", tasks)
        lively.wake()
        yield frozen, NotebookRouter([frozen.notebooks, lively.notebooks], NotebookFiles(Files((folder,))))
        for task in (*frozen.running, *lively.running):
            task.cancel()


async def test_a_page_that_did_not_answer_is_not_waited_for_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client_ports, "LIST_SECONDS", 0.05)
    async with two_pages(tmp_path) as (_, router):
        assert [info.path for info in await router.list()] == ["lively.ipynb"]
        monkeypatch.setattr(client_ports, "LIST_SECONDS", None)  # a second wait would not end
        async with asyncio.timeout(PATIENCE):
            assert [info.path for info in await router.list()] == ["lively.ipynb"]


async def test_a_page_that_has_sent_something_is_asked_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client_ports, "LIST_SECONDS", 0.05)
    async with two_pages(tmp_path) as (frozen, router):
        await router.list()
        monkeypatch.setattr(client_ports, "LIST_SECONDS", None)
        frozen.wake()
        await frozen.page.request("anything", {})
        assert {info.path for info in await router.list()} == {"frozen.ipynb", "lively.ipynb"}
