"""The Agent Host Protocol over WebSockets of a real Jupyter server: how soon an action comes back, what ten clients of
one answer cost, what a client that comes back waits for, and whether one that does not read delays another."""

from __future__ import annotations

import asyncio
import json
from contextlib import asynccontextmanager
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import TYPE_CHECKING, Any

from websockets.asyncio.client import ClientConnection, connect

from tests.bench.figure import Figure, list_of
from tests.bench.processes import jupyter_server
from tests.support.host_and_client import settings

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

ROUNDS = 100
DELTAS = 2_000
SUBSCRIBERS = 10
MISSED = 1_000
S = "eca:/bench"

# A delta is five characters, as models send them, and the last word is told from the others.
_RULES: list[dict[str, Any]] = [{"message": "", "reply": [{"text": "word " * (DELTAS - 1) + "end. ", "chunk": 5}]}]


class Client:
    """Reads as little of a message as tells which it is."""

    def __init__(self, socket: ClientConnection, id: str) -> None:
        self._socket = socket
        self._id = id
        self._sent = 0
        self.seen = 0

    async def request(self, method: str, **params: Any) -> Any:
        self._sent += 1
        message = {"jsonrpc": "2.0", "id": self._sent, "method": method, "params": params}
        await self._socket.send(json.dumps(message))
        while (heard := json.loads(await self._socket.recv())).get("id") != self._sent:
            pass
        return heard["result"]

    async def begin(self) -> None:
        answer = await self.request("initialize", protocolVersions=["0.1.0"], clientId=self._id)
        self.seen = answer["serverSeq"]

    async def act(self, seq: int, type: str, **fields: Any) -> None:
        action = {"type": type, "session": S, **fields}
        params = {"clientSeq": seq, "action": action}
        await self._socket.send(json.dumps({"jsonrpc": "2.0", "method": "dispatchAction", "params": params}))

    async def until(self, words: str) -> float:
        while words not in (text := str(await self._socket.recv())):
            pass
        self.seen = json.loads(text)["params"]["serverSeq"]
        return perf_counter()


@asynccontextmanager
async def joined(port: int, id: str, *, watching: bool = True) -> AsyncGenerator[Client]:
    async with connect(f"ws://127.0.0.1:{port}/eca/ahp?token=secret", max_size=None, proxy=None) as socket:
        client = Client(socket, id)
        await client.begin()
        if watching:
            await client.request("subscribe", resource=S)
        yield client


async def figures() -> list[Figure]:
    with TemporaryDirectory() as name:
        folder = Path(name)
        (folder / ".eca").mkdir()
        (folder / ".eca" / "config.json").write_text(json.dumps(settings(folder, _RULES)))
        with jupyter_server(folder) as server:
            async with joined(server.port, "maker", watching=False) as maker:
                await maker.request("createSession", session=S)
            trips = await _round_trips(server.port)
            whole, alone = await _answers(server.port, SUBSCRIBERS), await _answers(server.port, 1)
            stalled = await _answers(server.port, 1, stalled=True)
            back = await _reconnects(server.port)
    beside = f"to one {list_of(alone, 's')}"
    return [
        Figure("AHP: an action, sent to echoed", trips, "ms", 5, f"{ROUNDS} flags, one after the other"),
        Figure(f"AHP: {DELTAS} deltas to {SUBSCRIBERS} clients", whole, "s", 1, beside),
        Figure("AHP: the same beside one that does not read", stalled, "s", None, f"without it {median(alone):.3g} s"),
        Figure(f"AHP: coming back after {MISSED} envelopes", back, "ms", 100, "asked to answered, all of them in it"),
    ]


async def _round_trips(port: int) -> list[float]:
    found: list[float] = []
    async with joined(port, "one") as client:
        for seq in range(1, ROUNDS + 1):
            began = perf_counter()
            await client.act(seq, "session/isReadChanged", isRead=seq % 2 == 0)
            found.append((await client.until(f'"clientSeq":{seq}}}') - began) * 1000)
    return found[5:]


_turns = iter(range(10_000))


async def _answers(port: int, clients: int, *, stalled: bool = False) -> list[float]:
    found: list[float] = []
    for _ in range(5):
        async with asyncio.TaskGroup() as tasks:
            turn = f"t{next(_turns)}"
            ready = [asyncio.Event() for _ in range(clients)]
            go = asyncio.Event()
            done = asyncio.Event()
            if stalled:
                still = asyncio.Event()
                tasks.create_task(_stall(port, still, done))
                await still.wait()
            watching = [tasks.create_task(_watch(port, at, turn, ready[at], go)) for at in range(clients)]
            for one in ready:
                await one.wait()
            began = perf_counter()
            go.set()
            ended = await asyncio.gather(*watching)
            found.append(max(ended) - began)
            done.set()
    return found


async def _watch(port: int, at: int, turn: str, ready: asyncio.Event, go: asyncio.Event) -> float:
    async with joined(port, f"client-{at}") as client:
        ready.set()
        await go.wait()
        if at == 0:
            await client.act(1, "session/turnStarted", turnId=turn, userMessage={"text": "go"})
        return await client.until('"session/turnComplete"')


async def _stall(port: int, still: asyncio.Event, done: asyncio.Event) -> None:
    """Subscribes, and reads nothing from then on."""
    url = f"ws://127.0.0.1:{port}/eca/ahp?token=secret"
    async with connect(url, max_queue=1, proxy=None) as socket:
        client = Client(socket, "stalled")
        await client.begin()
        await client.request("subscribe", resource=S)
        still.set()
        await done.wait()


async def _reconnects(port: int) -> list[float]:
    found: list[float] = []
    async with joined(port, "writer") as writer:
        for seq in range(1, MISSED + 1):
            await writer.act(seq, "session/isReadChanged", isRead=seq % 2 == 0)
        await writer.until(f'"clientSeq":{MISSED}}}')
        after = writer.seen - MISSED
        for _ in range(10):
            url = f"ws://127.0.0.1:{port}/eca/ahp?token=secret"
            async with connect(url, max_size=None, proxy=None) as socket:
                client = Client(socket, "back")
                began = perf_counter()
                about = {"clientId": "back", "lastSeenServerSeq": after, "subscriptions": [S]}
                answer = await client.request("reconnect", **about)
                found.append((perf_counter() - began) * 1000)
                assert (answer["type"], len(answer["actions"])) == ("replay", MISSED)
    return found
