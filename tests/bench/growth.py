"""How the cost of work grows with its size: events, cells, clients, chats and servers.

The cost is the CPU time of this process, which has the host, the clients and the scripted model. It is fitted as
`cost = a * size ** exponent`. An exponent of 1 is proportional; above 1.05, large sizes cost too much. Of rounds of one
size the cheapest counts: the others were disturbed. `python -m tests.bench.growth` writes the table and the picture of
the documentation.
"""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass
from math import log
from pathlib import Path
from statistics import linear_regression
from tempfile import TemporaryDirectory
from time import process_time
from typing import TYPE_CHECKING, Any

from jupyter_eca.host.store import Store
from jupyter_eca.workspace.notebooks.file import NotebookFiles
from jupyter_eca.workspace.ports import Files
from tests.bench import plots
from tests.bench.figure import Figure, number
from tests.bench.machine import describe_run
from tests.bench.marked_pages import IMAGES, PERFORMANCE, write_marked
from tests.bench.stored_chats import fill, list_chats, make_events, open_chat
from tests.mcp_client.house import raw
from tests.support.host_and_client import answer, desk

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

MOST = 1.05
ROUNDS = 3
# Seconds that one desk may run, on a busy machine.
SECONDS = 600.0

_SPEECH: dict[str, Any] = {"text": "some words, " * 200, "chunk": 12}
_RULES: list[dict[str, Any]] = [{"message": "", "reply": [_SPEECH]}]
# As fast as models speak. Of an answer that comes at once, many pieces are stored and sent together.
_PACED: list[dict[str, Any]] = [{"message": "", "reply": [_SPEECH | {"delay": 0.005}]}]


@dataclass(frozen=True)
class Growth:
    """Work whose cost is measured for several sizes."""

    name: str
    sizes: Sequence[int]
    cost: Callable[[Path, int], Awaitable[float]]
    """Do the work once in an empty folder. Return its CPU seconds."""


@dataclass(frozen=True)
class Fit:
    """The least CPU seconds of each size, and the exponent of the curve through them."""

    growth: Growth
    costs: Sequence[float]

    @property
    def exponent(self) -> float:
        sizes = [log(size) for size in self.growth.sizes]
        return linear_regression(sizes, [log(cost) for cost in self.costs]).slope

    @property
    def pairs(self) -> list[tuple[int, float]]:
        return list(zip(self.growth.sizes, self.costs, strict=True))

    def as_text(self) -> str:
        return ", ".join(f"{size:,}: {number(cost * 1000)} ms" for size, cost in self.pairs)


async def figures() -> list[Figure]:
    # One round: with all rounds it takes four minutes.
    fits = [await _fit(growth, rounds=1) for growth in GROWTHS]
    return [Figure(f"exponent: {fit.growth.name}", [fit.exponent], "", MOST, fit.as_text()) for fit in fits]


async def _fit(growth: Growth, rounds: int = ROUNDS) -> Fit:
    return Fit(growth, [min([await _once(growth, size) for _ in range(rounds)]) for size in growth.sizes])


async def _once(growth: Growth, size: int) -> float:
    with TemporaryDirectory() as folder:
        return await growth.cost(Path(folder), size)


async def _store_events(folder: Path, events: int) -> float:
    """Each in a commit of its own, as they come while an answer streams."""
    store = Store(folder / "chats.db", str(folder), lambda _: None)
    await store.open()
    began = process_time()
    for event in make_events("chat", events // 4):
        store.append([event])
        await store.settle()
    cost = process_time() - began
    await store.close()
    return cost


async def _open_long_chat(folder: Path, events: int) -> float:
    await fill(folder, 0, events // 4)
    async with desk(folder, _RULES, seconds=SECONDS) as table:
        client = await table.client()
        await open_chat(client, "long")
        began = process_time()
        await open_chat(client, "long")
        return process_time() - began


async def _list_many_chats(folder: Path, chats: int, query: str = "") -> float:
    await fill(folder, chats, 0)
    async with desk(folder, _RULES, seconds=SECONDS) as table:
        client = await table.client()
        await list_chats(client, query)
        began = process_time()
        await list_chats(client, query)
        return process_time() - began


async def _search_many_chats(folder: Path, chats: int) -> float:
    return await _list_many_chats(folder, chats, "mean")


async def _read_notebook(folder: Path, cells: int) -> float:
    path = folder / "large.ipynb"
    path.write_text(json.dumps(make_notebook(cells)))
    notebooks = NotebookFiles(Files((folder,)))
    began = process_time()
    await notebooks.read(str(path))
    return process_time() - began


def make_notebook(cells: int, output: str = "1") -> dict[str, Any]:
    """Return a notebook of code cells with one output each."""
    outputs = [{"output_type": "stream", "name": "stdout", "text": output}]
    return {
        "cells": [
            {
                "cell_type": "code",
                "id": f"c{n}",
                "metadata": {},
                "execution_count": n,
                "source": f"value_{n} = {n}\nprint(value_{n})",
                "outputs": outputs,
            }
            for n in range(cells)
        ],
        "metadata": {"kernelspec": {"name": "python3", "display_name": "Python 3"}},
        "nbformat": 4,
        "nbformat_minor": 5,
    }


async def _show_to_clients(folder: Path, clients: int) -> float:
    async with desk(folder, _RULES, seconds=SECONDS) as table:
        first, *_ = [await table.client() for _ in range(clients)]
        await answer(first, "warm", chat="warm")
        began = process_time()
        await answer(first, "go", chat="chat")
        return process_time() - began


async def _stream_in_chats(folder: Path, chats: int) -> float:
    async with desk(folder, _PACED, seconds=SECONDS) as table:
        client = await table.client()
        await answer(client, "warm", chat="warm")
        began = process_time()
        await asyncio.gather(*(answer(client, "go", chat=f"chat-{n}") for n in range(chats)))
        return process_time() - began


async def _ask_with_servers(folder: Path, servers: int) -> float:
    """The CPU of our process only: the servers are processes of their own."""
    async with desk(
        folder, _RULES, seconds=SECONDS, mcpServers={f"s{n}": raw("works") for n in range(servers)}
    ) as table:
        client = await table.client()
        await table.host.mcp.await_started(SECONDS)
        await answer(client, "warm", chat="warm")
        began = process_time()
        await answer(client, "go", chat="chat")
        return process_time() - began


GROWTHS = (
    Growth("events that are stored one by one", (1_000, 4_000, 16_000, 64_000), _store_events),
    Growth("events of a chat that is opened", (1_000, 10_000, 100_000), _open_long_chat),
    Growth("chats that are listed", (10, 100, 1_000, 10_000), _list_many_chats),
    Growth("chats whose contents are searched", (10, 100, 1_000, 10_000), _search_many_chats),
    Growth("chats that stream at once", (1, 10, 100), _stream_in_chats),
    Growth("clients that see an answer", (1, 10, 50, 200), _show_to_clients),
    Growth("cells of a notebook that is read", (10, 100, 1_000, 10_000), _read_notebook),
    Growth("servers whose tools are sent", (1, 10, 50), _ask_with_servers),
)


def draw(fits: Sequence[Fit], file: Path) -> None:
    """A chart for each kind of work, with both axes logarithmic: a straight line has the exponent as its slope."""
    plt = plots.load_pyplot()
    across = 4
    picture, charts = plt.subplots(-(-len(fits) // across), across, figsize=(13, 5.4), layout="constrained")
    for chart, fit in zip(charts.flat, fits, strict=True):
        sizes, costs = zip(*fit.pairs, strict=True)
        chart.loglog(sizes, [cost * 1000 for cost in costs], "o-", color="#d9480f")
        proportional = [costs[0] * 1000 * size / sizes[0] for size in sizes]
        chart.loglog(sizes, proportional, ":", color="#adb5bd")
        chart.set_title(f"{fit.growth.name}\nexponent {fit.exponent:.2f}", fontsize=9)
        chart.set_ylabel("ms of CPU", fontsize=8)
        chart.tick_params(labelsize=7)
        chart.spines[["top", "right"]].set_visible(False)
    picture.suptitle("Dotted: in proportion to the size", fontsize=10)
    plots.save(picture, file)


async def _write() -> None:
    fits = [await _fit(growth) for growth in GROWTHS]
    draw(fits, IMAGES / "growth.png")
    lines = ["| work | exponent | CPU time by size |", "|---|--:|---|"]
    lines += [f"| {fit.growth.name} | {fit.exponent:.2f} | {fit.as_text()} |" for fit in fits]
    run = describe_run("python -m tests.bench.growth")
    picture = "![A chart for each kind of work: its CPU time against its size](../images/growth.png)"
    write_marked(PERFORMANCE, "growth", "\n\n".join([picture, run, "\n".join(lines)]))


if __name__ == "__main__":
    asyncio.run(_write())
