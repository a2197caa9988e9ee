"""CPU that is used when nothing happens, after something has."""

from __future__ import annotations

import asyncio
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from tests.bench.figure import Figure, differences, list_of
from tests.bench.page import page
from tests.bench.processes import configure, cpu, jupyter_server, kernel, loopback

if TYPE_CHECKING:
    import psutil

ROUNDS = 2
SECONDS = 5.0
# What ends with a turn, a server's log or a garbage collection, is over by then.
SETTLE = 1.0

_RULES: list[dict[str, Any]] = [{"message": "", "reply": [{"text": "word " * 100, "chunk": 5}]}]


async def figures() -> list[Figure]:
    found: dict[str, list[float]] = {"server": [], "plain server": [], "kernel": [], "plain kernel": []}
    for _ in range(ROUNDS):
        with TemporaryDirectory() as name:
            folder = Path(name)
            with loopback(folder, _RULES) as url:
                configure(folder, url)
                found["server"].append(await _server(folder))
                found["plain server"].append(await _plain_server(folder))
                found["kernel"].append(await _kernel(folder, "%load_ext jupyter_eca", "%eca hello"))
                found["plain kernel"].append(await _kernel(folder, "print('hello')"))
    return [_figure("server with an idle page", found["server"], found["plain server"]),
            _figure("kernel with an engine in it", found["kernel"], found["plain kernel"])]  # fmt: skip


def _figure(name: str, ours: list[float], theirs: list[float]) -> Figure:
    beside = f"{list_of(ours, 'ms')}, without us {list_of(theirs, 'ms')}"
    # psutil counts in hundredths of a second: one tick is no work.
    return Figure(f"CPU in {SECONDS:g} s, {name}", differences(ours, theirs), "ms", 10, beside)


async def _server(folder: Path) -> float:
    with jupyter_server(folder) as server:
        async with page(server.port) as client:
            await client.ask("hello")
            return await _used(server.process)


async def _plain_server(folder: Path) -> float:
    with jupyter_server(folder, extension=False) as server:
        return await _used(server.process)


async def _kernel(folder: Path, *cells: str) -> float:
    async with kernel(folder) as running:
        for cell in cells:
            await running.run(cell)
        return await _used(running.process)


async def _used(process: psutil.Process) -> float:
    await asyncio.sleep(SETTLE)
    before = cpu(process)
    await asyncio.sleep(SECONDS)
    return (cpu(process) - before) * 1000
