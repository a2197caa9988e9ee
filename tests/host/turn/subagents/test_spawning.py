"""An agent spawns others: what they are given, what comes of them, and what their parent and the user see."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from jupyter_eca.protocol.content import SubagentDetails, ToolCallRunningContent
from tests.host.turn.subagents.family import children, house, mine, result, spawn
from tests.support.host_and_client import answer, outcomes, said

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.asyncio


async def test_the_result_is_the_last_message_headed_by_the_agents_name(tmp_path: Path) -> None:
    rules: list[dict[str, Any]] = [
        {"message": "ask it", "reply": [spawn("explorer", "count the files")]},
        {"message": "count the files", "reply": [{"text": "Let me see."}, {"tool": "directory_tree", "arguments": {}}]},
        {"result": "", "tool": "directory_tree", "reply": [{"text": "There are two."}]},
        {"result": "", "tool": "spawn_agent", "reply": [{"text": "It said: {result}"}]},
    ]
    async with house(tmp_path, rules) as table:
        received = await answer(await table.client(), "ask it")
    assert result(received) == "## Agent 'explorer' Result\n\nThere are two."
    assert said(mine(received)) == "It said: ## Agent 'explorer' Result\n\nThere are two."
    assert outcomes(mine(received)) == ["completed"]


async def test_what_it_says_reaches_the_parents_clients_under_the_parents_id(tmp_path: Path) -> None:
    rules: list[dict[str, Any]] = [
        {"message": "ask it", "reply": [spawn("explorer", "look")]},
        {"message": "look", "reply": [{"text": "Seen."}]},
        {"result": "", "reply": [{"text": "Thanks."}]},
    ]
    async with house(tmp_path, rules) as table:
        received = await answer(await table.client(), "ask it")
    (child,) = children(received)
    assert said([one for one in received if one.chat_id == child]) == "Seen."
    assert {one.parent_chat_id for one in received if one.chat_id == child} == {"chat"}
    details = [one.content.details for one in received if isinstance(one.content, ToolCallRunningContent)]
    assert [(one.subagent_chat_id, one.step) for one in details if isinstance(one, SubagentDetails)] == [
        (child, 0),
        (child, 1),
    ]
