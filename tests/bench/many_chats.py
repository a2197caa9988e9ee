"""A hundred chats that stream at once, each with a tool call in its turn, in one server of its own process.

`delay` of the scripted model is a few milliseconds, as models speak: so the chats do not end one after the other.
"""

from __future__ import annotations

import asyncio
import json
from itertools import count
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import TYPE_CHECKING, Any

from tests.bench.figure import Figure, list_of
from tests.bench.page import page
from tests.bench.processes import cpu, jupyter_server

if TYPE_CHECKING:
    from tests.bench.page import Page
    from tests.bench.processes import JupyterServer

CHATS = 100
PIECES = 200
PIECE = "some words, "
# A fast model: 40 pieces a second and chat.
PACE_SECONDS = 0.025
# Between two requests that need no model.
ASKED_EVERY_SECONDS = 0.05
ROUNDS_ALONE = 5
IDLE_SECONDS = 3


class Crowd:
    """One page with many chats. It parses a frame only if the frame ends a turn or answers a request."""

    def __init__(self, client: Page) -> None:
        self._client = client
        self._numbers = count()
        self._waiting: dict[str, asyncio.Future[None]] = {}

    async def listen(self) -> None:
        while True:
            frame = await self._client.receive()
            if b'"state":"finished"' in frame:
                self._waiting.pop(json.loads(frame)["params"]["chatId"]).set_result(None)
            elif b'"result"' in frame and (waiting := self._waiting.pop(str(json.loads(frame).get("id")), None)):
                waiting.set_result(None)

    async def ask(self, chat: str) -> float:
        """Return the seconds of a turn."""
        began = perf_counter()
        done = self._waiting[chat] = asyncio.get_running_loop().create_future()
        await self._client.send("chat/prompt", {"chatId": chat, "message": "go"}, id=f"prompt {chat}")
        await done
        return perf_counter() - began

    async def ask_without_model(self) -> float:
        """Return the milliseconds of a request for the list of commands."""
        began = perf_counter()
        id = f"request {next(self._numbers)}"
        done = self._waiting[id] = asyncio.get_running_loop().create_future()
        await self._client.send("chat/queryCommands", {"chatId": "warm", "query": ""}, id=id)
        await done
        return (perf_counter() - began) * 1000


async def figures() -> list[Figure]:
    with TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "read.txt").write_text("a line\n" * 20)
        _configure(folder)
        with jupyter_server(folder) as server:
            async with page(server.port) as client, asyncio.TaskGroup() as tasks:
                crowd = Crowd(client)
                listening = tasks.create_task(crowd.listen())
                await crowd.ask("warm")
                alone = [await _cost(server, crowd, [f"alone-{number}"]) for number in range(ROUNDS_ALONE)]
                idle = await _ask_without_model(crowd, asyncio.create_task(asyncio.sleep(IDLE_SECONDS)))
                running = asyncio.create_task(_cost(server, crowd, [f"many-{number}" for number in range(CHATS)]))
                busy = await _ask_without_model(crowd, running)
                many_cpu, took = await running
                listening.cancel()
                rss = server.rss
    one_cpu = median(each for each, _ in alone)
    fastest, middle, slowest = min(took), median(took), max(took)
    each = f"{many_cpu / CHATS / PIECES * 1e6:.0f} us a piece, alone {one_cpu / PIECES * 1e6:.0f} us"
    late = sorted(busy)[int(len(busy) * 0.99)]
    spread = f"{fastest:.1f} to {slowest:.1f} s, median {middle:.1f} s"
    return [
        Figure(f"{CHATS} chats at once: CPU of a piece", [many_cpu / CHATS / one_cpu], "x", 1.5, each),
        Figure("the same: a request that needs no model", busy, "ms", None, f"idle {list_of(idle, 'ms')}"),
        Figure("the same: the slowest in a hundred", [late], "ms", 20, f"{len(busy)} requests, {rss:.0f} MiB"),
        Figure("the same: the slowest chat beside the median", [slowest / middle], "x", 2, spread),
    ]


def _configure(folder: Path) -> None:
    """Write the configuration of a user whose model reads a file and then says many words."""
    speech = {"text": PIECE * PIECES, "chunk": len(PIECE), "delay": PACE_SECONDS}
    rules: list[dict[str, Any]] = [
        {"result": "", "reply": [speech]},
        {"message": "", "reply": [{"tool": "read_file", "arguments": {"path": "read.txt"}}]},
    ]
    (folder / "script.json").write_text(json.dumps({"rules": rules}))
    eca = {
        "providers": {"scripted": {"models": {"many": {"script": str(folder / "script.json")}}}},
        "defaultModel": "scripted/many",
    }
    file = folder / "config" / "eca" / "config.json"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(eca))


async def _cost(server: JupyterServer, crowd: Crowd, chats: list[str]) -> tuple[float, list[float]]:
    """Run a turn in each of these chats at once. Return the CPU seconds of the server, and the seconds of each turn."""
    before = cpu(server.process)
    took = await asyncio.gather(*(crowd.ask(chat) for chat in chats))
    return cpu(server.process) - before, took


async def _ask_without_model(crowd: Crowd, until: asyncio.Task[Any]) -> list[float]:
    """Send requests until the task is done. Return the milliseconds of each answer."""
    taken: list[float] = []
    while not until.done():
        taken.append(await crowd.ask_without_model())
        await asyncio.wait([until], timeout=ASKED_EVERY_SECONDS)
    return taken
