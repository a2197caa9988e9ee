"""Servers that are reached by a URL, and what may go wrong on the way."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from jupyter_eca.errors import ToolError
from jupyter_eca.plugins.tools.configured.mcp_tool import make_mcp_tools
from jupyter_eca.protocol.mcp import ServerStatus
from tests.mcp_client.house import QUICK, house
from tests.mcp_client.web import find_free_port, web
from tests.support.partition import cuttable

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.asyncio


@pytest.mark.parametrize("kind", ["modern", "legacy", "sse"])
async def test_a_url_of_any_kind_is_spoken_to_with_its_headers(tmp_path: Path, kind: str) -> None:
    async with web(sse=kind == "sse", legacy=kind == "legacy") as site:
        headers = {"Authorization": "Bearer open-sesame"}
        async with house(tmp_path, {"far": {"url": site.url, "headers": headers}}) as at:
            shown = await at.running("far")
            assert (shown.url, shown.command) == (site.url, None)
            assert (await at.call("far__add", a=20, b=22)).text == "42"
            assert {line.split(" ", 2)[2] for line in site.seen} == {"Bearer open-sesame"}


@pytest.mark.parametrize("status", [202, 400, 403, 404, 500, 503])
async def test_a_refusal_at_the_handshake_is_a_failure_with_its_number(tmp_path: Path, status: int) -> None:
    async with web() as site:
        site.status = status
        async with house(tmp_path, {"far": {"url": site.url}}) as at:
            shown = await at.come("far", ServerStatus.FAILED)
            assert str(status) in str(shown.error)
            assert "running" not in at.statuses("far")


async def test_a_server_that_wants_credentials_is_not_a_failed_one(tmp_path: Path) -> None:
    async with web() as site:
        site.status = 401
        async with house(tmp_path, {"far": {"url": site.url}}) as at:
            shown = await at.come("far", ServerStatus.REQUIRES_AUTH)
            assert shown.has_auth is False
            site.status = 0
            at.manager.start("far")
            await at.running("far")


async def test_nobody_listening_is_told(tmp_path: Path) -> None:
    async with house(tmp_path, {"far": {"url": "http://127.0.0.1:9/mcp"}, "odd": {"url": "ftp://x"}}) as at:
        assert "connect" in str((await at.come("far", ServerStatus.FAILED)).error).lower()
        assert "http://" in str((await at.come("odd", ServerStatus.FAILED)).error)


async def test_a_server_that_is_down_at_start_is_tried_again_until_it_is_there(tmp_path: Path) -> None:
    port = find_free_port()
    attempts = len(QUICK.backoff) + 2
    async with house(tmp_path, {"far": {"url": f"http://127.0.0.1:{port}/mcp"}}) as at:
        await at.until(lambda: at.statuses("far").count("failed") >= attempts)
        async with web(port=port):
            await at.running("far")
            assert (await at.call("far__add", a=20, b=22)).text == "42"


async def test_a_server_that_is_overloaded_at_start_is_tried_again(tmp_path: Path) -> None:
    async with web() as site:
        site.status = 503
        async with house(tmp_path, {"far": {"url": site.url}}) as at:
            await at.come("far", ServerStatus.FAILED)
            site.status = 0
            await at.running("far")


async def test_a_server_that_dropped_keeps_its_tools_and_a_call_connects_again_at_once(tmp_path: Path) -> None:
    port, pace = find_free_port(), replace(QUICK, keep_alive=0.2, backoff=(600.0,))
    async with house(tmp_path, {"far": {"url": f"http://127.0.0.1:{port}/mcp"}}, pace) as at:
        async with web(legacy=True, port=port):
            at.manager.start("far")
            await at.running("far")
        await at.come("far", ServerStatus.FAILED)
        assert "far__add" in [tool.spec.name for tool in make_mcp_tools(at.manager)]
        assert at.manager.list_instructions() == {"far": "Be kind to me."}
        with pytest.raises(ToolError, match="'far' failed: it is failed"):
            await at.call("far__add", a=1, b=1)
        async with web(legacy=True, port=port):
            assert (await at.call("far__add", a=20, b=22)).text == "42"
        at.manager.stop("far")
        assert make_mcp_tools(at.manager) == []


async def test_a_forgotten_session_is_renewed_and_the_call_made_again_once(tmp_path: Path) -> None:
    async with web(legacy=True) as site, house(tmp_path, {"far": {"url": site.url}}) as at:
        await at.running("far")
        site.forget = True
        assert (await at.call("far__add", a=1, b=1)).text == "2"
        assert at.statuses("far")[-3:] == ["failed", "starting", "running"]


async def test_a_revoked_token_fails_the_call_at_once_and_is_shown(tmp_path: Path) -> None:
    async with web(legacy=True) as site, house(tmp_path, {"far": {"url": site.url}}) as at:
        await at.running("far")
        site.status = 401
        with pytest.raises(ToolError, match="it wants credentials"):
            await at.call("far__add", a=1, b=1)
        await at.come("far", ServerStatus.REQUIRES_AUTH)


async def test_a_server_error_costs_one_call(tmp_path: Path) -> None:
    async with web(legacy=True) as site, house(tmp_path, {"far": {"url": site.url}}) as at:
        await at.running("far")
        site.status = 502
        with pytest.raises(ToolError, match="HTTP 502"):
            await at.call("far__add", a=1, b=1)
        site.status = 0
        assert (await at.call("far__add", a=1, b=1)).text == "2"


async def test_a_session_that_is_gone_is_noticed_without_a_call(tmp_path: Path) -> None:
    pace = replace(QUICK, keep_alive=0.2)
    async with web(legacy=True) as site, house(tmp_path, {"far": {"url": site.url}}, pace) as at:
        await at.running("far")
        site.forget = True
        await at.until(lambda: at.statuses("far")[-3:] == ["failed", "starting", "running"])


async def test_a_server_that_goes_away_ends_what_waits_for_it(tmp_path: Path) -> None:
    async with house(tmp_path, {}) as at:
        async with web(legacy=True) as site:
            from jupyter_eca.protocol.mcp import McpAddServerParams

            await at.manager.add(McpAddServerParams(name="far", url=site.url))
            await at.running("far")
            waiting = asyncio.create_task(at.call("far__wait", seconds=60))
            await at.until(lambda: bool(make_mcp_tools(at.manager)))
        with pytest.raises(ToolError):
            await waiting


async def test_an_answer_that_is_too_large_fails_its_call_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MUCH", "x" * 60_000_000)
    async with web() as site, house(tmp_path, {"far": {"url": site.url}}) as at:
        await at.running("far")
        at.told.clear()
        with pytest.raises(ToolError, match="'far' failed: it sent a message of more than 48 MiB"):
            await at.call("far__environment", name="MUCH")
        await at.running("far")
        assert (await at.call("far__add", a=2, b=3)).text == "5"


# The next test tries an older server in each run.
@pytest.mark.parametrize("legacy", [pytest.param(True, marks=pytest.mark.nightly), False])
async def test_a_call_over_a_connection_that_is_half_open_fails_and_the_next_one_works(
    tmp_path: Path, legacy: bool
) -> None:
    """Nothing arrives any more from the server, and no connection is closed."""
    async with web(legacy=legacy) as site, cuttable(site.url) as network:
        settings = {"far": {"url": f"{network.url}/mcp"}}
        async with house(tmp_path, settings, replace(QUICK, timeout=1.0)) as at:
            await at.running("far")
            network.cut()
            with pytest.raises(ToolError, match=r"did not answer within 1 s"):
                await at.call("far__add", a=1, b=1)
            await at.come("far", ServerStatus.FAILED)
            network.heal()
            await at.until(lambda: at.statuses("far")[-1] == "running")
            assert (await at.call("far__add", a=20, b=22)).text == "42"


async def test_a_connection_that_is_half_open_is_noticed_without_a_call(tmp_path: Path) -> None:
    async with web(legacy=True) as site, cuttable(site.url) as network:
        settings = {"far": {"url": f"{network.url}/mcp"}}
        async with house(tmp_path, settings, replace(QUICK, timeout=1.0, keep_alive=0.2)) as at:
            await at.running("far")
            network.cut()
            assert "no longer answers" in str((await at.come("far", ServerStatus.FAILED)).error)
            network.heal()
            await at.until(lambda: at.statuses("far")[-1] == "running")
