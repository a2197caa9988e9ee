"""The calls of subagents, whose questions are asked in the session of their parent."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from tests.fronts.acp.script import RULES, Json
from tests.plugins.providers.ask import KEY
from tests.support.acp_client import chatting_with, needs_schema
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
