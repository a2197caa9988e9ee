"""Servers that do as they should: what they offer arrives, and they end."""

from __future__ import annotations

import asyncio
import base64
import json
import os
import subprocess
from typing import TYPE_CHECKING, Any, Final

import pytest

from jupyter_eca.plugins.tools.configured.mcp_tool import make_mcp_tools
from jupyter_eca.protocol.content import JsonOutputsDetails, Origin
from jupyter_eca.protocol.mcp import ServerStatus
from tests.mcp_client.house import PATIENCE, QUICK, house, raw, sdk, tour_server
from tests.mcp_client.sdk_server import PIXEL

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.asyncio


async def test_what_a_server_offers_is_shown_and_can_be_used(tmp_path: Path) -> None:
    async with house(tmp_path, {"tour": sdk()}) as at:
        shown = await at.running("tour")
        assert at.statuses("tour") == ["stopped", "starting", "running"]
        assert shown.instructions == "Be kind to me."
        assert at.manager.list_instructions() == {"tour": "Be kind to me."}
        assert {tool.name for tool in shown.tools or ()} >= {"add", "draw"}
        await at.until(lambda: bool(at.shown("tour").resources) and bool(at.shown("tour").prompts))
        assert [one.name for one in at.manager.list_prompts()["tour"]] == ["greet", "illustrate"]
        assert [one.uri for one in at.manager.list_resources()["tour"]] == ["memo://today"]
        assert await at.manager.get_prompt("tour", "greet", {"name": "Ada"}) == "Say hello to Ada."
        assert await at.manager.read_resource("tour", "memo://today") == ("buy milk", ())


async def test_the_text_of_a_prompt_says_that_its_image_is_left_out(tmp_path: Path) -> None:
    async with house(tmp_path, {"tour": sdk()}) as at:
        await at.running("tour")
        text = await at.manager.get_prompt("tour", "illustrate", {})
        assert text == "Describe this:\n\n(image/png, left out)"


async def test_a_tool_is_one_of_ours_and_its_result_keeps_structure_images_and_errors(tmp_path: Path) -> None:
    async with house(tmp_path, {"tour": sdk()}) as at:
        await at.running("tour")
        add = at.tool("tour__add")
        assert (add.spec.server, add.spec.origin, add.only_reads, at.tool("tour__fail").only_reads) == (
            "tour",
            Origin.MCP,
            True,
            False,
        )
        three = await at.call("tour__add", a=1, b=2)
        assert (three.text, three.error) == ("3", False)
        assert three.details == JsonOutputsDetails(jsons=('{"result": 3}',))
        drawn = await at.call("tour__draw")
        assert [base64.b64decode(image.base64) for image in drawn.images] == [PIXEL]
        failed = await at.call("tour__fail")
        assert failed.error
        assert "fail" in failed.text


async def test_calls_of_one_server_run_side_by_side(tmp_path: Path) -> None:
    async with house(tmp_path, {"tour": sdk()}) as at:
        await at.running("tour")
        waits = [at.call("tour__wait", seconds=0.5) for _ in range(20)]
        began = asyncio.get_running_loop().time()
        answers = await asyncio.gather(*waits, at.call("tour__add", a=2, b=2))
        assert [answer.text for answer in answers] == ["waited"] * 20 + ["4"]
        assert asyncio.get_running_loop().time() - began < 4


async def test_a_server_sees_the_variables_of_its_configuration_and_no_token_of_jupyter(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JUPYTER_TOKEN", "ours")
    async with house(tmp_path, {"tour": sdk(env={"MINE": "yes"})}) as at:
        await at.running("tour")
        assert (await at.call("tour__environment", name="MINE")).text == "yes"
        assert (await at.call("tour__environment", name="JUPYTER_TOKEN")).text == "unset"


async def test_the_roots_of_the_workspace_are_told_when_asked(tmp_path: Path) -> None:
    async with house(tmp_path, {"curious": raw("asks for the roots")}) as at:
        await at.running("curious")
        assert (await at.call("curious__work")).text == f"{tmp_path.as_uri()} {tmp_path.name}"


async def test_a_server_is_stopped_and_its_process_with_it_and_started_again(tmp_path: Path) -> None:
    pid = tmp_path / "pid"
    async with house(tmp_path, {"tour": sdk(str(pid))}) as at:
        await at.running("tour")
        first = int(pid.read_text())
        at.manager.stop("tour")
        stopped = await at.come("tour", ServerStatus.STOPPED)
        assert stopped.error is None
        assert at.statuses("tour")[-2:] == ["stopping", "stopped"]
        assert make_mcp_tools(at.manager) == []
        with pytest.raises(ProcessLookupError):
            os.kill(first, 0)
        at.manager.start("tour")
        await at.running("tour")
        second = int(pid.read_text())
    with pytest.raises(ProcessLookupError):
        os.kill(second, 0)


async def test_a_disabled_server_starts_only_when_it_is_asked_to(tmp_path: Path) -> None:
    async with house(tmp_path, {"quiet": raw("good", disabled=True), "loud": raw("good")}) as at:
        await at.running("loud")
        assert at.shown("quiet").status is ServerStatus.DISABLED
        at.manager.start("quiet")
        await at.running("quiet")
        at.manager.stop("quiet")
        assert (await at.come("quiet", ServerStatus.DISABLED)).disabled


async def test_tools_of_two_servers_with_equal_names_go_each_to_its_own(tmp_path: Path) -> None:
    logs = {"a": tmp_path / "a.log", "a_": tmp_path / "b.log"}
    async with house(tmp_path, {name: raw("good", log) for name, log in logs.items()}) as at:
        for name in logs:
            await at.running(name)
        tools = {tool.spec.server: tool.spec.name for tool in make_mcp_tools(at.manager)}
        assert tools["a"] == "a__work"
        assert len(set(tools.values())) == 2
        await at.call(tools["a_"])
        assert "tools/call" in logs["a_"].read_text()
        assert "tools/call" not in logs["a"].read_text()


async def test_a_tool_that_a_call_made_appear_is_there_when_its_result_is(tmp_path: Path) -> None:
    async with house(tmp_path, {"one": raw("changes its list")}) as at:
        await at.running("one")
        await at.call("one__work")
        assert [tool.spec.name for tool in make_mcp_tools(at.manager)] == ["one__worked"]
        await at.until(lambda: [tool.name for tool in at.told[-1].tools or ()] == ["worked"])


async def test_servers_start_side_by_side_past_one_that_never_answers(tmp_path: Path) -> None:
    servers = {f"s{i}": raw("good") for i in range(9)} | {"mute": raw("never shakes hands")}
    async with house(tmp_path, servers, QUICK) as at:
        await at.until(lambda: len(make_mcp_tools(at.manager)) == 9)
        assert at.shown("mute").status is ServerStatus.STARTING


async def test_no_server_costs_no_import_of_the_sdk(tmp_path: Path) -> None:
    code = f"""
import asyncio, sys
from pathlib import Path
from jupyter_eca.config import Config
from jupyter_eca.config.credentials import KeyStore
from jupyter_eca.mcp_client import McpManager
from jupyter_eca.plugins.tools.configured.mcp_tool import make_mcp_tools
async def main():
    folder = Path({str(tmp_path)!r})
    manager = McpManager(Config(), (folder,), print, print, KeyStore(folder / "auth.json"), None, folder)
    running = asyncio.ensure_future(manager.run())
    await asyncio.wait_for(manager.servers_known.wait(), {PATIENCE})
    assert make_mcp_tools(manager) == [] and manager.list_servers() == ()
    running.cancel()
asyncio.run(main())
assert not {{"mcp", "mcp_types"}} & set(sys.modules)
"""
    import sys

    done = await asyncio.create_subprocess_exec(sys.executable, "-c", code)
    assert await done.wait() == 0


QUESTIONS: Final[tuple[tuple[str, dict[str, Any]], ...]] = (
    ("tools/list", {}),
    ("prompts/list", {}),
    ("resources/list", {}),
    ("resources/templates/list", {}),
    ("tools/call", {"name": "add", "arguments": {"a": 2, "b": 3}}),
    ("tools/call", {"name": "draw", "arguments": {}}),
    ("tools/call", {"name": "fail", "arguments": {}}),
    ("tools/call", {"name": "wait", "arguments": {"seconds": 0}}),
    ("tools/call", {"name": "environment", "arguments": {"name": "NO_SUCH_VARIABLE"}}),
    ("prompts/get", {"name": "greet", "arguments": {"name": "Ada"}}),
    ("prompts/get", {"name": "greet", "arguments": {}}),
    ("prompts/get", {"name": "illustrate", "arguments": {}}),
    ("resources/read", {"uri": "memo://today"}),
)
HELLO: Final = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}


def ask_all(server: dict[str, Any]) -> list[Any]:
    """Return what a server replies to each of the questions."""
    with subprocess.Popen(
        [server["command"], *server["args"]],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        replies: list[Any] = []
        for number, (method, params) in enumerate((("initialize", HELLO), *QUESTIONS)):
            message = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
            process.stdin.write(json.dumps(message) + "\n")
            process.stdin.flush()
            replies.append(json.loads(process.stdout.readline()))
            if method == "initialize":
                process.stdin.write('{"jsonrpc": "2.0", "method": "notifications/initialized"}\n')
        process.stdin.close()
    return replies


@pytest.mark.cold_start
async def test_the_server_that_is_quick_to_start_replies_as_the_sdks_does() -> None:
    quick, of_the_sdk = await asyncio.gather(*(asyncio.to_thread(ask_all, one) for one in (tour_server(), sdk())))
    assert quick == of_the_sdk
