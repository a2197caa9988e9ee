"""Servers that misbehave: each costs one failed call or its own start, told in a line, and nothing else."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from jupyter_eca.errors import ToolError
from jupyter_eca.plugins.tools.base import ToolContext
from jupyter_eca.protocol.mcp import ServerStatus
from jupyter_eca.workspace.ports import Files
from tests.mcp_client.house import QUICK, house, raw
from tests.support.timeouts import PATIENCE

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.asyncio
HASTY = replace(QUICK, timeout=1.5)


@pytest.mark.parametrize("behaviour", ["never shakes hands", "never lists"])
async def test_starting_never_lasts_longer_than_its_timeout(tmp_path: Path, behaviour: str) -> None:
    async with house(tmp_path, {"mute": raw(behaviour)}, HASTY) as at:
        shown = await at.come("mute", ServerStatus.FAILED)
        assert "did not finish starting within 1.5 s" in str(shown.error)
        assert ("not JSON-RPC" in str(shown.error)) == (behaviour == "never shakes hands")
        assert at.statuses("mute") == ["stopped", "starting", "failed"]


@pytest.mark.parametrize("behaviour", ["empty handshake", "wrong list"])
async def test_a_handshake_that_breaks_the_protocol_is_never_shown_as_running(tmp_path: Path, behaviour: str) -> None:
    async with house(tmp_path, {"odd": raw(behaviour)}) as at:
        shown = await at.come("odd", ServerStatus.FAILED)
        assert "breaks the protocol" in str(shown.error)
        assert "running" not in at.statuses("odd")


async def test_a_malformed_tool_is_left_out_and_told_and_the_others_can_be_used(tmp_path: Path) -> None:
    async with house(tmp_path, {"odd": raw("malformed tools")}) as at:
        shown = await at.running("odd")
        assert [tool.name for tool in shown.tools or ()] == ["work"]
        assert (await at.call("odd__work")).text == "done"
        log = [line.text for line in at.manager.read_log("odd")]
    for name in ("bad0", "bad1", "bad2", "bad3", "bad4", "number 7", "number 8"):
        assert f"the tool {name!r} is left out: " in str(shown.error)
        assert any(f"the tool {name!r} is left out: " in line for line in log)
    assert "the tool 'task' is left out: it runs only as a task, which is not supported" in str(shown.error)
    assert "inputSchema.properties.a.type: 'nonsense' is not valid" in str(shown.error)


async def test_a_schema_and_a_result_whose_check_would_never_end_hold_nobody_up(tmp_path: Path) -> None:
    """The pattern of the schema would try 2^64 ways to divide a text of the result."""
    async with house(tmp_path, {"slow": raw("has a slow output schema")}) as at:
        await at.running("slow")
        assert (await at.call("slow__work")).text.startswith("done")


async def test_why_a_server_did_not_start_is_told_without_its_secrets(tmp_path: Path) -> None:
    servers = {
        "gone": {"command": "no-such-program-anywhere"},
        "quits": raw("ends at once", env={"API_KEY": "sk-secret-key"}),
    }
    async with house(tmp_path, servers) as at:
        assert "No such file" in str((await at.come("gone", ServerStatus.FAILED)).error)
        why = str((await at.come("quits", ServerStatus.FAILED)).error)
        assert "it said: no module named ***" in why
        assert all("sk-secret-key" not in told.model_dump_json() for told in at.told)


async def test_a_server_that_ends_itself_over_a_newer_question_is_asked_the_older_one(tmp_path: Path) -> None:
    async with house(tmp_path, {"strict": raw("ends at an unknown question")}) as at:
        await at.running("strict")
        assert (await at.call("strict__work")).text == "done"


async def test_a_server_that_dies_in_a_call_fails_it_once_and_comes_back(tmp_path: Path) -> None:
    log = tmp_path / "log"
    async with house(tmp_path, {"mortal": raw("dies in a call", log), "other": raw("good")}) as at:
        await at.running("mortal")
        await at.running("other")
        with pytest.raises(ToolError, match="'mortal' failed: it ended during the call"):
            await at.call("mortal__work")
        assert log.read_text().count("tools/call") == 1
        assert (await at.call("other__work")).text == "done"
        await at.until(lambda: at.statuses("mortal")[-3:] == ["failed", "starting", "running"])


async def test_a_server_that_dies_again_and_again_is_given_up(tmp_path: Path) -> None:
    async with house(tmp_path, {"mortal": raw("dies in a call")}) as at:
        for _ in range(len(QUICK.backoff) + 1):
            await at.running("mortal")
            with pytest.raises(ToolError):
                await at.call("mortal__work")
        await at.come("mortal", ServerStatus.FAILED)
        at.manager.start("mortal")
        await at.running("mortal")


async def test_a_call_without_an_answer_ends_and_the_server_is_told(tmp_path: Path) -> None:
    log = tmp_path / "log"
    async with house(tmp_path, {"slow": raw("never answers", log)}, HASTY) as at:
        await at.running("slow")
        with pytest.raises(ToolError, match=r"'slow' failed: did not answer within 1\.5 s"):
            await at.call("slow__work")
        await _arrives(log, "notifications/cancelled")
        assert at.shown("slow").status is ServerStatus.RUNNING


async def test_a_stopped_call_is_cancelled_at_the_server(tmp_path: Path) -> None:
    log = tmp_path / "log"
    async with house(tmp_path, {"slow": raw("never answers", log)}) as at:
        await at.running("slow")
        call = asyncio.create_task(at.call("slow__work"))
        await _arrives(log, "tools/call")
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        await _arrives(log, "notifications/cancelled")


async def test_progress_gives_a_call_more_time(tmp_path: Path) -> None:
    async with house(tmp_path, {"busy": raw("progresses")}, replace(QUICK, timeout=0.6)) as at:
        await at.running("busy")
        assert (await at.call("busy__work")).text == "done"


async def test_an_answer_that_breaks_the_schema_costs_that_call_only(tmp_path: Path) -> None:
    async with house(tmp_path, {"odd": raw("breaks the schema")}) as at:
        await at.running("odd")
        for _ in range(2):
            with pytest.raises(ToolError, match="its answer breaks the protocol"):
                await at.call("odd__work")
        assert at.shown("odd").status is ServerStatus.RUNNING


@pytest.mark.parametrize("behaviour", ["garbage between", "floods"])
async def test_noise_beside_the_answer_does_not_matter(tmp_path: Path, behaviour: str) -> None:
    async with house(tmp_path, {"noisy": raw(behaviour)}) as at:
        await at.running("noisy")
        assert [(await at.call("noisy__work")).text for _ in range(3)] == ["done"] * 3


async def test_a_stopped_server_says_so_to_a_call_that_comes_late(tmp_path: Path) -> None:
    async with house(tmp_path, {"one": raw("good")}) as at:
        await at.running("one")
        tool = at.tool("one__work")
        at.manager.stop("one")
        await at.come("one", ServerStatus.STOPPED)
        with pytest.raises(ToolError, match="'one' failed: it is stopped"):
            await tool.run(ToolContext("chat", Files((tmp_path,))), {})
        at.manager.start("one")
        await at.running("one")
        assert (await tool.run(ToolContext("chat", Files((tmp_path,))), {})).text == "done"


async def _arrives(log: Path, word: str) -> None:
    """A file of another process: it cannot wake us."""
    async with asyncio.timeout(PATIENCE):
        while not log.exists() or word not in log.read_text():  # noqa: ASYNC110, ASYNC240
            await asyncio.sleep(0.01)


async def test_a_result_that_is_too_large_fails_its_call_at_once_and_the_server_comes_back(tmp_path: Path) -> None:
    async with house(tmp_path, {"much": raw("answers with much")}) as at:
        await at.running("much")
        assert len((await at.call("much__work", megabytes=20)).text) == 20_000_000
        at.told.clear()
        with pytest.raises(ToolError, match="'much' failed: it sent a message of more than 48 MiB"):
            await at.call("much__work", megabytes=100)
        await at.running("much")
        assert (await at.call("much__work", megabytes=1)).text.startswith("xxx")
