"""What our manager adds to a call of a tool server, beside the SDK's own client at that server; and many at once, calls
as well as servers."""

from __future__ import annotations

import asyncio
import sys
import tempfile
import time
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psutil
from mcp import Client, StdioServerParameters

from jupyter_eca.plugins.tools.base import ToolContext
from jupyter_eca.workspace.ports import Files
from tests.bench.figure import Figure, differences, list_of
from tests.bench.processes import MIB
from tests.mcp_client.house import house, puppet, raw
from tests.mcp_client.test_known_lists import gated, open_gate
from tests.support.host_and_client import answer, desk

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from tests.mcp_client.house import House

ROUNDS = 20
CALLS = 25
SERVERS = 10
AT_ONCE = 1_000
# Seconds.
FOR_ALL = 60.0
MANY = 50
SLOW = 10
DEAD = 5
PROMPTS = 3


async def figures() -> list[Figure]:
    with tempfile.TemporaryDirectory() as folder:
        mixed = await _slow_and_dead(Path(folder))
        return [*await _overhead(Path(folder)), await _crowd(Path(folder)), *await _many(Path(folder)), mixed]


async def _overhead(folder: Path) -> list[Figure]:
    """Rounds of one call after the other, ours and theirs in turns."""
    found: list[Figure] = []
    for era in ("legacy", "modern"):
        settings = puppet(era)
        parameters = StdioServerParameters(command=settings["command"], args=settings["args"])
        async with house(folder, {"puppet": settings}) as at, Client(parameters, mode="auto") as client:
            await at.running("puppet")
            await client.list_tools()
            tool, context = at.tool("puppet__do"), ToolContext("chat", Files((folder,)))

            async def theirs(client: Client = client) -> None:
                await client.call_tool("do", {})

            async def ours(run: Callable[..., Awaitable[Any]] = tool.run, context: ToolContext = context) -> None:
                await run(context, {})

            took: dict[str, list[float]] = {"ours": [], "theirs": []}
            for number in range(ROUNDS + 1):
                for name, call in (("theirs", theirs), ("ours", ours)):
                    spent = await _round(call)
                    if number:  # the first is for what is only done once
                        took[name].append(spent)
            beside = f"ours {list_of(took['ours'], 'ms')}, the SDK {list_of(took['theirs'], 'ms')}"
            added = differences(took["ours"], took["theirs"])
            found.append(Figure(f"a tool call through the manager, {era} server", added, "ms", 1.0, beside))
    return found


async def _round(call: Callable[[], Awaitable[None]]) -> float:
    """Milliseconds per call."""
    began = time.perf_counter()
    for _ in range(CALLS):
        await call()
    return (time.perf_counter() - began) * 1000 / CALLS


async def _crowd(folder: Path) -> Figure:
    """Lost are those that have not come back right within a minute."""
    async with house(folder, {f"s{number}": puppet("legacy") for number in range(SERVERS)}) as at:
        for number in range(SERVERS):
            await at.running(f"s{number}")
        began = time.perf_counter()
        calls = [_one(at, folder, f"s{number % SERVERS}__do", number) for number in range(AT_ONCE)]
        right = sum(await asyncio.gather(*calls))
        took = time.perf_counter() - began
    beside = f"{AT_ONCE} at once on {SERVERS} servers took {took:.2g} s"
    return Figure("tool calls lost", [AT_ONCE - right], "calls", 0, beside)


async def _one(at: House, folder: Path, name: str, number: int) -> bool:
    context = ToolContext("chat", Files((folder,)), str(number))
    async with asyncio.timeout(FOR_ALL):
        return (await at.tool(name).run(context, {"echo": str(number)})).text == str(number)


async def _many(folder: Path) -> list[Figure]:
    """What many servers cost: a prompt while they start, which does not wait for them, and prompts with their tools."""
    alone, _, _ = await _prompts(folder, 0)
    starting, running, added = await _prompts(folder, MANY)
    without = f"without servers {list_of(alone[1:], 'ms')}, the first {alone[0]:.3g} ms"
    return [
        Figure(f"the first prompt while {MANY} servers start", starting[:1], "ms", None, without),
        Figure(f"a prompt with the tools of {MANY} servers", running, "ms", None, without),
        Figure(f"memory that {MANY} servers add to ours", [added], "MiB", 16, ""),
    ]


async def _prompts(folder: Path, servers: int) -> tuple[list[float], list[float], float]:
    """Milliseconds of prompts from the start on and of prompts when all servers run, and MiB that were added."""
    named = {f"s{number}": raw("works") for number in range(servers)}
    async with desk(folder, [{"reply": [{"text": "Hello."}]}], mcpServers=named) as table:
        client = await table.client()
        chats = count()
        before = psutil.Process().memory_info().rss / MIB

        async def took() -> float:
            began = time.perf_counter()
            await answer(client, "hello", chat=f"{servers} {next(chats)}")
            return (time.perf_counter() - began) * 1000

        from_start = [await took() for _ in range(PROMPTS)]
        await table.host.mcp.await_started(FOR_ALL)
        running = [await took() for _ in range(PROMPTS)]
        tools = sum(name.endswith("__work") for name in table.host.toolbox.get_tools())
        assert tools == servers, f"{tools} tools of {servers} servers"
        return from_start, running, psutil.Process().memory_info().rss / MIB - before


async def _slow_and_dead(folder: Path) -> Figure:
    """The first prompt of a host whose servers ran before. Some are slow to start now, and some end at once."""
    gates = [folder / f"gate{number}" for number in range(SLOW)]
    named = {f"s{number}": gated(gate) for number, gate in enumerate(gates)}
    named |= {
        f"d{number}": {"command": sys.executable, "args": ["-c", "raise SystemExit(1)"]} for number in range(DEAD)
    }
    named |= {f"w{number}": raw("works") for number in range(MANY - SLOW - DEAD)}
    for gate in gates:
        open_gate(gate)
    _, known = await _first_prompt(folder, named, wait=True)  # so that their tools are kept
    assert known == MANY - DEAD, f"{known} tools of {MANY - DEAD} servers"
    for gate in gates:
        gate.unlink()
    # In turns, as what else the machine does slows both alike.
    took: list[float] = []
    alone: list[float] = []
    sent: list[int] = []
    for _ in range(PROMPTS):
        milliseconds, known = await _first_prompt(folder, named)
        took.append(milliseconds)
        sent.append(known)
        alone.append((await _first_prompt(folder, {}))[0])
    beside = f"{list_of(took, 'ms')}, without servers {list_of(alone, 'ms')}; at least {min(sent)} tools were known"
    title = f"the first prompt with {MANY} servers, {SLOW} slow and {DEAD} dead, over one without"
    return Figure(title, differences(took, alone), "ms", 50, beside)


async def _first_prompt(folder: Path, named: dict[str, Any], *, wait: bool = False) -> tuple[float, int]:
    """Return the milliseconds of the first prompt after the start of a host, and how many tools of servers are known
    then. A list that is not read from the disk yet is not waited for."""
    async with desk(folder, [{"reply": [{"text": "Hello."}]}], mcpServers=named) as table:
        client = await table.client()
        if wait:
            await table.host.mcp.await_started(FOR_ALL)
        began = time.perf_counter()
        await answer(client, "hello", chat=f"first {began}")
        took = (time.perf_counter() - began) * 1000
        return took, sum(name.endswith("__work") for name in table.host.toolbox.get_tools())
