"""What is offered while somebody types, in a workspace of 50,000 files, while an answer streams."""

from __future__ import annotations

import asyncio
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import TYPE_CHECKING, Any

from jupyter_eca.protocol.context import ChatQueryContextParams, ChatQueryContextResult
from tests.bench.figure import Figure, list_of
from tests.support.host_and_client import desk

if TYPE_CHECKING:
    from collections.abc import Sequence

    from jupyter_eca.transport.eca_client import EcaClient

FOLDERS, FILES = 500, 100

# As it is typed: what fits everything, a lot, one file, and nothing at all.
TYPED = ("", "f", "fi", "fil", "file", "file_42_4", "file_42_433.py", "mod_7/inner/", "fmodi", "xyzzy", "eeeeeeeeeeee")
ROUNDS = 10
# After the first query the folders are still being looked at.
LOOKED_S = 3.0

# An answer that goes on for as long as is measured, as fast as models speak.
_RULES: list[dict[str, Any]] = [{"message": "", "reply": [{"text": " word" * 20_000, "chunk": 5, "delay": 0.004}]}]


async def figures() -> list[Figure]:
    with TemporaryDirectory() as name:
        folder = Path(name)
        await asyncio.to_thread(_fill, folder)
        async with desk(folder, _RULES) as table:
            client = await table.client()
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
    most = f"slowest {max(streaming):.3g} ms; idle {list_of(idle, 'ms')}, slowest {max(idle):.3g} ms"
    files = f"{FOLDERS * FILES} files, {len(TYPED)} queries"
    return [
        Figure("`chat/queryContext` while an answer streams", streaming, "ms", 20, most),
        Figure("the same, the slowest in a hundred", [_late(streaming)], "ms", 20, files),
        Figure("the first, with the look at the folders", [first * 1000], "ms", None, files),
    ]


def _fill(folder: Path) -> None:
    for number in range(FOLDERS):
        inner = folder / f"pkg{number % 25}" / f"mod_{number}" / "inner"
        inner.mkdir(parents=True)
        for file in range(FILES):
            (inner / f"file_{file}_{number}.py").touch()


async def _ask(client: EcaClient, query: str) -> float:
    """Milliseconds, over the link. As fast as people type, so that the folders are looked at in between."""
    await asyncio.sleep(0.03)
    began = perf_counter()
    await client.request("chat/queryContext", ChatQueryContextParams(query=query), ChatQueryContextResult)
    return (perf_counter() - began) * 1000


def _late(values: Sequence[float]) -> float:
    return sorted(values)[len(values) * 99 // 100]
