"""The live model of a notebook that is open in JupyterLab, held to the contract of every answer to
`workspace.base.Notebooks`: the tests are those of `tests/workspace/notebooks`, the page is a real one."""

from __future__ import annotations

import asyncio
import json
import shutil
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import pytest
import pytest_asyncio
from playwright.async_api import async_playwright

from jupyter_eca.errors import RemoteError
from jupyter_eca.fronts.eca.client_ports import LinkNotebooks
from jupyter_eca.protocol.chats import ChatListResult
from jupyter_eca.protocol.jsonrpc import ErrorCode
from jupyter_eca.protocol.lifecycle import InitializeResult
from jupyter_eca.transport.peer import Peer
from jupyter_eca.transport.websocket import WebSocketLink
from tests.e2e.browser.conftest import CHROMIUM_OPTIONS
from tests.workspace.notebooks.answers import Answer, write
from tests.workspace.notebooks.books import node
from tests.workspace.notebooks.contract import *  # noqa: F403  # the tests, and what comes with them

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from playwright.async_api import Page, WebSocketRoute

    from tests.e2e.browser.lab import Lab

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="module")]

# Lab is loaded and a kernel starts within it on a busy machine. Each wait ends as soon as what it waits for is there.
SECONDS = 60

# What the panel asks for when it connects; it has no chats.
REPLIES = {"initialize": InitializeResult().as_json_object(), "chat/list": ChatListResult(chats=()).as_json_object()}

# One kernel serves all notebooks, as a kernel of its own for each would take longer than what is tested.
START = """async () => {
  const { serviceManager, commands, restored } = window.jupyterapp;
  await restored;
  window.shared = (await serviceManager.kernels.startNew({ name: 'python3' })).model;
  // It ends when the panel is connected, and this is who answers the panel.
  void commands.execute('eca:open-panel');
}"""

# Only one at a time: a test is not to wait for what Lab does in those of the tests before it.
OPEN = """async path => {
  const { commands } = window.jupyterapp;
  window.book?.dispose();
  window.book = await commands.execute('docmanager:open', { path, kernel: window.shared });
  await window.book.context.ready;
  await window.book.sessionContext.ready;
}"""
# Lab writes into a notebook what its kernel says of itself: what is changed after that a test has changed.
OPENED = """() => {
  const { language_info, kernelspec } = window.book.context.model.sharedModel.metadata;
  return language_info?.version !== undefined && kernelspec?.display_name === 'Python 3 (ipykernel)';
}"""

# As it would be saved: without what is undefined, of which playwright would make a null.
NOW = "() => JSON.stringify(window.book.context.model)"

SETTLED = """() => {
  const { content, sessionContext } = window.book;
  return sessionContext.session?.kernel?.status === 'idle' &&
    content.widgets.every(({ model }) => model.executionState !== 'running');
}"""


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def at(lab: Lab) -> AsyncGenerator[Answer]:
    async with _lab_page() as page, _greeted(page, lab) as peer:

        async def give(path: str, book: Any) -> None:
            write(lab.root, path, book)
            await page.evaluate(OPEN, path)
            await page.wait_for_function(OPENED, timeout=SECONDS * 1000)

        async def now(_path: str) -> Any:
            return node(json.loads(await page.evaluate(NOW)))

        async def settled() -> None:
            await page.wait_for_function(SETTLED, timeout=SECONDS * 1000)

        yield Answer(LinkNotebooks(peer), lab.root, give, now, settled)


@asynccontextmanager
async def _lab_page() -> AsyncGenerator[Page]:
    async with async_playwright() as playwright:
        chromium = playwright.chromium
        browser = await chromium.launch(executable_path=shutil.which("chromium"), args=CHROMIUM_OPTIONS)
        yield await browser.new_page()
        await browser.close()


@asynccontextmanager
async def _greeted(page: Page, lab: Lab) -> AsyncGenerator[Peer]:
    """What stands where the page's server would be, once the page has said that it is there."""
    linked = asyncio.get_running_loop().create_future()

    async def connected(route: WebSocketRoute) -> None:
        async def write(text: str) -> None:
            route.send(text)

        link = WebSocketLink(write, lambda _: None)
        route.on_message(link.receive)
        linked.set_result(link)

    await page.route_web_socket("**/eca/ws*", connected)
    await page.goto(lab.address(""))
    await page.wait_for_function(
        "() => window.jupyterapp?.commands?.hasCommand('eca:open-panel')", timeout=SECONDS * 1000
    )
    await page.evaluate(START)
    greeted = asyncio.Event()
    link = await asyncio.wait_for(linked, SECONDS)
    peer = Peer(link, _answer, lambda method, _: greeted.set() if method == "initialized" else None)
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(peer.run())
        try:
            await asyncio.wait_for(greeted.wait(), SECONDS)
            yield peer
        finally:
            await link.close()


async def _answer(method: str, _params: Any) -> Any:
    if method not in REPLIES:
        raise RemoteError(f"{method} is not answered here", ErrorCode.METHOD_NOT_FOUND)
    return REPLIES[method]
