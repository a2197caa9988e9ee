"""The rows of the table: what one round of each measures of a peer.

A row gives a value for each of its columns (`Column`), or `Cannot`. What fails on the way is a `Cannot`, too, with the
error as its reason: so nothing is hidden, and the others go on.
"""

from __future__ import annotations

import asyncio
import json
import re
import time
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Final

from mcp import Client as McpClient

from tests.bench.peers.chat_pages import CHAT_PAGES, Seen, converse, started
from tests.bench.peers.clients import CLIENTS, kernel
from tests.bench.peers.home import PATIENCE, TOKEN, new_home, running
from tests.bench.peers.model_server import CLOCK, END, STREAM
from tests.bench.peers.peers import Cannot, McpServer

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from playwright.async_api import Browser, Response

    from tests.bench.peers.clients import Client
    from tests.bench.peers.environments import Environments
    from tests.bench.peers.home import Home, Server
    from tests.bench.peers.peers import Peer

Values = dict[str, float]

# After its first answer a server still starts what it does in the background.
SETTLE_SECONDS: Final = 4.0
MCP_CALLS: Final = 20


@dataclass(frozen=True)
class Column:
    """A figure of the table. Less is better in each of them."""

    name: str
    title: str
    unit: str


@dataclass(frozen=True)
class Tools:
    """What the rows share in a run."""

    environments: Environments
    browser: Browser
    model_url: str


@dataclass(frozen=True)
class Row:
    name: str
    columns: tuple[Column, ...]
    measure: Callable[[Peer, Tools], Awaitable[Values | Cannot]]


async def _install(peer: Peer, tools: Tools) -> Values | Cannot:
    if not peer.requirement and peer.name != "jupyter_eca":
        return Cannot("nothing to install beside JupyterLab")
    by_uv = await asyncio.to_thread(tools.environments.install, peer, "uv")
    by_pip = await asyncio.to_thread(tools.environments.install, peer, "pip")
    return {"packages": by_uv.packages, "mib": by_uv.mib, "uv": by_uv.seconds, "pip": by_pip.seconds}


async def _server(peer: Peer, tools: Tools) -> Values | Cannot:
    with new_home(peer, tools.environments.talk(peer), tools.model_url) as home, running(home) as server:
        await asyncio.sleep(SETTLE_SECONDS)
        return {"start": server.started, "memory": server.memory()}


# Nothing that only measuring needs may be imported, or grow, between the two looks.
_LOAD: Final = """
import gc, json, psutil, time
me = psutil.Process()
me.memory_info(); gc.collect()
before, began = me.memory_info().rss, time.perf_counter()
get_ipython().run_line_magic('load_ext', '{extension}')
took = time.perf_counter() - began
print(json.dumps(dict(load=took * 1000, load_mib=(me.memory_info().rss - before) / 2 ** 20)))
"""


async def _load(peer: Peer, tools: Tools) -> Values | Cannot:
    if isinstance(peer.cells, Cannot):
        return peer.cells
    with new_home(peer, tools.environments.talk(peer), tools.model_url) as home:
        async with kernel(home) as fresh:
            code = _LOAD.replace("{extension}", peer.cells.extension)
            frames = "".join([frame async for frame in fresh.run(code)])
    found = re.search(r'\{\\"load\\".*?\}', frames)
    assert found is not None, frames
    values: Values = json.loads(found[0].replace('\\"', '"'))
    return values


async def _client(peer: Peer, tools: Tools) -> Values | Cannot:
    if isinstance(peer.client, Cannot):
        return peer.client
    async with AsyncExitStack() as stack:
        home = stack.enter_context(new_home(peer, tools.environments.talk(peer), tools.model_url))
        server = stack.enter_context(running(home))
        client = await stack.enter_async_context(CLIENTS[peer.client](server))
        for question in (CLOCK, STREAM):  # what is only done once
            await _ask(client, question)
        first, _ = await _ask(client, CLOCK)
        _, whole = await _ask(client, STREAM)
    return {"first": first, "whole": whole}


async def _ask(client: Client, question: str) -> tuple[float, float]:
    """Return the milliseconds from the model's first words to the client, and from the question to the last word."""
    began, first, whole = time.time(), 0.0, 0.0
    async for frame in client.ask(question):
        if not first and (found := re.search(r"clock(\d+)clock", frame)):
            first = time.time() * 1000 - float(found[1])
        if not whole and END in frame:
            whole = (time.time() - began) * 1000
    assert whole, "the answer has no end"
    return first, whole


async def _mcp(peer: Peer, tools: Tools) -> Values | Cannot:
    """Milliseconds of one call, in a session that has done one."""
    if isinstance(peer.mcp, Cannot):
        return peer.mcp
    environment = tools.environments.talk(peer)
    with new_home(peer, environment, tools.model_url) as home, running(home, peer.mcp.options) as server:
        return {"mcp": await _calls(server, peer.mcp)}


async def _calls(server: Server, mcp: McpServer) -> float:
    import httpx2
    from mcp.client.streamable_http import streamable_http_client

    named = {"{port}": str(server.port), "{mcp_port}": str(server.mcp_port), "{root}": str(server.home.root)}

    def fill(text: str) -> str:
        for name, value in named.items():
            text = text.replace(name, value)
        return text

    headers = {"Authorization": f"token {TOKEN}"}
    async with httpx2.AsyncClient(headers=headers, timeout=PATIENCE) as http:
        transport = streamable_http_client(fill(mcp.url), http_client=http)
        async with McpClient(transport) as client:
            if mcp.before is not None:
                await client.call_tool(*mcp.before)
            arguments = json.loads(fill(json.dumps(mcp.arguments)))
            began = 0.0
            for number in range(MCP_CALLS + 1):
                if number == 1:
                    began = time.perf_counter()
                result = await client.call_tool(mcp.tool, arguments)
                assert not result.is_error, str(result.content)[:500]
            return (time.perf_counter() - began) * 1000 / MCP_CALLS


async def _page(peer: Peer, tools: Tools) -> Values | Cannot:
    if isinstance(peer.page, Cannot):
        return peer.page
    with new_home(peer, tools.environments.talk(peer), tools.model_url) as home, running(home) as server:
        page = await tools.browser.new_page()
        page.set_default_timeout(PATIENCE * 1000)
        try:
            await started(page, server)
            async with asyncio.timeout(PATIENCE):
                seen: list[Seen] = await converse(page, CHAT_PAGES[peer.page])
        finally:
            await page.close()
    return {"page_first": seen[-1].first, "page_whole": seen[-1].whole, "page_task": seen[-1].task}


async def _lab(peer: Peer, tools: Tools) -> Values | Cannot:
    if not peer.lab:
        return Cannot("it is no extension of JupyterLab, but has a page of its own")
    with new_home(peer, tools.environments.talk(peer), tools.model_url) as home, running(home) as server:
        await _start_of_lab(tools.browser, server)  # what the server does only once
        took, kib = await _start_of_lab(tools.browser, server)
        return {"lab": took, "js_start": kib, "js_all": _bytes_of_extensions(home) / 1024}


async def _start_of_lab(browser: Browser, server: Server) -> tuple[float, float]:
    """Return the milliseconds until Lab was there, and the KiB of JavaScript of extensions that came until then."""
    responses: list[Response] = []
    page = await browser.new_page()
    try:
        page.on("response", lambda response: responses.append(response))
        took = await started(page, server)
        scripts = [one for one in list(responses) if _is_script_of_extension(one.url)]
        return took, sum([len(await one.body()) for one in scripts]) / 1024
    finally:
        await page.close()


# What JupyterLab itself installs.
_LABS_OWN: Final = "jupyterlab_pygments"


def _is_script_of_extension(url: str) -> bool:
    path = url.partition("?")[0]
    return "/lab/extensions/" in path and path.endswith(".js") and _LABS_OWN not in path


def _bytes_of_extensions(home: Home) -> int:
    """Of all files that a page may load, with the maps left out."""
    folder = home.environment.folder / "share" / "jupyter" / "labextensions"
    files = [path for path in folder.rglob("*.js") if _LABS_OWN not in PurePosixPath(path.relative_to(folder)).parts]
    return sum(path.stat().st_size for path in files)


ROWS: Final = (
    Row(
        "install",
        (
            Column("packages", "packages added to JupyterLab", "packages"),
            Column("mib", "size added", "MiB"),
            Column("uv", "installed by uv, from files", "s"),
            Column("pip", "installed by pip, from files", "s"),
        ),
        _install,
    ),
    Row(
        "server",
        (
            Column("start", "server start", "s"),
            Column("memory", "memory of the idle server", "MiB"),
        ),
        _server,
    ),
    Row(
        "load",
        (
            Column("load", "`%load_ext`", "ms"),
            Column("load_mib", "memory that `%load_ext` adds", "MiB"),
        ),
        _load,
    ),
    Row(
        "client",
        (
            Column("first", "first words, model to client", "ms"),
            Column("whole", "2,000 pieces, question to client", "ms"),
        ),
        _client,
    ),
    Row("mcp", (Column("mcp", "a tool call over MCP", "ms"),), _mcp),
    Row(
        "page",
        (
            Column("page_first", "first words, model to page", "ms"),
            Column("page_whole", "2,000 pieces, question to page", "ms"),
            Column("page_task", "longest task of the page meanwhile", "ms"),
        ),
        _page,
    ),
    Row(
        "lab",
        (
            Column("lab", "start of JupyterLab in the browser", "ms"),
            Column("js_start", "JavaScript of extensions at that start", "KiB"),
            Column("js_all", "JavaScript of extensions in all", "KiB"),
        ),
        _lab,
    ),
)
