"""Holds a load: `python -m tests.faults.load SECONDS [CHATS CLIENTS SERVERS]`, by default 100 chats, 50 clients and 20
MCP servers. Each chat asks again and again, and each answer has a call of a tool server and a file that is read.

It prints how many answers there were, how they were shared among the chats, how long a request takes that needs no
model, and the memory of the server after a tenth of the time and at the end; and all this as a row for the table in
`README.md`. It fails if an answer is of another chat, or if a tool did not run exactly once.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections import Counter
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import TYPE_CHECKING, Any

from tests.bench.page import page
from tests.bench.processes import jupyter_server

if TYPE_CHECKING:
    from tests.bench.page import Page

MARKING = Path(__file__).with_name("marking_server.py")


def configure(folder: Path, servers: int) -> None:
    """Write the configuration of a user with tool servers, and a model that uses one of them in each answer."""
    (folder / "read.txt").write_text("a line\n" * 20)
    rules: list[dict[str, Any]] = [
        {"result": r"marked (?P<id>\S+)", "reply": [{"tool": "read_file", "arguments": {"path": "read.txt"}}]},
        {"result": "", "reply": [{"text": "It is done, and this is said in some pieces.", "chunk": 12, "delay": 0.02}]},
        *(
            {
                "message": rf"go {number} (?P<id>\S+)",
                "reply": [{"text": "I mark $id now. "}, {"tool": f"s{number}__mark", "arguments": {"id": "$id"}}],
            }
            for number in range(servers)
        ),
        {"message": "", "reply": [{"text": "Hello."}]},
    ]
    (folder / "script.json").write_text(json.dumps({"rules": rules}))
    command = ["-S", "-E", str(MARKING), str(folder / "marks")]
    eca = {
        "providers": {"scripted": {"models": {"many": {"script": str(folder / "script.json")}}}},
        "defaultModel": "scripted/many",
        "toolCall": {"approval": {"byDefault": "allow"}},
        "mcpServers": {f"s{number}": {"command": sys.executable, "args": command} for number in range(servers)},
    }
    file = folder / "config" / "eca" / "config.json"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(eca))


class Asker:
    """One client with some of the chats. It is shown all chats, and reads what is of its own."""

    def __init__(self, client: Page, chats: list[str], servers: int) -> None:
        self._client = client
        self._servers = servers
        self._numbers = count()
        self._waiting: dict[str, asyncio.Future[None]] = {}
        self.chats = chats
        self._texts: dict[str, str] = dict.fromkeys(chats, "")
        self.turns = Counter[str]()
        self.delays: list[float] = []
        """The milliseconds of each request that needs no model."""
        self.marks: list[str] = []

    async def listen(self) -> None:
        while True:
            frame = await self._client.receive()
            if b'"result"' in frame or b'"chat/contentReceived"' in frame:
                self._take(json.loads(frame))

    def _take(self, message: dict[str, Any]) -> None:
        if waiting := self._waiting.pop(str(message.get("id")), None):
            waiting.set_result(None)
        params = message.get("params", {})
        chat, content = params.get("chatId"), params.get("content", {})
        if chat in self._texts:
            if params["role"] == "assistant" and content["type"] == "text":
                self._texts[chat] += content["text"]
            if content.get("state") == "finished" and (waiting := self._waiting.pop(chat, None)):
                waiting.set_result(None)

    def _expect(self, key: str) -> asyncio.Future[None]:
        self._waiting[key] = future = asyncio.get_running_loop().create_future()
        return future

    async def talk(self, chat: str, until: float) -> None:
        """Ask in a chat until the time is over."""
        while perf_counter() < until:
            id = f"{chat}-{self.turns[chat]}"
            self._texts[chat], ended = "", self._expect(chat)
            message = f"go {self.turns[chat] % self._servers} {id}"
            await self._client.send("chat/prompt", {"chatId": chat, "message": message}, id=f"ask {id}")
            await ended
            said = self._texts[chat]
            assert said.startswith(f"I mark {id} now. "), f"{chat} got {said!r}"
            assert said.endswith("some pieces."), f"{chat} got {said!r}"
            self.turns[chat] += 1
            self.marks.append(id)

    async def await_servers(self, marks: Path) -> None:
        """Wait until each tool server marks what it is asked to."""
        for number in range(self._servers):
            while not (marks.exists() and f"warm-{number}" in marks.read_text().split()):  # noqa: ASYNC240  # nothing else runs
                self._texts["warm"], ended = "", self._expect("warm")
                message = f"go {number} warm-{number}"
                await self._client.send("chat/prompt", {"chatId": "warm", "message": message}, id=f"warm {number}")
                await ended
        del self._texts["warm"]

    async def measure(self, until: float) -> None:
        """Send requests that need no model until the time is over."""
        while perf_counter() < until:
            id, began = f"look {next(self._numbers)}", perf_counter()
            answered = self._expect(id)
            await self._client.send("chat/queryCommands", {"chatId": "x", "query": ""}, id=id)
            await answered
            self.delays.append((perf_counter() - began) * 1000)
            await asyncio.sleep(1)


async def hold(seconds: float, chats: int, clients: int, servers: int) -> None:
    with TemporaryDirectory() as name:
        folder = Path(name)
        configure(folder, servers)
        with jupyter_server(folder) as server:
            askers: list[Asker] = []
            async with asyncio.TaskGroup() as tasks:
                background: list[asyncio.Task[None]] = []
                for number in range(clients):
                    opened = asyncio.Event()
                    own = [f"chat{chat}" for chat in range(number, chats, clients)]
                    background.append(tasks.create_task(_serve(server.port, own, servers, askers, opened)))
                    await opened.wait()
                await askers[0].await_servers(folder / "marks")
                until = perf_counter() + seconds
                working = [
                    tasks.create_task(work)
                    for asker in askers
                    for work in (asker.measure(until), *(asker.talk(chat, until) for chat in asker.chats))
                ]
                await asyncio.sleep(seconds / 10)
                early = server.rss
                await asyncio.wait(working)
                late = server.rss
                for task in background:
                    task.cancel()
        marks = Counter((folder / "marks").read_text().split())
    marks = Counter({id: times for id, times in marks.items() if not id.startswith("warm-")})
    asked = [mark for asker in askers for mark in asker.marks]
    turns = sorted(turns for asker in askers for turns in asker.turns.values())
    delays = sorted(delay for asker in askers for delay in asker.delays)
    print(f"{len(asked)} answers in {seconds:.0f} s in {len(turns)} chats, {turns[0]} to {turns[-1]} in a chat")
    middle, late_one = delays[len(delays) // 2], delays[len(delays) * 99 // 100]
    print(f"a request without a model: median {middle:.0f} ms, p99 {late_one:.0f} ms")
    print(f"memory of the server: {early:.0f} MiB after a tenth of the time, {late:.0f} MiB at the end")
    print(
        f"| {chats} chats, {clients} clients, {servers} tool servers | {seconds:.0f} s | {len(asked):,} ({turns[0]} to "
        f"{turns[-1]}) | {middle:.0f} ms | {late_one:.0f} ms | {early:.0f} MiB | {late:.0f} MiB | "
        f"`python -m tests.faults.load {seconds:.0f} {chats} {clients} {servers}` |"
    )
    assert len(turns) == chats, "a chat has no answer"
    wrong = [*(marks - Counter(asked)), *(Counter(asked) - marks)]
    assert not wrong, f"a tool did not run exactly once: {wrong[:5]}"


async def _serve(port: int, chats: list[str], servers: int, askers: list[Asker], opened: asyncio.Event) -> None:
    """Keep one client open until this is cancelled."""
    async with page(port) as client:
        askers.append(asker := Asker(client, chats, servers))
        opened.set()
        await asker.listen()


if __name__ == "__main__":
    seconds, *numbers = sys.argv[1:]
    asyncio.run(hold(float(seconds), *([int(number) for number in numbers] or [100, 50, 20])))
