"""What telling how far a cell is costs that prints 100,000 lines, in a real kernel; beside the same cell unwatched."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from tempfile import TemporaryDirectory
from time import process_time
from typing import TYPE_CHECKING

from jupyter_eca.host.tools.progress import Reporter
from jupyter_eca.plugins.tools.waited_code import REPORT_SECONDS, RunWatch
from jupyter_eca.workspace.kernels.local import LocalKernel
from jupyter_eca.workspace.kernels.tail import Tail
from tests.bench.figure import Figure, list_of, ratios

if TYPE_CHECKING:
    from jupyter_eca.host.subscribers import Notice
    from jupyter_eca.workspace.ports import RunObserver

LINES, ROUNDS = 100_000, 5

CODE = f"for n in range({LINES}):\n    print('line', n)"


async def figures() -> list[Figure]:
    with TemporaryDirectory() as name:
        os.environ["IPYTHONDIR"] = name
        kernel = LocalKernel(Path(name))
        try:
            await kernel.execute("chat", "1")
            plain: list[float] = []
            watched: list[float] = []
            notices: list[Notice] = []
            for _ in range(ROUNDS):
                plain.append(await _run(kernel, None))
                notices.clear()
                watched.append(await _watched(kernel, notices))
        finally:
            await kernel.close()
    size = sum(len(str(notice.params.as_json_object())) for notice in notices)
    said = f"{len(notices)} notices of {size / 1000:.0f} kB in all; unwatched {list_of(plain, 's')} of CPU"
    return [
        Figure(f"a cell that prints {LINES} lines, watched", ratios(watched, plain), "x", 1.5, said),
        Figure(f"the end of {LINES} messages of a line each", [_tail() for _ in range(ROUNDS)], "ms", None, ""),
    ]


def _tail() -> float:
    tail, began = Tail(), process_time()
    for n in range(LINES):
        tail.add_message({"header": {"msg_type": "stream"}, "content": {"name": "stdout", "text": f"line {n}\n"}})
    return (process_time() - began) * 1000


async def _run(kernel: LocalKernel, heard: RunObserver | None) -> float:
    """Seconds of this process; the kernel's own are the same."""
    began = process_time()
    await kernel.execute("chat", CODE, heard)
    return process_time() - began


async def _watched(kernel: LocalKernel, notices: list[Notice]) -> float:
    reporter, watch = Reporter(notices.append, "chat", "call"), RunWatch()

    async def report() -> None:
        while True:
            await asyncio.sleep(REPORT_SECONDS)
            reporter.report(watch.report(background=True))

    reporting = asyncio.ensure_future(report())
    try:
        return await _run(kernel, watch)
    finally:
        reporting.cancel()
        reporter.end()
