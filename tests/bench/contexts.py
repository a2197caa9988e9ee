"""A workspace of 200,000 files: what is offered while somebody types, also while an answer streams; `grep`, and a tree;
and a disk that needs 5 ms for each folder and file, as a network drive does."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter, sleep
from typing import TYPE_CHECKING, Any

import psutil
import pytest

from jupyter_eca.plugins.tools.base import ToolContext
from jupyter_eca.plugins.tools.files import read_file
from jupyter_eca.plugins.tools.search import grep
from jupyter_eca.plugins.tools.tree import directory_tree
from jupyter_eca.protocol.context import ChatQueryContextParams, ChatQueryContextResult
from jupyter_eca.workspace.ports import Files
from tests.bench.figure import Figure, list_of, ratios
from tests.bench.processes import MIB
from tests.support.host_and_client import desk

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from jupyter_eca.transport.eca_client import EcaClient

FOLDERS, FILES = 2_000, 100

# As it is typed: what fits everything, a lot, one file, and nothing at all.
TYPED = ("", "f", "fi", "fil", "file", "file_42_4", "file_42_433.py", "mod_7/inner/", "fmodi", "xyzzy", "eeeeeeeeeeee")
ROUNDS = 10
# After the first query the folders are still being looked at.
LOOKED_S = 3.0
TOOL_ROUNDS = 7
# It is in no file, so that each of them is searched to its end.
PATTERN = "nowhere_[0-9]+"
DISK_SECONDS = 0.005

# An answer that goes on for as long as is measured, as fast as models speak.
_RULES: list[dict[str, Any]] = [{"message": "", "reply": [{"text": " word" * 20_000, "chunk": 5, "delay": 0.004}]}]


async def figures() -> list[Figure]:
    with TemporaryDirectory() as name:
        folder = Path(name)
        await asyncio.to_thread(_fill, folder)
        return [*await _typing(folder), *await _tools(folder), await _slow_disk(folder)]


async def _typing(folder: Path) -> list[Figure]:
    process = psutil.Process()
    async with desk(folder, _RULES) as table:
        client = await table.client()
        before = process.memory_info().rss / MIB
        began = perf_counter()
        await _ask(client, "")
        first = perf_counter() - began
        await asyncio.sleep(LOOKED_S)
        idle = [await _ask(client, query) for _ in range(ROUNDS) for query in TYPED]
        async for _ in client.ask("chat", "speak"):
            break
        streaming = [await _ask(client, query) for _ in range(ROUNDS) for query in TYPED]
        if not table.host.chats.get_live("chat"):
            raise RuntimeError("the answer ended before the measuring did")
        await client.stop("chat")
        memory = process.memory_info().rss / MIB - before
    most = f"slowest {max(streaming):.3g} ms; idle {list_of(idle, 'ms')}, slowest {max(idle):.3g} ms"
    files = f"{FOLDERS * FILES:,} files, {len(TYPED)} queries"
    return [
        Figure("`chat/queryContext` while an answer streams", streaming, "ms", 20, most),
        Figure("the same, the slowest in a hundred", [_late(streaming)], "ms", 10, files),
        Figure("the first, with the look at the folders", [first * 1000], "ms", 150, files),
        Figure("memory that the names of these files take", [memory], "MiB", 60, files),
    ]


async def _tools(folder: Path) -> list[Figure]:
    """`grep` beside ripgrep itself, in turns, and the tree of the whole workspace."""
    context = ToolContext(chat="c", files=Files((folder,)))
    ours: list[float] = []
    theirs: list[float] = []
    trees: list[float] = []
    for _ in range(TOOL_ROUNDS):
        theirs.append(await _timed(_ripgrep(folder)))
        ours.append(await _timed(grep.run(context, {"pattern": PATTERN})))
        trees.append(await _timed(directory_tree.run(context, {})))
    beside = f"{list_of(ours, 'ms')}, ripgrep {list_of(theirs, 'ms')}"
    return [
        Figure(f"`grep` in {FOLDERS * FILES:,} files", ratios(ours, theirs), "x", 1.1, beside),
        Figure("`directory_tree` of them", trees, "ms", None, ""),
    ]


async def _ripgrep(folder: Path) -> None:
    process = await asyncio.create_subprocess_exec(
        "rg", "--line-number", PATTERN, ".", cwd=folder, stdout=asyncio.subprocess.DEVNULL
    )
    await process.wait()


async def _slow_disk(folder: Path) -> Figure:
    """How long the event loop stands still while names, a file and a tree are read from such a disk."""
    scandir, stat = os.scandir, os.stat

    def slowly(work: Callable[..., Any]) -> Callable[..., Any]:
        def slow(path: Any, *arguments: Any, **named: Any) -> Any:
            if str(path).startswith(str(folder)):
                sleep(DISK_SECONDS)
            return work(path, *arguments, **named)

        return slow

    context = ToolContext(chat="c", files=Files((folder,)))
    inner = "pkg1/mod_1/inner"
    with pytest.MonkeyPatch.context() as patch:
        async with desk(folder, _RULES) as table:
            client = await table.client()
            patch.setattr(os, "scandir", slowly(scandir))
            patch.setattr(os, "stat", slowly(stat))
            stops: list[float] = []
            watching = asyncio.create_task(_watch_loop(stops))
            await _ask(client, "file")
            await directory_tree.run(context, {"path": inner})
            await read_file.run(context, {"path": f"{inner}/file_1_1.py"})
            watching.cancel()
            patch.undo()
    return Figure("a disk of 5 ms: the event loop stands still", [max(stops)], "ms", 20, "names, a tree, a file")


async def _watch_loop(stops: list[float]) -> None:
    """Note by how many milliseconds the loop wakes this too late."""
    while True:
        began = perf_counter()
        await asyncio.sleep(0.001)
        stops.append((perf_counter() - began - 0.001) * 1000)


def _fill(folder: Path) -> None:
    for number in range(FOLDERS):
        inner = folder / f"pkg{number % 25}" / f"mod_{number}" / "inner"
        inner.mkdir(parents=True)
        for file in range(FILES):
            (inner / f"file_{file}_{number}.py").write_text(f"needle_{number} = {file}\n" if not file else "")


async def _timed(work: Awaitable[object]) -> float:
    began = perf_counter()
    await work
    return (perf_counter() - began) * 1000


async def _ask(client: EcaClient, query: str) -> float:
    """Milliseconds, over the link. As fast as people type, so that the folders are looked at in between."""
    await asyncio.sleep(0.03)
    began = perf_counter()
    await client.request("chat/queryContext", ChatQueryContextParams(query=query), ChatQueryContextResult)
    return (perf_counter() - began) * 1000


def _late(values: Sequence[float]) -> float:
    return sorted(values)[len(values) * 99 // 100]
