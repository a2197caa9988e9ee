"""How far a server's tool has come is seen while it runs, word for word."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.mcp_client.house import puppet
from tests.requirements.eca.seat import ALLOW_ALL, TODAY, seat, told

if TYPE_CHECKING:
    from pathlib import Path


OURS = {**TODAY, "envelope": True}


def far(done: float, total: float | None = None, words: str = "") -> dict[str, Any]:
    params = {"progressToken": "$token", "progress": done, "total": total, "message": words}
    given = {name: value for name, value in params.items() if value not in {None, ""}}
    return {"method": "notifications/progress", "params": given}


@pytest.mark.parametrize("era", ["legacy", "modern"])
@pytest.mark.asyncio
async def test_a_servers_progress_is_shown_while_its_tool_runs(tmp_path: Path, era: str) -> None:
    say = [far(1, 4), far(3, 4, "nearly there")]
    rules: list[dict[str, Any]] = [
        {"result": "", "reply": [{"text": "Done."}]},
        {"message": "", "reply": [{"tool": "puppet__do", "arguments": {"say": say}}]},
    ]
    servers = {"puppet": puppet(era)}
    async with seat(tmp_path, rules, OURS, mcpServers=servers, toolCall=ALLOW_ALL) as (_, at):
        await at.tell("initialized", {})
        await told(at, "tool/serverUpdated", name="puppet", status="running")
        await at.result("chat/prompt", {"chatId": "c", "message": "go"})
        shown = await told(at, "chat/toolCallProgress", progress=3)
        assert (shown["total"], shown["text"]) == (4, "nearly there")
        await at.finished()
