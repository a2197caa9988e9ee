"""Half of a surrogate pair, from any client and over any protocol, while another client chats: it is refused, or
replaced where it is output, and nobody else notices."""

from __future__ import annotations

import asyncio
import json
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx2
import mcp_types as types
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from mcp import Client as SdkClient
from mcp.shared.exceptions import MCPError

from jupyter_eca.fronts.eca.session import EcaSession
from jupyter_eca.fronts.mcp.assistant import Assistant
from jupyter_eca.fronts.mcp.server import McpFront
from jupyter_eca.fronts.mcp.stdio import Refusal, parse_line
from jupyter_eca.fronts.rest.app import make_application
from jupyter_eca.fronts.rest.front import RestFront
from jupyter_eca.protocol.jsonrpc import ErrorCode, ErrorResponse, Request, to_json
from jupyter_eca.transport.comm import CommLink
from jupyter_eca.transport.eca_client import CallDecision
from tests.fronts.ahp.place import Place, fails, place
from tests.support.host_and_client import Door, Notebook, answer, chatting, said
from tests.support.raw_client import connect

if TYPE_CHECKING:
    from jupyter_eca.protocol.content import ToolCallRunContent
    from jupyter_eca.protocol.notebook import KernelExecuteResult
    from tests.fronts.ahp.place import Client

pytestmark = pytest.mark.asyncio

HALF, WHOLE = "caf\ud83d", "caf\N{REPLACEMENT CHARACTER}"
RULES: list[dict[str, Any]] = [
    {"result": "", "reply": [{"text": "It said: {result}"}]},
    {"message": "run", "reply": [{"tool": "run_code", "arguments": {"code": "x"}}]},
    {"message": "", "reply": [{"text": "Hello, {message}"}]},
]
URI = "eca:/attacked"
halves = st.sampled_from(["\ud800", "\udbff", "\udc00", "\udfff", "a\ud83d", "\ud83d\ud83d", "\udc80.txt"])


def ahp_attacks(half: str) -> list[dict[str, Any]]:
    """Actions, each with the text in another place."""
    message = {"text": "hi"}
    started = {"type": "session/turnStarted", "session": URI, "turnId": "t", "userMessage": message}
    label = {"type": "simple", "label": half, "modelRepresentation": "x"}
    return [
        {"type": "session/modelChanged", "session": URI, "model": {"id": half}},
        {"type": "session/titleChanged", "session": URI, "title": half},
        {"type": "session/configChanged", "session": URI, "config": {half: half}},
        {**started, "turnId": half},
        {**started, "userMessage": {"text": half}},
        {**started, "userMessage": {**message, "attachments": [label]}},
        {**started, "userMessage": {**message, "attachments": [{**label, "label": "l", "_meta": {"eca": half}}]}},
        {"type": "session/pendingMessageSet", "session": URI, "kind": "queued", "id": half, "userMessage": message},
    ]


async def attack_ahp(client: Client, half: str) -> None:
    for action in ahp_attacks(half):
        action_type, uri = action.pop("type"), action.pop("session")
        echo = await client.echo(await client.act(action_type, uri, **action))
        assert "surrogate" in echo["rejectionReason"]
    refused = await fails(client, "createSession", session=f"{URI}2", workingDirectory=half)
    assert refused.code == ErrorCode.INVALID_PARAMS


async def attack_eca(table: Place, half: str) -> None:
    at = connect(table)
    await at.initialize()
    requests: list[tuple[str, Any]] = [
        ("chat/prompt", {"chatId": "x", "message": half}),
        ("chat/prompt", {"chatId": half, "message": "hi"}),
        ("chat/prompt", {"chatId": "x", "message": "hi", "model": half, "contexts": [{"type": "file", "path": half}]}),
        ("chat/update", {"chatId": "x", "title": half}),
        ("chat/queryContext", {"query": half, "contexts": []}),
        (half, {}),
    ]
    for method, params in requests:
        assert await at.code(method, params) == ErrorCode.INVALID_PARAMS
    await at.tell("chat/selectedModelChanged", {"chatId": "x", "model": half})
    await at.tell("chat/toolCallReject", {"chatId": "x", "toolCallId": half, "reason": half})
    assert (await at.result("chat/list"))["chats"] is not None
    await at.close()


async def attack_comm(table: Place, half: str) -> None:
    received: list[Any] = []
    came = asyncio.Event()

    def write(data: dict[str, Any]) -> None:
        received.extend(data["messages"])
        came.set()

    link = CommLink(write, lambda: None)
    serving = table.tasks.create_task(EcaSession(link, Door(table.host)).run())
    link.receive({"messages": [to_json(Request(1, "chat/prompt", {"message": half}))]})
    while not any(message.get("id") == 1 and "error" in message for message in received):
        came.clear()
        await came.wait()
    await link.close()
    await serving


async def attack_rest(table: Place, half: str) -> None:
    front = RestFront(table.host)
    transport = httpx2.ASGITransport(make_application(front))
    async with httpx2.AsyncClient(transport=transport, base_url="http://rest") as client:
        for body in ({"message": half}, {"message": "hi", "chat_id": half}):
            refused = await client.post("/chat", content=json.dumps(body), headers={"content-type": "application/json"})
            assert refused.status_code == 422
        assert (await client.delete("/chats/%ED%A0%BD")).status_code == 404
    front.close()


async def attack_mcp(table: Place, half: str) -> None:
    front = McpFront(Assistant(table.host, panel=False))
    async with front.running(), SdkClient(front.server, mode="legacy") as client:
        with pytest.raises(MCPError, match="surrogate"):
            await client.call_tool("eca_run", {"prompt": half})
    line = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": half}}).encode()
    refused = parse_line(line)
    assert isinstance(refused, Refusal)
    assert refused.error.error.code == types.PARSE_ERROR


@settings(max_examples=5, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(half=halves)
async def test_half_characters_over_all_protocols_at_once_disturb_no_other_client(tmp_path: Path, half: str) -> None:
    async with place(Path(tempfile.mkdtemp(dir=tmp_path)), RULES) as table:
        talker, attacker = await table.client(), await table.connect("attacker")
        watcher = await table.connect("watcher")
        await attacker.create(URI)
        await watcher.subscribe(URI)
        async with chatting(talker):
            attacks = (attack_ahp(attacker, half), attack_eca(table, half), attack_rest(table, half))
            more = (attack_mcp(table, half), attack_comm(table, half))
            await asyncio.gather(*attacks, *more)
        await watcher.ask(URI, "fine", "you")
        state = await watcher.settled(URI, 1)
        assert "surrogate" not in json.dumps(state)
        assert [row.id for row in await table.host.chats.list_rows()]


async def test_half_characters_in_the_output_of_a_kernel_are_replaced(tmp_path: Path) -> None:
    class Garbled(Notebook):
        async def execute(self, code: str) -> KernelExecuteResult:
            found = await super().execute(code)
            return found.model_construct(status=found.status, text=HALF)

    def yes(_call: ToolCallRunContent) -> CallDecision:
        return CallDecision(approved=True)

    async with place(tmp_path, RULES) as table:
        client = await table.client(Garbled())
        assert WHOLE in said(await answer(client, "run", yes))
        assert said(await answer(client, "you", chat="other")) == "Hello, you"


async def test_a_task_that_fails_ends_its_turn_with_a_message_and_no_other_chat(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with place(tmp_path, RULES) as table:
        client, other = await table.client(), await table.client()
        runner: Any = table.host.chats.effects

        async def fail(*_: Any) -> None:
            raise ZeroDivisionError("a bug")

        with monkeypatch.context() as patched:
            patched.setattr(runner, "_finish_reply", fail)
            received = await answer(client, "you")
        assert received[-1].outcome in {"stopped", "failed"}
        assert said(await answer(other, "you", chat="other")) == "Hello, you"
        assert said(await answer(client, "again")) == "Hello, again"


async def test_a_subscriber_that_fails_costs_no_other_client_anything(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with place(tmp_path, RULES) as table:
        bad = connect(table)
        await bad.initialize()
        await bad.tell("initialized", {})

        def fail(*_: Any) -> None:
            raise ZeroDivisionError("a bug")

        await bad.result("chat/list")
        monkeypatch.setattr(bad.session, "show", fail)
        monkeypatch.setattr(bad.session, "tell", fail)
        assert said(await answer(await table.client(), "you")) == "Hello, you"
        await bad.close()


async def test_a_request_with_half_a_character_is_answered_with_its_id(tmp_path: Path) -> None:
    async with place(tmp_path, RULES) as table:
        at = connect(table)
        await at.initialize()
        reply = await at.ask("chat/prompt", {"message": HALF}, id="mine")
        assert isinstance(reply, ErrorResponse)
        assert "half of a surrogate pair" in reply.message
        await at.close()
