"""Turns that overlap, stop, fail or leak: ECA 6.1, classes 16 to 29, and those still open there."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

from jupyter_eca.protocol.chats import ChatListParams, ChatListResult
from jupyter_eca.protocol.content import TextContent, ToolCalledContent, ToolCallRunContent
from jupyter_eca.transport.eca_client import CallDecision
from tests.host.faults.vendor import Fault, shows, vendor
from tests.mcp_client.house import raw as mcp
from tests.plugins.contexts.near import sent
from tests.plugins.providers.ask import script
from tests.plugins.test_loader import install
from tests.support.host_and_client import PATIENCE, Notebook, answer, desk, outcomes, said, tool_states

if TYPE_CHECKING:
    from pathlib import Path

    from jupyter_eca.transport.eca_client import EcaClient

pytestmark = pytest.mark.asyncio

RUN: dict[str, Any] = {"tool": "run_code", "arguments": {"code": "x = 1"}}
RULES: list[dict[str, Any]] = [
    {"result": "", "reply": [{"text": "Result: {result}"}]},
    {"message": "run", "reply": [RUN]},
    {"message": "break", "reply": [{"tool": "boom", "arguments": {}}]},
    {"message": "long", "reply": [{"tool": "read_file", "arguments": {"path": "x" * 300_000}}]},
    {"message": "slow", "reply": [{"text": "word " * 500, "chunk": 5, "delay": 0.01}]},
    {"message": "", "reply": [{"text": "Hello, {message}"}]},
]


def yes(_call: ToolCallRunContent) -> CallDecision:
    return CallDecision(approved=True)


async def stopped(client: EcaClient, message: str, chat: str = "chat") -> list[Any]:
    """A turn that is stopped at its first word."""
    received: list[Any] = []
    async with asyncio.timeout(PATIENCE):
        async for item in client.ask(chat, message):
            received.append(item)
            if isinstance(item.content, TextContent) and item.role == "assistant":
                await client.stop(chat)
    return received


@pytest.mark.usefixtures("sdk")
async def test_a_stop_is_heard_before_the_first_word_and_hangs_up(tmp_path: Path) -> None:
    async with vendor(tmp_path, [Fault(stall=0)]) as (table, server):
        client = await table.client()
        turn = asyncio.create_task(answer(client, "hi"))
        assert await asyncio.to_thread(server.asked.wait, PATIENCE)
        await client.stop("chat")
        assert outcomes(await turn) == ["stopped"]
        assert await asyncio.to_thread(server.requests[0].left.wait, PATIENCE)
        assert said(await answer(client, "again")) == "Hello."


async def test_after_a_stop_only_the_new_prompt_is_alive_and_it_can_be_stopped(tmp_path: Path) -> None:
    async with desk(tmp_path, RULES) as table:
        client = await table.client()
        first = await stopped(client, "slow")
        second = await stopped(client, "slow")
        assert [outcomes(turn) for turn in (first, second)] == [["stopped"], ["stopped"]]
        assert len({item.turn for item in first} & {item.turn for item in second}) == 0
        live = table.host.chats.get_live("chat")
        assert live is not None
        assert live.tasks == {}
        assert said(await answer(client, "you")) == "Hello, you"


@pytest.mark.usefixtures("sdk")
async def test_a_stop_leaves_nothing_that_the_next_request_is_refused_for(tmp_path: Path) -> None:
    reply: list[dict[str, Any]] = [{"reasoning": "Hm."}, {"text": "Let me."}, {"tool": "write_file", "arguments": {}}]
    story = script({"message": "write", "reply": reply}, {"message": "", "reply": [{"text": "Hello."}]})
    async with vendor(tmp_path, script=story) as (table, server):
        client = await table.client()
        async with asyncio.timeout(PATIENCE):
            async for item in client.ask("chat", "write"):
                if isinstance(item.content, ToolCallRunContent):
                    await client.stop("chat")
        assert said(await answer(client, "go on")) == "Hello."
        blocks = [block for message in server.requests[-1].body["messages"] for block in message["content"]]
        uses = [block["id"] for block in blocks if block["type"] == "tool_use"]
        results = [block["tool_use_id"] for block in blocks if block["type"] == "tool_result"]
        assert uses == results != []
        assert all(block["text"].strip() for block in blocks if block["type"] == "text")


async def test_a_call_that_waits_for_approval_holds_up_nobody(tmp_path: Path) -> None:
    async with desk(tmp_path, RULES) as table:
        client, other = await table.client(Notebook()), await table.client()
        async with asyncio.timeout(PATIENCE):
            async for item in client.ask("chat", "run"):
                if isinstance(item.content, ToolCallRunContent):
                    assert said(await answer(other, "you", chat="other")) == "Hello, you"
                    listed = await client.request("chat/list", ChatListParams(), ChatListResult)
                    assert {chat.id: chat.status for chat in listed.chats} == {"chat": "running", "other": "idle"}
                    await client.decide("chat", item.content.id, CallDecision(approved=True))


async def test_a_server_of_tools_that_never_starts_holds_up_neither_a_turn_nor_the_end(tmp_path: Path) -> None:
    async with desk(tmp_path, RULES, mcpServers={"mute": mcp("never shakes hands")}) as table:
        assert said(await answer(await table.client(), "you")) == "Hello, you"


async def test_a_tool_that_raises_ends_its_call_and_not_the_turn(plug: Path) -> None:
    (plug / "somebodys_tool.py").write_text(
        "from jupyter_eca.plugins.tools.base import ToolContext, tool\n"
        "@tool(reads=True)\n"
        "async def boom(context: ToolContext) -> str:\n"
        "    'Fails.'\n"
        "    raise ZeroDivisionError('inside')\n"
        "TOOLS = (boom,)\n"
    )
    install(plug, "tools", theirs="somebodys_tool:TOOLS")
    async with desk(plug, RULES) as table:
        received = await answer(await table.client(), "break", yes)
        assert (tool_states(received)[-1], outcomes(received)) == ("toolCalled", ["completed"])
        assert "ZeroDivisionError('inside')" in said(received)


async def test_a_command_that_raises_ends_its_turn_and_takes_nothing_with_it(plug: Path) -> None:
    (plug / "somebodys_command.py").write_text(
        "from jupyter_eca.host.commands import NativeCommand\n"
        "async def boom(place, called):\n"
        "    raise ZeroDivisionError('inside')\n"
        "COMMANDS = {'boom': NativeCommand(boom, 'Fail')}\n"
    )
    install(plug, "commands", theirs="somebodys_command:COMMANDS")
    async with desk(plug, RULES) as table:
        client = await table.client()
        received = await answer(client, "/boom")
        assert outcomes(received) == ["failed"]
        assert "ZeroDivisionError" in said(received, "system")
        assert said(await answer(client, "you")) == "Hello, you"


async def test_the_error_of_a_tool_is_as_short_as_its_result_must_be(tmp_path: Path) -> None:
    async with desk(tmp_path, RULES) as table:
        received = await answer(await table.client(), "long", yes)
        (called,) = [item.content for item in received if isinstance(item.content, ToolCalledContent)]
        assert called.error
        assert len(called.outputs[0].text) < 60_000


@pytest.mark.usefixtures("sdk")
async def test_what_did_not_move_between_two_prompts_costs_no_cache(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("x = 1\ny = 2\n")
    place = {"start": {"line": 1, "character": 0}, "end": {"line": 1, "character": 0}}
    (cursor,) = sent({"type": "cursor", "path": str(tmp_path / "a.py"), "position": place})
    async with vendor(tmp_path) as (table, server):
        client = await table.client()
        for message in ("one", "two", "three"):
            await shows(client, message, cursor)
        bodies = [asked.body for asked in server.requests]
        assert len({str(body["system"]) for body in bodies}) == len({str(body["tools"]) for body in bodies}) == 1
        first, second, third = ([_unmarked(m) for m in body["messages"]] for body in bodies)
        assert second[: len(first)] == first
        assert third[: len(second)] == second
        assert str(third).count("y = 2") == 1


def _unmarked(message: dict[str, Any]) -> dict[str, Any]:
    blocks = [{k: v for k, v in block.items() if k != "cache_control"} for block in message["content"]]
    return {**message, "content": blocks}
