"""What our client costs an outside agent: beside the SDK of the Agent Client Protocol, which only receives, and before
the agent begins to work. The agent is the scripted one of the tests."""

from __future__ import annotations

import asyncio
import importlib
import os
import sys
from contextlib import asynccontextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import TYPE_CHECKING, Any

from jupyter_eca.acp_client.agent_events import TextSaid
from jupyter_eca.acp_client.launch import Launch
from jupyter_eca.acp_client.session import AgentSession
from tests.bench.figure import Figure, differences, list_of, ratios
from tests.host.outside.talking import PROGRAM, fake
from tests.support.host_and_client import answer, desk

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

acp: Any = importlib.import_module("acp")  # its types are incomplete

CHUNKS = 2000
ROUNDS = 9
SHORT = "DO: say Hello"
LONG = f"DO: many {CHUNKS}"


class Counter:
    """A client of the SDK that counts what it receives."""

    def __init__(self) -> None:
        self.received = 0

    async def session_update(self, session_id: str, update: Any, **_: Any) -> None:
        del session_id, update
        self.received += 1

    def on_connect(self, conn: Any) -> None:
        pass


@asynccontextmanager
async def our_session(folder: Path) -> AsyncGenerator[AgentSession]:
    launch = Launch("Fake", (sys.executable, str(PROGRAM)), dict(os.environ), folder, "chat")
    session = AgentSession(launch, None)  # pyright: ignore[reportArgumentType]  # the agent asks for nothing
    running = asyncio.create_task(session.run())
    await session.greet()
    await session.open([])
    try:
        yield session
    finally:
        session.close()
        await running


async def figures() -> list[Figure]:
    with TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "ours").mkdir()
        chunks = await _measure_chunks(folder)
        prompts = await _measure_prompts(folder)
    return [chunks, prompts]


async def _measure_chunks(folder: Path) -> Figure:
    """Our client makes events of the updates; the SDK's makes objects of them."""
    counter = Counter()
    ours: list[float] = []
    theirs: list[float] = []
    async with (
        our_session(folder) as session,
        acp.spawn_agent_process(counter, sys.executable, str(PROGRAM), cwd=str(folder)) as (agent, _),
    ):
        await agent.initialize(protocol_version=acp.PROTOCOL_VERSION)
        opened = await agent.new_session(cwd=str(folder), mcp_servers=[])
        for _ in range(ROUNDS + 1):
            began = perf_counter()
            events = [event async for event in session.prompt([{"type": "text", "text": LONG}])]
            ours.append(perf_counter() - began)
            assert sum(isinstance(event, TextSaid) for event in events) == CHUNKS
            counter.received = 0
            began = perf_counter()
            await agent.prompt(session_id=opened.session_id, prompt=[acp.text_block(LONG)])
            theirs.append(perf_counter() - began)
            assert counter.received == CHUNKS
    beside = f"ours {list_of(ours[1:], 'ms', 1000)}, the SDK {list_of(theirs[1:], 'ms', 1000)}"
    return Figure(f"{CHUNKS} chunks of an outside agent, over the SDK", ratios(ours[1:], theirs[1:]), "x", 1.3, beside)


async def _measure_prompts(folder: Path) -> Figure:
    """What a turn costs besides the agent: a whole turn of the host, less one of the bare client."""
    turns: list[float] = []
    bare: list[float] = []
    async with (
        desk(folder / "ours", [], None, acpAgents=fake(folder / "ours")) as table,
        our_session(folder) as session,
    ):
        client = await table.client()
        for _ in range(ROUNDS + 1):
            began = perf_counter()
            await answer(client, SHORT, agent="fake")
            turns.append((perf_counter() - began) * 1000)
            began = perf_counter()
            async for _event in session.prompt([{"type": "text", "text": SHORT}]):
                pass
            bare.append((perf_counter() - began) * 1000)
        table.host.outside_agents.close()
    beside = f"turn {list_of(turns[1:], 'ms')}, bare client {list_of(bare[1:], 'ms')}"
    return Figure(
        "a turn of a running outside agent, besides the agent", differences(turns[1:], bare[1:]), "ms", 30, beside
    )
