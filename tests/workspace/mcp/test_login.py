"""Logging in to a server: asked for by the user, done in a browser, forgotten on request."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from jupyter_eca.errors import McpRefusal
from jupyter_eca.protocol.mcp import ServerStatus
from tests.workspace.mcp.door import TOKEN, Gate, say_yes
from tests.workspace.mcp.house import house, raw
from tests.workspace.mcp.web import web

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.asyncio


async def test_a_user_logs_in_with_a_browser_and_out_again(tmp_path: Path) -> None:
    asked: asyncio.Queue[tuple[str, str]] = asyncio.Queue()

    def authorize(name: str, url: str) -> None:
        asked.put_nowait((name, url))

    async with web(gate=Gate) as site, house(tmp_path, {"far": {"url": site.url}}, authorize=authorize) as at:
        await at.come("far", ServerStatus.REQUIRES_AUTH)
        assert asked.empty()
        await at.manager.connect("far")
        name, url = await asyncio.wait_for(asked.get(), 5)
        page = await say_yes(url)
        assert (name, page.status_code, "logged in" in page.text) == ("far", 200, True)
        shown = await at.running("far")
        assert shown.has_auth
        assert (await at.call("far__add", a=1, b=2)).text == "3"
        assert all(TOKEN not in told.model_dump_json() for told in at.told)
        at.manager.logout("far")
        assert (await at.come("far", ServerStatus.REQUIRES_AUTH)).has_auth is False


async def test_where_nobody_can_log_in_a_server_goes_on_requiring_it(tmp_path: Path) -> None:
    async with web(gate=Gate) as site, house(tmp_path, {"far": {"url": site.url}, "near": raw("good")}) as at:
        await at.come("far", ServerStatus.REQUIRES_AUTH)
        for name, why in (("far", "nobody here"), ("near", "nothing to log in to")):
            with pytest.raises(McpRefusal, match=why):
                await at.manager.connect(name)
        assert at.shown("far").status is ServerStatus.REQUIRES_AUTH
