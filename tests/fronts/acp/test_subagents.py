"""The calls of subagents, whose questions are asked in the session of their parent."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

import pytest

from jupyter_eca.protocol.content import ToolCallRunContent
from tests.fronts.acp.script import RULES, Json
from tests.host.turn.subagents.family import house, spawn
from tests.plugins.providers.ask import KEY
from tests.support.acp_client import chatting_with, connected, needs_schema
from tests.support.host_and_client import PATIENCE
from tests.support.openai_server import LoopbackOpenAI, Stream

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = [pytest.mark.asyncio, needs_schema]


def says(text: str) -> Stream:
    return Stream(({"choices": [{"delta": {"content": text}, "finish_reason": "stop"}]},), "[DONE]")


def calls(name: str, **arguments: Any) -> Stream:
    """The only call of an answer. Its id is the same in every answer."""
    call: Json = {"index": 0, "id": "call_0", "function": {"name": name, "arguments": json.dumps(arguments)}}
    return Stream(({"choices": [{"delta": {"tool_calls": [call]}, "finish_reason": "tool_calls"}]},), "[DONE]")


@pytest.mark.usefixtures("sdk")
async def test_calls_of_two_chats_with_the_same_id_are_two_calls(tmp_path: Path) -> None:
    """The call of the subagent must neither take the place of the call that has spawned it, nor end with it."""
    streams = [
        calls("spawn_agent", agent="general", task="the part"),
        calls("shell_command", command="echo harmless > here.txt"),
        says("Ran."),
        says("Back."),
    ]
    with LoopbackOpenAI(streams) as server:
        vendor: Json = {"api": "openai-chat", "url": server.url, "key": KEY, "models": {"gpt-6": {}}}
        more: Any = {
            "providers": {"vendor": vendor},
            "defaultModel": "vendor/gpt-6",
            "toolCall": {"approval": {"allow": {"spawn_agent": {}}}},
        }
        async with chatting_with(tmp_path, RULES, **more) as client:
            prompt = await client.start_prompt("share it")
            request = await client.permission()
            id = request.params["toolCall"]["toolCallId"]
            assert id != "call_0"
            assert "harmless" in str(client.merge_call(id)["content"])
            assert client.merge_call("call_0")["name"] == "spawn_agent"
            assert "harmless" not in str(client.merge_call("call_0"))
            await client.decide(request, "allow_once")
            assert await client.stop_reason(prompt) == "end_turn"
            assert (tmp_path / "here.txt").exists()
            started = [update for update in client.updates() if update["sessionUpdate"] == "tool_call"]
            assert [call["toolCallId"] for call in started] == ["call_0", id]
            assert client.merge_call(id)["status"] == client.merge_call("call_0")["status"] == "completed"
            assert "Ran." in str(client.merge_call("call_0")["content"])
            assert "Ran." not in str(client.merge_call(id)["content"])


RUN: Json = {"tool": "shell_command", "arguments": {"command": "echo harmless > here.txt"}}
SPAWNS: list[Json] = [
    {"message": "share it", "reply": [spawn("general", "the part")]},
    {"message": "the part", "reply": [RUN]},
    {"result": "", "tool": "spawn_agent", "reply": [{"text": "Back."}]},
    *RULES,
]


async def test_a_session_that_is_opened_later_is_asked_about_the_waiting_call_of_a_subagent(tmp_path: Path) -> None:
    async with house(tmp_path, SPAWNS) as table, connected(table) as client:
        panel = await table.client()
        async with asyncio.timeout(PATIENCE):
            async for item in panel.ask("chat", "share it"):
                if isinstance(item.content, ToolCallRunContent) and item.content.name == "shell_command":
                    break
        params: Json = {"sessionId": "chat", "cwd": str(tmp_path), "mcpServers": []}
        await client.result("session/load", params)
        client.session = "chat"
        request = await client.permission()
        assert client.merge_call(request.params["toolCall"]["toolCallId"])["kind"] == "execute"
        await client.decide(request, "allow_once")
        await client.update("agent_message_chunk")
        assert client.said().endswith("Back.")
        assert (tmp_path / "here.txt").exists()
        assert len([m for m in client.heard if getattr(m, "method", "") == "session/request_permission"]) == 1
