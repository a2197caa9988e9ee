"""What the assistant costs in a user's server on a real JupyterHub, and how soon a new one answers a panel."""

from __future__ import annotations

import asyncio
from pathlib import Path
from tempfile import TemporaryDirectory
from time import monotonic
from typing import TYPE_CHECKING, Final

from tests.apps.hub.gateway_parts import install_proxy
from tests.bench.figure import Figure, differences, list_of
from tests.bench.footprint import measure_minute_at_rest
from tests.bench.page import page_at
from tests.bench.processes import MIB, configuration, cpu, loopback
from tests.e2e.browser.hub import USER, running_hub
from tests.e2e.browser.oldest_lab import build_environment

if TYPE_CHECKING:
    from contextlib import AbstractAsyncContextManager

    from tests.bench.page import Page
    from tests.e2e.browser.hub import Hub

ROUNDS: Final = 2
PACKAGES: Final = ("jupyterhub>=5,<6", "jupyterlab>=4.6,<5")

# The next server is started with the assistant, or without it.
_SWITCH: Final = """
def switch(spawner):
    chosen = (folder / "with").exists()
    spawner.args = [*c.Spawner.args[:2], f"--ServerApp.jpserver_extensions={{'jupyter_eca': {chosen}}}"]

c.Spawner.pre_spawn_hook = switch
"""


async def figures() -> list[Figure]:
    plain: list[float] = []
    idle: list[float] = []
    connected: list[float] = []
    plain_used: list[float] = []
    used: list[float] = []
    spawned: list[float] = []
    ready: list[float] = []
    ready_used: list[float] = []
    with TemporaryDirectory() as name, loopback(Path(name), []) as url:
        python, proxy = build_environment(Path(name) / "venv", *PACKAGES), install_proxy(Path(name) / "proxy")
        folder = Path(name) / "hub"
        folder.mkdir()
        with running_hub(python, proxy, folder, configuration(url), more=_SWITCH) as hub:
            await _start(hub, chosen=True)  # so everything is compiled
            async with _page(hub):
                pass
            for _ in range(ROUNDS):
                await _start(hub, chosen=False)
                plain_used.append(await measure_minute_at_rest(hub.find_server()))
                plain.append(hub.find_server().memory_info().rss / MIB)
                spawned.append(await _start(hub, chosen=True))
                server = hub.find_server()
                used.append(await measure_minute_at_rest(server))
                idle.append(server.memory_info().rss / MIB)
                await _start(hub, chosen=True)
                server = hub.find_server()
                began, before = monotonic(), cpu(server)
                async with _page(hub):
                    ready.append(monotonic() - began)
                    ready_used.append(cpu(server) - before)
                    await measure_minute_at_rest(server)
                    connected.append(server.memory_info().rss / MIB)
    without, minute = f"without us {list_of(plain, 'MiB')}", f"without us {list_of(plain_used, 's')}"
    return [
        Figure("a server of a Hub that nobody asks: memory added", differences(idle, plain), "MiB", 2, without),
        Figure("the same, CPU added in a minute", differences(used, plain_used), "s", 0.01, minute),
        Figure("with a panel: memory added", differences(connected, plain), "MiB", 15, without),
        Figure("the Hub has started a server", spawned, "s", None, "its own time, and that of Jupyter"),
        Figure("a new server answers a panel", ready, "s", 2, "through the proxy, until the panel has its models"),
        Figure("the same, CPU", ready_used, "s", 2, "what it takes on an idle machine"),
    ]


async def _start(hub: Hub, *, chosen: bool) -> float:
    """Start the server of the user anew. Return the seconds until the Hub says that it is ready."""
    switch = hub.folder / "with"
    if chosen:
        switch.touch()
    else:
        switch.unlink(missing_ok=True)
    if await asyncio.to_thread(hub.is_running):
        await asyncio.to_thread(hub.stop_server)
    began = monotonic()
    await asyncio.to_thread(hub.start_server)
    return monotonic() - began


def _page(hub: Hub) -> AbstractAsyncContextManager[Page]:
    address = f"{hub.url.replace('http', 'ws', 1)}user/{USER}/eca/ws"
    return page_at(address, Authorization=f"token {hub.make_token(USER)}")
