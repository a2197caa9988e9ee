"""What one user's server costs where there are thousands of them: memory and CPU of a server that nobody asks, of one
with a panel, and of one that has answered, and how soon a new server answers a panel."""

from __future__ import annotations

import asyncio
from pathlib import Path
from tempfile import TemporaryDirectory
from time import monotonic
from typing import TYPE_CHECKING, Any, Final

from tests.bench.figure import Figure, differences, list_of
from tests.bench.page import page
from tests.bench.processes import MIB, configure, cpu_by_thread, jupyter_server, loopback

if TYPE_CHECKING:
    import psutil

ROUNDS: Final = 3
SECONDS: Final = 5.0
# What a server still does after it has answered is over by then.
SETTLE: Final = 1.5

_RULES: list[dict[str, Any]] = [{"message": "", "reply": [{"text": "word " * 100, "chunk": 5}]}]


async def figures() -> list[Figure]:
    plain: list[float] = []
    idle: list[float] = []
    connected: list[float] = []
    answered: list[float] = []
    plain_used: list[float] = []
    used: list[float] = []
    used_connected: list[float] = []
    ready: list[float] = []
    ready_used: list[float] = []
    with TemporaryDirectory() as name, loopback(Path(name), _RULES) as url:
        with jupyter_server(Path(name)) as server:
            async with page(server.port) as client:
                await client.ask("hello")  # so everything is compiled
        for _ in range(ROUNDS):
            with TemporaryDirectory() as name:
                folder = Path(name)
                configure(folder, url)
                with jupyter_server(folder, extension=False) as server:
                    plain_used.append(await measure_minute_at_rest(server.process))
                    plain.append(_rss(server.process))
            with TemporaryDirectory() as name:
                folder = Path(name)
                configure(folder, url)
                with jupyter_server(folder) as server:
                    used.append(await measure_minute_at_rest(server.process))
                    idle.append(_rss(server.process))
                with jupyter_server(folder) as server:
                    began, before = monotonic(), server.cpu
                    async with page(server.port) as client:
                        ready.append(monotonic() - began)
                        ready_used.append(server.cpu - before)
                        used_connected.append(await measure_minute_at_rest(server.process))
                        connected.append(_rss(server.process))
                        await client.ask("hello")
                        await asyncio.sleep(SETTLE)
                        answered.append(_rss(server.process))
    without, minute = f"without us {list_of(plain, 'MiB')}", f"without us {list_of(plain_used, 's')}"
    return [
        Figure("a server that nobody asks: memory added", differences(idle, plain), "MiB", 2, without),
        Figure("the same, CPU added in a minute", differences(used, plain_used), "s", 0.01, minute),
        Figure("with a panel: memory added", differences(connected, plain), "MiB", 15, without),
        Figure("the same, CPU added in a minute", differences(used_connected, plain_used), "s", None, minute),
        Figure("after an answer of Anthropic: memory added", differences(answered, plain), "MiB", 60, without),
        Figure("a new server answers a panel", ready, "s", 2, "until the panel has its models"),
        Figure("the same, CPU", ready_used, "s", 2, "what it takes on an idle machine"),
    ]


def _rss(process: psutil.Process) -> float:
    return process.memory_info().rss / MIB


async def measure_minute_at_rest(process: psutil.Process) -> float:
    """Return the seconds of CPU that a server at rest uses in a minute."""
    await asyncio.sleep(SETTLE)
    before = cpu_by_thread(process)
    await asyncio.sleep(SECONDS)
    after = cpu_by_thread(process)  # without the threads that have ended, which had nothing to do
    return sum(seconds - before.get(thread, 0) for thread, seconds in after.items()) * 60 / SECONDS
