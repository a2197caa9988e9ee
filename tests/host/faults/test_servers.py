"""Tool servers that die, drop, forget or never answer: each costs one failed call, in words, and no other server."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from jupyter_eca.errors import ToolError
from jupyter_eca.plugins.tools.configured.mcp_tool import make_mcp_tools
from jupyter_eca.protocol.mcp import ServerStatus
from tests.mcp_client.house import QUICK, house, puppet, raw, sdk
from tests.mcp_client.web import web
from tests.requirements.eca.seat import ALLOW_ALL, prompt, seat, told

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.asyncio
HASTY = replace(QUICK, timeout=1.5)


async def test_a_server_that_is_killed_in_a_call_costs_that_call_and_the_turn_goes_on(tmp_path: Path) -> None:
    rules: list[dict[str, Any]] = [
        {"result": "", "reply": [{"text": "I read: {result}"}]},
        {"message": "kill", "reply": [{"tool": "puppet__do", "arguments": {"ends": True}}]},
        {"message": "again", "reply": [{"tool": "puppet__do", "arguments": {}}]},
    ]
    async with seat(tmp_path, rules, mcpServers={"puppet": puppet("legacy")}, toolCall=ALLOW_ALL) as (_, at):
        await at.tell("initialized", {})
        await told(at, "tool/serverUpdated", name="puppet", status="running")
        said = await prompt(at, "kill")
        assert said.startswith("I read: The server 'puppet' failed: it ended during the call")
        while (await told(at, "tool/serverUpdated", name="puppet"))["status"] != "running":
            pass
        assert await prompt(at, "again") == "I read: done"


async def test_a_server_that_is_killed_from_outside_is_started_again(tmp_path: Path) -> None:
    pid = tmp_path / "pid"
    async with house(tmp_path, {"tour": sdk(str(pid))}) as at:
        await at.running("tour")
        waiting = asyncio.create_task(at.call("tour__wait", seconds=60))
        await at.until(lambda: bool(make_mcp_tools(at.manager)))
        first = int(await asyncio.to_thread(pid.read_text))
        os.kill(first, signal.SIGKILL)
        with pytest.raises(ToolError, match="it ended during the call"):
            await waiting
        await at.until(lambda: at.statuses("tour")[-3:] == ["failed", "starting", "running"])
        assert (await at.call("tour__add", a=1, b=2)).text == "3"


async def test_an_answer_that_streams_for_ever_ends_with_its_call(tmp_path: Path) -> None:
    async with web(legacy=True) as site, house(tmp_path, {"far": {"url": site.url}}, HASTY) as at:
        await at.running("far")
        site.endless = True
        with pytest.raises(ToolError, match=r"did not answer within 1\.5 s"):
            await at.call("far__add", a=1, b=1)
        site.endless = False
        assert (await at.call("far__add", a=1, b=1)).text == "2"


async def test_an_answer_that_breaks_off_costs_that_call(tmp_path: Path) -> None:
    async with web(legacy=True) as site, house(tmp_path, {"far": {"url": site.url}}, HASTY) as at:
        await at.running("far")
        site.drops = True
        with pytest.raises(ToolError, match="'far' failed"):
            await at.call("far__add", a=1, b=1)
        site.drops = False
        assert (await at.call("far__add", a=1, b=1)).text == "2"


async def test_a_session_that_is_forgotten_and_a_token_that_is_refused_are_told_apart(tmp_path: Path) -> None:
    async with web(legacy=True) as site, house(tmp_path, {"far": {"url": site.url}}) as at:
        await at.running("far")
        site.forget = True
        assert (await at.call("far__add", a=1, b=1)).text == "2"
        await at.has_all_lists("far")
        site.status = 401
        with pytest.raises(ToolError, match="wants credentials"):
            await at.call("far__add", a=1, b=1)
        await at.come("far", ServerStatus.REQUIRES_AUTH)


async def test_of_twenty_servers_one_that_never_answers_holds_up_none(tmp_path: Path) -> None:
    """From the first line that a server reads to its tools being offered; its process needs what it needs."""
    names = [f"s{number}" for number in range(19)]
    logs = {name: tmp_path / f"{name}.log" for name in names}
    up: dict[str, float] = {}
    servers = {"mute": raw("never shakes hands"), **{name: raw("good", log) for name, log in logs.items()}}
    alone = tmp_path / "alone.log"
    async with house(tmp_path, {"s": raw("good", alone)}) as at:
        await at.until(lambda: bool(make_mcp_tools(at.manager)))
        control = time.time() - await asyncio.to_thread(_born, alone)
    async with house(tmp_path, servers, replace(QUICK, timeout=30)) as at:

        def all_up() -> bool:
            for tool in make_mcp_tools(at.manager):
                up.setdefault(tool.spec.server, time.time())
            return len(up) == len(names)

        await at.until(all_up)
        assert at.shown("mute").status is ServerStatus.STARTING
        begun = {name: await asyncio.to_thread(_born, log) for name, log in logs.items()}
        # A machine that is busy with other things is slow with one server, too.
        assert max(up[name] - begun[name] for name in names) < max(1.0, 10 * control)
        assert [(await at.call(f"{name}__work")).text for name in names] == ["done"] * len(names)


def _born(file: Path) -> float:
    """When its first line was written: nothing else writes to it before its server is asked the first thing."""
    return float(file.with_suffix(".born").read_text())
