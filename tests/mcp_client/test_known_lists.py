"""A server that is still starting offers what it offered when it last ran."""

from __future__ import annotations

import asyncio
import os
import sys
from typing import TYPE_CHECKING, Any

import pytest

from jupyter_eca.errors import ToolError
from jupyter_eca.plugins.tools.base import ToolContext
from jupyter_eca.protocol.mcp import ServerStatus
from jupyter_eca.workspace.ports import Files
from tests.mcp_client.house import PATIENCE, house, raw

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.asyncio

# A server that waits for a file, and then becomes another program: so the same entry of the configuration starts late,
# or offers something else.
_GATE = """
import os, pathlib, sys, time
gate = pathlib.Path(sys.argv[1])
while not gate.exists():
    time.sleep(0.02)
os.execv(sys.executable, [sys.executable, sys.argv[2], gate.read_text()])
"""


def gated(gate: Path, **more: Any) -> dict[str, Any]:
    server = raw("works")["args"][0]
    return {"command": sys.executable, "args": ["-c", _GATE, str(gate), server], **more}


def open_gate(gate: Path, behaviour: str = "works") -> None:
    gate.write_text(behaviour)


async def run_once(folder: Path, gate: Path) -> None:
    """Run the server, so that its tools are kept, and close its gate."""
    open_gate(gate)
    async with house(folder, {"s": gated(gate)}) as at:
        await at.running("s")
    await asyncio.to_thread(gate.unlink)


async def test_a_server_that_starts_late_offers_the_tools_it_had_and_a_call_waits_for_it(tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    await run_once(tmp_path, gate)
    async with house(tmp_path, {"s": gated(gate)}) as at:
        await at.until(lambda: bool(at.manager.list_tools()))
        assert at.shown("s").status is ServerStatus.STARTING
        async with asyncio.timeout(PATIENCE):
            await at.manager.await_started(PATIENCE * 2, or_known=True)
        call = asyncio.ensure_future(at.call("s__work"))
        await asyncio.sleep(0)
        assert not call.done()
        open_gate(gate)
        assert (await call).text == "done"


@pytest.mark.parametrize(
    ("behaviour", "why"),
    [("has other tools", "no longer has the tool"), ("describes its tool anew", "has changed since it was offered")],
)
async def test_a_tool_that_is_not_as_it_was_shown_is_not_called(tmp_path: Path, behaviour: str, why: str) -> None:
    gate, log = tmp_path / "gate", tmp_path / "log"
    await run_once(tmp_path, gate)
    async with house(tmp_path, {"s": gated(gate, env={"LOG": str(log)})}) as at:
        await at.until(lambda: at.shown("s").status is ServerStatus.STARTING)
        assert at.manager.list_tools() == []  # with another variable it counts as another server
    async with house(tmp_path, {"s": gated(gate)}) as at:
        await at.until(lambda: bool(at.manager.list_tools()))
        tool = at.tool("s__work")
        open_gate(gate, behaviour)
        with pytest.raises(ToolError, match=f"{why}.*; nothing was called"):
            await tool.run(ToolContext("chat", Files((tmp_path,)), "call"), {})


async def test_a_server_that_does_not_start_any_more_offers_nothing(tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    await run_once(tmp_path, gate)
    open_gate(gate, "ends at once")
    async with house(tmp_path, {"s": gated(gate)}) as at:
        await at.come("s", ServerStatus.FAILED)
        assert at.manager.list_tools() == []


async def test_what_is_kept_of_a_server_has_no_secret_and_is_the_users_alone(tmp_path: Path) -> None:
    secret = {"API_KEY": "geheim-1234567890", "MODE": "fast-mode"}
    async with house(tmp_path, {"s": raw("repeats its secret", env=secret)}) as at:
        await at.running("s")
    (file,) = (tmp_path / "data" / "mcp-lists").iterdir()
    assert "Works with" in file.read_text()
    assert secret["API_KEY"] not in file.read_text()
    assert file.stat().st_mode & 0o077 == 0
    assert file.parent.stat().st_mode & 0o077 == 0


async def test_a_file_that_is_no_list_is_as_if_it_was_not_there(tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    await run_once(tmp_path, gate)
    (file,) = (tmp_path / "data" / "mcp-lists").glob("*.json")
    file.write_text('{"tools": 5}')
    open_gate(gate)
    async with house(tmp_path, {"s": gated(gate)}) as at:
        await at.running("s")
        assert at.tool("s__work")


async def test_what_a_killed_process_left_half_written_is_deleted_and_what_is_being_written_is_not(
    tmp_path: Path,
) -> None:
    lists = tmp_path / "data" / "mcp-lists"
    lists.mkdir(parents=True)
    # The first process has our number, but began long ago; the second is this one.
    left, fresh = (lists / f"a.json.{os.getpid()}-{number}{7 * '0'}.new" for number in "01")
    for file in (left, fresh):
        file.write_text("{")
    os.utime(left, (0, 0))
    async with house(tmp_path, {"s": raw("works")}) as at:
        await at.running("s")
    assert [file.name for file in lists.glob("*.new")] == [fresh.name]


async def test_many_servers_start_a_few_at_a_time_and_all_arrive(tmp_path: Path) -> None:
    servers = {f"s{number}": raw("works") for number in range(8)}
    async with house(tmp_path, servers) as at:
        for name in servers:
            await at.running(name)
        at.manager.stop("s3")
        await at.come("s3", ServerStatus.STOPPED)


async def test_a_server_that_waits_for_its_turn_to_start_is_stopped_at_once(tmp_path: Path) -> None:
    never = {"command": sys.executable, "args": ["-c", "import sys; sys.stdin.read()"]}
    servers = {f"n{number}": never for number in range(32)}
    async with house(tmp_path, servers) as at:
        at.manager.stop("n31")
        await at.come("n31", ServerStatus.STOPPED)
