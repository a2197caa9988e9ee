"""Random messages over all protocols at once, while another client chats: each of its turns is answered, no error is
logged, and no file outside the workspace is touched.

A seed gives the same messages each time. Most are wrong in one way only: they have fields of the models, so that they
get past the first check.
"""

from __future__ import annotations

import asyncio
import json
import logging
import random
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote

import httpx2
import pytest
from mcp import Client as SdkClient
from mcp.shared.exceptions import MCPError

from jupyter_eca.fronts.ahp.commands import COMMANDS
from jupyter_eca.fronts.eca.session import EcaSession
from jupyter_eca.fronts.mcp.assistant import Assistant
from jupyter_eca.fronts.mcp.server import McpFront
from jupyter_eca.fronts.mcp.stdio import parse_line
from jupyter_eca.fronts.rest.app import make_application
from jupyter_eca.fronts.rest.front import RestFront
from jupyter_eca.protocol.ahp import actions
from jupyter_eca.protocol.jsonrpc import Notification, Request, to_json
from jupyter_eca.protocol.methods import METHODS, Sender
from jupyter_eca.transport.comm import CommLink
from tests.fronts.ahp.place import Refused, place
from tests.support.host_and_client import Door, answer, chatting, said
from tests.support.raw_client import connect
from tests.support.timeouts import PATIENCE

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from pydantic import BaseModel

    from tests.fronts.ahp.place import Place

pytestmark = pytest.mark.asyncio

# Messages that are sent over each protocol in one test.
COUNT: Final = 120
# Seconds after which a client leaves an answer that does not end.
LEAVES: Final = 0.3

RULES: list[dict[str, Any]] = [
    {"result": "", "reply": [{"text": "It said: {result}"}]},
    {"message": "write", "reply": [{"tool": "write_file", "arguments": {"path": "new.txt", "content": "x"}}]},
    {"message": "ask", "reply": [{"tool": "ask_user", "arguments": {"question": "Red?", "options": ["Yes"]}}]},
    {"message": "slow", "reply": [{"text": "word " * 200, "chunk": 5, "delay": 0.005}]},
    {"message": "fail", "reply": [{"text": "Half an "}, {"error": "The endpoint broke off."}]},
    {"message": "think", "reply": [{"reasoning": "Hm."}, {"text": "So it is."}]},
    {"message": "", "reply": [{"text": "Hello, {message}"}]},
]
PROMPTS: Final = ("hi", "write", "ask", "slow", "fail", "think", "/compact", "/x", "")
SESSIONS: Final = ("eca:/f1", "eca:/f2")


@dataclass
class Noise:
    """Random values that a client may send."""

    random: random.Random
    outside: str
    """The URI of a file that no client may reach."""

    def value(self, depth: int = 0) -> Any:
        """Return any JSON, or a number or a character that JSON cannot have."""
        if depth < 3 and self.random.random() < 0.2:
            names = ("text", "id", "kind", "type", "path", "approved", "x")
            return {self.random.choice(names): self.value(depth + 1) for _ in range(self.random.randint(0, 3))}
        values: tuple[Any, ...] = (
            *(None, True, False, 0, -1, 1.5, 2**53, 2**70, -(2**63) - 1, 1e308, float("nan"), float("inf")),
            *("", "x", "\0", "a\nb", "é" * 50, "x" * 5000, "\u202e", "caf\ud83d", "../..", "..", ".", "%2e%2e"),
            *(self.outside, *SESSIONS, "eca:/", "eca:/a/b", "eca:/%00", "t1", "c", "scripted/test"),
            *([], {}, [[]], {"a": {"b": []}}, ["x", 1, None], [{"type": "file", "path": self.outside}]),
            *({"text": text} for text in PROMPTS),
            *({"id": "scripted/test"}, {"id": "none"}, {"kind": "client", "clientId": "x"}),
        )
        return self.random.choice(values)

    def fields(self, model: type[BaseModel], **known: Sequence[Any]) -> dict[str, Any]:
        """Return fields of a model. Those that are known have one of the values, and all others have any."""
        found: dict[str, Any] = {}
        for name, field in model.model_fields.items():
            if field.is_required() or self.random.random() < 0.5:
                has_known = name in known and self.random.random() < 0.8
                found[field.alias or name] = self.random.choice(known[name]) if has_known else self.value()
        return found

    def text(self) -> str:
        return str(self.value()).encode("utf-8", "replace").decode()


ACTIONS: Final = [
    kind
    for kind in vars(actions).values()
    if isinstance(kind, type) and issubclass(kind, actions.AhpAction) and "type" in kind.model_fields
]
CLIENT_METHODS: Final = [
    method
    for method in METHODS.values()
    if method.sender is Sender.CLIENT and method.name not in {"initialize", "shutdown", "exit"}
]


async def send_ahp(table: Place, noise: Noise) -> None:
    client = await table.connect("noisy")
    client.silent = True  # it never answers a request of ours
    for uri in SESSIONS:
        await client.request("createSession", session=uri)
    turns = ("t1", "t2", "t3")
    known = {"session": SESSIONS, "turn_id": turns, "user_message": [{"text": text} for text in PROMPTS]}
    known |= {"tool_call_id": [f"{turn}-1-0" for turn in turns], "approved": (True, False)}
    waiting: list[asyncio.Task[Any]] = []
    for _ in range(COUNT):
        kind = noise.random.choice(ACTIONS)
        action = {**noise.fields(kind, **known), "type": kind.model_fields["type"].default}
        client.number += 1
        await client.link.send(Notification("dispatchAction", {"clientSeq": client.number, "action": action}))
        name = noise.random.choice(sorted(COMMANDS.keys() - {"resourceRequest"}))  # that one waits for a person
        params = noise.fields(COMMANDS[name].params, session=SESSIONS, channel=SESSIONS, resource=SESSIONS)
        waiting.append(table.tasks.create_task(send_request(client.request(name, **params))))
        await asyncio.sleep(0)
    await finish(waiting)


async def send_request(request: Any) -> None:
    with suppress(Refused):
        await request


async def finish(waiting: Sequence[asyncio.Task[Any]]) -> None:
    """Each request is answered in some way."""
    _, late = await asyncio.wait(waiting, timeout=PATIENCE)
    for task in late:
        task.cancel()
    assert not late


async def send_eca(table: Place, noise: Noise) -> None:
    client = connect(table)
    await client.initialize()
    ids: list[Any] = []
    for _ in range(COUNT):
        method = noise.random.choice(CLIENT_METHODS)
        params = noise.fields(method.params, chat_id=("c", "c2"), message=PROMPTS) if noise.random.random() < 0.9 else 7
        if method.result is None:
            await client.tell(method.name, params)
        else:
            ids.append(await client.send(method.name, params))
        await asyncio.sleep(0)
    for id in ids:
        await client.reply(id)
    await client.close()


async def send_comm(table: Place, noise: Noise) -> None:
    answered: set[Any] = set()
    came = asyncio.Event()

    def write(data: dict[str, Any]) -> None:
        answered.update(message.get("id") for message in data["messages"] if "method" not in message)
        came.set()

    link = CommLink(write, lambda: None)
    serving = table.tasks.create_task(EcaSession(link, Door(table.host)).run())
    link.receive({"messages": [to_json(Request(0, "initialize", {"capabilities": {}}))]})
    ids = {0}
    for number in range(1, COUNT):
        method = noise.random.choice([method for method in CLIENT_METHODS if method.result is not None])
        link.receive(noise.value())
        link.receive({"messages": [noise.value(), noise.value()]})
        params = noise.fields(method.params, chat_id=("c3",), message=PROMPTS)
        link.receive({"messages": [to_json(Request(number, method.name, params))]})
        ids.add(number)
        await asyncio.sleep(0)
    async with asyncio.timeout(PATIENCE):
        while not ids <= answered:
            came.clear()
            await came.wait()
    await link.close()
    await serving


async def send_rest(table: Place, noise: Noise) -> None:
    front = RestFront(table.host)
    transport = httpx2.ASGITransport(make_application(front))
    fixed = (("GET", "/chats"), ("GET", "/servers"), ("GET", "/status"), ("POST", "/disconnect"), ("PUT", "/chat"))
    headers = {"content-type": "application/json"}
    async with httpx2.AsyncClient(transport=transport, base_url="http://rest") as client:

        async def send(method: str, path: str, data: str) -> None:
            with suppress(TimeoutError):  # the client leaves
                async with asyncio.timeout(LEAVES):
                    reply = await client.request(method, path, content=data, headers=headers)
                    assert reply.status_code < 500

        waiting: list[asyncio.Task[Any]] = []
        for _ in range(COUNT):
            body = {"message": noise.random.choice([*PROMPTS, noise.value()]), "chat_id": noise.value()}
            data = json.dumps(noise.random.choice([body, {"message": "hi"}, noise.value()]))
            name = quote(noise.text(), safe="")[:200]
            named = (("DELETE", f"/chats/{name}"), ("POST", f"/chats/{name}/stop"), ("POST", f"/connect/{name}"))
            chats = (("POST", "/chat"), ("POST", "/chat/stream"))
            method, path = noise.random.choice([*fixed, *named, *chats, *chats])
            waiting.append(table.tasks.create_task(send(method, path, data)))
            await asyncio.sleep(0)
        await finish(waiting)
    front.close()


async def send_mcp(table: Place, noise: Noise) -> None:
    front = McpFront(Assistant(table.host, panel=False))
    async with front.running(), SdkClient(front.server, mode="legacy") as client:

        async def send(tool: str, arguments: dict[str, Any], uri: str) -> None:
            with suppress(MCPError, TimeoutError, ValueError):  # the client leaves, or cannot write the message
                async with asyncio.timeout(LEAVES):
                    await client.read_resource(uri)
            with suppress(MCPError, TimeoutError, ValueError):
                async with asyncio.timeout(LEAVES):
                    await client.call_tool(tool, arguments)

        tools = (await client.list_tools()).tools
        waiting: list[asyncio.Task[Any]] = []
        for _ in range(COUNT):
            tool = noise.random.choice(tools)
            names = list(tool.input_schema.get("properties", {}))
            chosen = noise.random.sample(names, noise.random.randint(0, len(names)))
            arguments = {name: noise.random.choice([*PROMPTS, noise.value()]) for name in chosen}
            line = json.dumps({"jsonrpc": "2.0", "id": noise.value(), "method": noise.value(), "params": arguments})
            assert parse_line(line.encode())
            waiting.append(table.tasks.create_task(send(tool.name, arguments, noise.text())))
            await asyncio.sleep(0)
        await finish(waiting)


SEEDS: Final = [*range(2), *(pytest.param(seed, marks=pytest.mark.nightly) for seed in range(2, 60))]


@pytest.mark.parametrize("seed", SEEDS)
async def test_random_messages_over_all_protocols_at_once_disturb_no_other_client(
    tmp_path: Path, seed: int, caplog: pytest.LogCaptureFixture
) -> None:
    root, outside = tmp_path / "root", tmp_path / "outside.txt"
    root.mkdir()
    outside.write_text("mine")
    async with place(root, RULES) as table:
        talker = await table.client()
        async with chatting(talker):
            senders = (send_ahp, send_eca, send_comm, send_rest, send_mcp)
            noises = [Noise(random.Random(f"{seed} {send.__name__}"), outside.as_uri()) for send in senders]
            await asyncio.gather(*(send(table, noise) for send, noise in zip(senders, noises, strict=True)))
        assert said(await answer(await table.client(), "you", chat="new")) == "Hello, you"
    assert outside.read_text() == "mine"
    assert [record.getMessage() for record in caplog.records if record.levelno >= logging.ERROR] == []
