"""Real processes that are killed while commands run. The next one ends what was left running, and says so."""

from __future__ import annotations

import asyncio
import json
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psutil
import pytest

from jupyter_eca.protocol.jsonrpc import Notification, Request
from tests.support.editor_process import Editor, editor
from tests.support.host_and_client import settings
from tests.support.processes import find_processes, have_ended, is_alive

if TYPE_CHECKING:
    from collections.abc import Iterator

    from jupyter_eca.protocol.jsonrpc import Message

MARKING_SERVER = Path(__file__).parents[1] / "faults" / "marking_server.py"

pytestmark = [
    pytest.mark.asyncio,
    pytest.mark.skipif(sys.platform == "win32", reason="processes have no sessions and files no locks of this kind"),
]


@pytest.fixture(autouse=True)
def _nothing_left(tmp_path: Path) -> Iterator[None]:  # pyright: ignore[reportUnusedFunction]  # a fixture
    """Whatever a test leaves, also one that fails: processes that only the next start would end."""
    yield
    for pid in find_processes(tmp_path / "ws" / "data"):
        with suppress(psutil.NoSuchProcess):
            psutil.Process(pid).kill()


def write_story(workspace: Path, call: dict[str, Any]) -> None:
    story = [{"result": "", "reply": [{"text": "Done: {result}"}]}, {"message": "", "reply": [call]}]
    allow = {"approval": {"byDefault": "allow"}}
    (workspace / ".eca").mkdir(parents=True, exist_ok=True)
    (workspace / ".eca" / "config.json").write_text(json.dumps(settings(workspace.parent, story, toolCall=allow)))


def read_words(file: Path) -> list[str]:
    return file.read_text().split() if file.exists() else []


async def read_pids(file: Path, count: int) -> list[int]:
    """Wait for another process to write so many ids of processes."""
    async with asyncio.timeout(60):
        while len(words := read_words(file)) < count:  # noqa: ASYNC110  # no event tells what another process writes
            await asyncio.sleep(0.02)
    return [int(word) for word in words]


async def kill(at: Editor) -> None:
    at.process.kill()
    await at.process.wait()


async def end(at: Editor) -> None:
    """End the process as an editor does."""
    await at.request(99, "shutdown", None)
    await at.send(Notification("exit", None))
    await at.process.wait()


async def hear(at: Editor, *words: str) -> None:
    """Wait for a message with these words, unless it was heard already."""

    def has(message: Message) -> bool:
        return all(mentions(message, word) for word in words)

    if not any(map(has, at.heard)):
        await at.until(has)


def mentions(message: Message, word: str) -> bool:
    return isinstance(message, Notification) and word in json.dumps(message.params)


@pytest.mark.parametrize("background", [False, True], ids=["command", "job"])
async def test_what_runs_when_the_server_is_killed_is_ended_and_named_by_the_next_one(
    tmp_path: Path, background: bool
) -> None:
    workspace = tmp_path / "ws"
    pids = tmp_path / "pids"
    # One child leaves the session, one clears its environment: each is found in the other way.
    line = f"setsid sleep 1001 & echo $! >> {pids}; env -i sleep 1002 & echo $! >> {pids}; echo $$ >> {pids}; wait"
    write_story(workspace, {"tool": "shell_command", "arguments": {"command": line, "background": background}})
    async with editor(workspace) as at:
        await at.initialize(workspace)
        await at.send(Request("ask", "chat/prompt", {"chatId": "c", "message": "serve"}))
        running = await read_pids(pids, 3)
        await kill(at)
    assert all(map(is_alive, running))
    async with editor(workspace) as at:
        await at.initialize(workspace)
        await at.until(lambda message: mentions(message, "sleep 1001") and mentions(message, "was still running"))
        assert have_ended(*running)
        await at.request(2, "chat/open", {"chatId": "c"})
        assert any(
            mentions(message, "was still running") and mentions(message, '"chatId": "c"') for message in at.heard
        )


async def test_the_output_of_a_command_does_not_outlive_a_killed_server(tmp_path: Path) -> None:
    workspace, temporary = tmp_path / "ws", tmp_path / "tmp"
    temporary.mkdir()
    write_story(workspace, {"tool": "shell_command", "arguments": {"command": "seq 60000"}})
    async with editor(workspace, TMPDIR=str(temporary)) as at:
        await at.initialize(workspace)
        await at.send(Request("ask", "chat/prompt", {"chatId": "c", "message": "count"}))
        await at.content("toolCalled")
        assert [path for path in temporary.rglob("*.txt") if "59999" in path.read_text()]
        await kill(at)
    async with editor(workspace, TMPDIR=str(temporary)) as at:
        await at.initialize(workspace)
        await at.request(2, "providers/list", {})
        assert list(temporary.iterdir()) == []


async def test_an_mcp_server_that_ignores_the_end_of_its_stdin_does_not_outlive_a_killed_server(tmp_path: Path) -> None:
    workspace = tmp_path / "ws"
    write_story(workspace, {"text": "Hello."})
    file = workspace / ".eca" / "config.json"
    stubborn = {"command": sys.executable, "args": [str(MARKING_SERVER), str(tmp_path / "marks"), "stays"]}
    file.write_text(json.dumps(json.loads(file.read_text()) | {"mcpServers": {"marker": stubborn}}))
    async with editor(workspace) as at:
        await at.initialize(workspace)
        await hear(at, '"marker"', '"running"')
        (server,) = (child.pid for child in psutil.Process(at.process.pid).children())
        await kill(at)
    assert is_alive(server)
    async with editor(workspace) as at:
        await at.initialize(workspace)
        await hear(at, "marking_server", "was still running")
        assert have_ended(server)
        # It has started its own, which it ends.
        await hear(at, '"marker"', '"running"')
        await end(at)
    assert have_ended(*find_processes(workspace / "data"))


async def test_the_commands_of_a_server_that_lives_are_left_alone(tmp_path: Path) -> None:
    workspace = tmp_path / "ws"
    pids = tmp_path / "pids"
    serve = {"command": f"echo $$ >> {pids}; sleep 1003", "background": True}
    write_story(workspace, {"tool": "shell_command", "arguments": serve})
    async with editor(workspace) as first:
        await first.initialize(workspace)
        await first.send(Request("ask", "chat/prompt", {"chatId": "c", "message": "serve"}))
        running = await read_pids(pids, 1)
        async with editor(workspace) as second:
            await second.initialize(workspace)
            await second.request(2, "providers/list", {})
            assert all(map(is_alive, running))
        await kill(first)
    async with editor(workspace) as third:
        await third.initialize(workspace)
        await third.until(lambda message: mentions(message, "was still running"))
        assert have_ended(*running)


async def test_the_kernel_and_its_connection_file_do_not_outlive_a_killed_server(tmp_path: Path) -> None:
    workspace, temporary = tmp_path / "ws", tmp_path / "tmp"
    temporary.mkdir()
    pids = tmp_path / "pids"
    code = f"import os, time; open({str(pids)!r}, 'w').write(str(os.getpid())); time.sleep(1000)"
    write_story(workspace, {"tool": "run_code", "arguments": {"code": code}})
    async with editor(workspace, TMPDIR=str(temporary)) as at:
        await at.initialize(workspace)
        await at.send(Request("ask", "chat/prompt", {"chatId": "c", "message": "serve"}))
        (kernel,) = await read_pids(pids, 1)
        (connection,) = (Path(word) for word in psutil.Process(kernel).cmdline() if word.endswith(".json"))
        await kill(at)
    async with editor(workspace, TMPDIR=str(temporary)) as at:
        await at.initialize(workspace)
        await at.request(2, "providers/list", {})
        assert have_ended(kernel)
        assert not connection.exists()
        assert list(temporary.glob("*.json")) == []
