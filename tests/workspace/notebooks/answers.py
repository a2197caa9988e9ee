"""Every answer to `workspace.base.Notebooks`, each with a way to see from the other side what is really there."""

from __future__ import annotations

import asyncio
import contextlib
import importlib.util
import json
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import nbformat
import pytest

from jupyter_eca.fronts.eca.client_ports import LinkNotebooks
from jupyter_eca.transport.memory import make_link_pair
from jupyter_eca.transport.peer import Peer
from jupyter_eca.workspace.kernels.local import LocalKernel
from jupyter_eca.workspace.notebooks.file import NotebookFiles
from jupyter_eca.workspace.ports import Files
from tests.workspace.notebooks.books import node
from tests.workspace.notebooks.inkernel import kernel_notebooks
from tests.workspace.notebooks.page import Page

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Callable
    from pathlib import Path

    from jupyter_eca.workspace.ports import Notebooks

# It says little of its types.
_nbformat: Any = nbformat

ANSWERS = ("file", "page", "shared", "nbclient")

SHARING = "jupyter_server_ydoc"


@dataclass
class Answer:
    """`give` puts a notebook there, open where that is the point; `now` is what is there, as nbformat; `settled` is
    awaited after a cancelled call; `runs` says whether cells can be run."""

    notebooks: Notebooks
    folder: Path
    give: Callable[[str, Any], Awaitable[None]]
    now: Callable[[str], Awaitable[Any]]
    settled: Callable[[], Awaitable[None]]
    runs: bool = True


@asynccontextmanager
async def answer(kind: str, folder: Path) -> AsyncGenerator[Answer]:
    making = {"file": _file, "page": _page, "shared": _shared, "nbclient": _nbclient}[kind]
    async with making(folder) as made:
        yield made


def write(folder: Path, path: str, book: Any) -> None:
    with (folder / path).open("w", encoding="utf-8") as file:
        _nbformat.write(node(book), file)


def _ignored() -> None:
    pass


async def _nothing() -> None:
    pass


@asynccontextmanager
async def _file(folder: Path) -> AsyncGenerator[Answer]:
    kernel = LocalKernel(folder)

    async def give(path: str, book: Any) -> None:
        write(folder, path, book)

    async def now(path: str) -> Any:
        return _nbformat.read(folder / path, _nbformat.NO_CONVERT)

    try:
        yield Answer(NotebookFiles(Files((folder,)), kernel), folder, give, now, _nothing)
    finally:
        await kernel.close()


@asynccontextmanager
async def _nbclient(folder: Path) -> AsyncGenerator[Answer]:
    async def give(path: str, book: Any) -> None:
        write(folder, path, book)

    async def now(path: str) -> Any:
        return _nbformat.read(folder / path, _nbformat.NO_CONVERT)

    async with kernel_notebooks(folder) as notebooks:
        yield Answer(notebooks, folder, give, now, _nothing, runs=False)


@asynccontextmanager
async def _page(folder: Path) -> AsyncGenerator[Answer]:
    ours, theirs = make_link_pair()
    page = Page(theirs)

    async def refuse(method: str, _params: Any) -> Any:
        raise AssertionError(f"a page asks for nothing here, and asked for {method}")

    peer = Peer(ours, refuse, lambda _method, _params: None)

    async def give(path: str, book: Any) -> None:
        page.open[path] = node(json.loads(json.dumps(book)))

    async def now(path: str) -> Any:
        return page.open[path]

    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(peer.run())
        tasks.create_task(page.peer.run())
        try:
            yield Answer(LinkNotebooks(peer), folder, give, now, page.settled)
        finally:
            await page.settled()
            await page.close()
            await ours.close()


@asynccontextmanager
async def _shared(folder: Path) -> AsyncGenerator[Answer]:
    if importlib.util.find_spec(SHARING) is None:
        pytest.skip("jupyter-collaboration is not installed")
    from jupyter_eca.workspace.notebooks.shared_document import SharedNotebooks

    async with sharing_server(folder) as sharing:
        kernel = LocalKernel(folder)

        async def document(path: str, *, create: bool = False) -> Any:
            return await sharing.get_document(
                path=path, content_type="notebook", file_format="json", copy=False, create=create
            )

        async def give(path: str, book: Any) -> None:
            write(folder, path, book)
            assert await document(path, create=True) is not None

        async def now(path: str) -> Any:
            return node((await document(path)).get())

        files = NotebookFiles(Files((folder,)), kernel)
        try:
            yield Answer(SharedNotebooks(sharing, files, kernel), folder, give, now, _nothing)
        finally:
            await kernel.close()


@asynccontextmanager
async def sharing_server(folder: Path) -> AsyncGenerator[Any]:
    """The extension in a Jupyter server of this process, which listens nowhere."""
    from jupyter_server.serverapp import ServerApp

    ServerApp.clear_instance()
    own = folder / ".server"
    own.mkdir()
    app: Any = ServerApp.instance(root_dir=str(folder), allow_root=True, open_browser=False)
    app.jpserver_extensions = {SHARING: True, "jupyter_server_fileid": True}
    app.config.SQLiteYStore.db_path = str(own / "ystore.db")
    app.config.BaseFileIdManager.db_path = str(own / "ids.db")
    app.config.YDocExtension.session_store_path = str(own / "sessions.json")
    app.init_signal = _ignored  # its handlers are not ours to take
    app.initialize(argv=[], new_httpserver=False)
    (sharing,) = app.extension_manager.extension_apps[SHARING]
    try:
        with contextlib.chdir(own):  # where its store is, whatever it is configured to
            yield sharing
    finally:
        for name, room in list(sharing.ywebsocket_server.rooms.items()):
            with contextlib.suppress(Exception):
                await sharing.ywebsocket_server.delete_room(name=name)
            room._update_send_stream.close()  # which pycrdt leaves to the garbage collector, and that warns
        await app._cleanup()
        ServerApp.clear_instance()
