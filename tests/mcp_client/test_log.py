"""What a server says beside its answers is kept for whoever wants to know what it does."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

from tests.mcp_client.house import house, puppet
from tests.requirements.eca.seat import seat, told
from tests.support.timeouts import PATIENCE

if TYPE_CHECKING:
    from pathlib import Path

    from tests.mcp_client.house import House

pytestmark = pytest.mark.asyncio


def said(level: str, data: Any, **more: Any) -> dict[str, Any]:
    return {"method": "notifications/message", "params": {"level": level, "data": data, **more}}


async def logged(at: House, lines: int) -> None:
    """A thread reads stderr: it cannot wake us."""
    async with asyncio.timeout(PATIENCE):
        while len(at.manager.read_log("puppet")) < lines:  # noqa: ASYNC110  # as it says
            await asyncio.sleep(0.01)


@pytest.mark.parametrize("era", ["legacy", "modern"])
async def test_messages_and_stderr_are_kept_in_order_and_without_secrets(tmp_path: Path, era: str) -> None:
    async with house(tmp_path, {"puppet": puppet(era, env={"KEY": "sk-secret-key"})}) as at:
        await at.running("puppet")
        await at.call("puppet__do", say=[said("warning", "slow today", logger="db"), said("debug", {"rows": 3})])
        await at.call("puppet__do", stderr="the key is sk-secret-key")
        await logged(at, 3)
        lines = [(line.level, line.text, line.source) for line in at.manager.read_log("puppet")]
        assert lines[:2] == [("warning", "slow today", "db"), ("debug", '{"rows": 3}', None)]
        assert lines[2] == ("stderr", "the key is ***", None)


async def test_what_is_kept_has_an_end(tmp_path: Path) -> None:
    async with house(tmp_path, {"puppet": puppet("legacy")}) as at:
        await at.running("puppet")
        await at.call("puppet__do", say=[said("info", f"{number} {'x' * 3000}") for number in range(600)])
        lines = at.manager.read_log("puppet")
        assert (len(lines), lines[-1].text[:4]) == (500, "599 ")
        assert all(len(line.text) == 2_000 for line in lines)


async def test_what_a_server_says_beside_its_answers_can_be_read(tmp_path: Path) -> None:
    async with seat(tmp_path, [], mcpServers={"gone": {"command": "no-such-program-anywhere"}}) as (_, at):
        await at.tell("initialized", {})
        await told(at, "tool/serverUpdated", name="gone", status="failed")
        (line,) = (await at.result("mcp/serverLog", {"name": "gone"}))["lines"]
        assert (line["level"], line["text"]) == ("error", "No such file or directory: no-such-program-anywhere")
        assert await at.code("mcp/serverLog", {"name": "other"}) is not None
