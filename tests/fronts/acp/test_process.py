"""`jupyter-eca acp` as a real process: the whole story over its pipes, bad input, and what is left when it ends."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

import psutil
import pytest

from jupyter_eca.protocol.acp import AcpErrorCode
from jupyter_eca.protocol.acp.json_lines import MAX_LINE_BYTES
from jupyter_eca.protocol.jsonrpc import ErrorCode, ErrorResponse, Request, Result
from tests.fronts.acp.script import RULES
from tests.fronts.acp.test_client_servers import WORK, program
from tests.plugins.test_loader import install
from tests.support.acp_client import agent, get_update, needs_schema
from tests.support.host_and_client import settings
from tests.support.processes import have_ended

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = [pytest.mark.asyncio, needs_schema]

STORY: list[dict[str, Any]] = [
    {"result": "42", "reply": [{"text": "It is 42."}]},
    {"message": "^compute", "reply": [{"tool": "run_code", "arguments": {"code": "print(6 * 7)"}}]},
    {"result": "^done", "reply": [{"text": "It has worked."}]},
    {
        "message": "^wait",
        "reply": [
            {"tool": "run_code", "arguments": {"code": "import time\nprint('begun', flush=True)\ntime.sleep(600)"}}
        ],
    },
    {"message": "^work", "reply": [WORK]},
    {"message": "^shout", "reply": [{"tool": "shout", "arguments": {}}]},
    *RULES,
]


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    folder = tmp_path / "workspace"
    (folder / ".eca").mkdir(parents=True)
    (folder / ".eca" / "config.json").write_text(json.dumps(settings(tmp_path, STORY)))
    return folder.resolve()


@pytest.fixture
def loud(tmp_path: Path) -> Path:
    """A plug that prints when it is loaded and when it runs."""
    plugs = tmp_path / "plugs"
    plugs.mkdir()
    (plugs / "loud_tool.py").write_text(
        "from jupyter_eca.plugins import tool\nprint('loaded')\n\n@tool(reads=True)\nasync def shout(context) -> str:\n"
        "    '''Shout.'''\n    print('shouting')\n    return '42'\n\nTOOLS = (shout,)\n"
    )
    install(plugs, "tools", loud="loud_tool:TOOLS")
    return plugs


async def test_the_whole_story_over_pipes(workspace: Path, loud: Path) -> None:
    """Every message is valid, and stdout has nothing else, even if code and plugs print to it."""
    async with agent(workspace, path=loud) as client:
        assert (await client.initialize())["protocolVersion"] == 1
        opened = await client.open(program(workspace / "log"))
        assert opened["modes"]["currentModeId"] == "code"
        assert await client.prompt("think") == "end_turn"
        story = [("write new.txt one", "allow_once"), ("compute", "allow_always"), ("shout", "allow_once"),
                 ("work", "allow_once")]  # fmt: skip
        for message, answer in story:
            prompt = await client.start_prompt(message)
            await client.decide(await client.permission(), answer)
            assert await client.stop_reason(prompt) == "end_turn"
        assert (workspace / "new.txt").read_text() == "one\n"
        assert client.said().endswith("It is 42.It has worked.")
        prompt = await client.start_prompt("stream")
        await client.update("agent_message_chunk")
        await client.cancel()
        assert await client.stop_reason(prompt) == "cancelled"
        assert await client.prompt("/help") == "end_turn"
        session = client.session
        sessions = (await client.result("session/list", {"cwd": str(workspace)}))["sessions"]
        assert [entry["sessionId"] for entry in sessions] == [session]
        await client.result("session/close", {"sessionId": session})
        since = len(client.heard)
        params: Any = {"sessionId": session, "cwd": str(workspace), "mcpServers": []}
        await client.result("session/load", params)
        assert client.said(since, "user_message_chunk").startswith("think")
        await client.result("session/set_mode", {"sessionId": session, "modeId": "plan"})
        await client.result("session/delete", {"sessionId": session})
        assert await client.close_stdin() == 0


@pytest.mark.nightly
async def test_each_session_works_in_its_own_folder(workspace: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    async with agent(workspace, JUPYTER_ECA_TRUSTED_FOLDERS=str(workspace)) as client:
        await client.initialize()
        await client.open()
        await client.prompt("you")
        elsewhere = await client.result("session/new", {"cwd": str(other), "mcpServers": []})
        here = (await client.result("session/list", {"cwd": str(workspace)}))["sessions"]
        assert [entry["sessionId"] for entry in here] == [client.session]
        assert (await client.result("session/list", {"cwd": str(other)}))["sessions"] == []
        wrong: Any = {"sessionId": client.session, "cwd": str(other), "mcpServers": []}
        assert await client.code("session/load", wrong) == AcpErrorCode.RESOURCE_NOT_FOUND
        assert elsewhere["sessionId"] != client.session


@pytest.mark.nightly
async def test_sessions_are_there_when_the_agent_is_started_again(workspace: Path) -> None:
    async with agent(workspace) as client:
        await client.initialize()
        await client.open()
        await client.prompt("you")
        session = client.session
        client.process.kill()
        await client.process.wait()
    async with agent(workspace) as client:
        await client.initialize()
        params: Any = {"sessionId": session, "cwd": str(workspace), "mcpServers": []}
        await client.result("session/load", params)
        assert client.said(session=session) == "Hello, you"


async def test_neither_kernels_nor_servers_nor_commands_outlive_stdin(workspace: Path) -> None:
    async with agent(workspace) as client:
        await client.initialize()
        await client.open(program(workspace / "log"))
        prompt = await client.start_prompt("work")
        await client.decide(await client.permission(), "allow_once")
        assert await client.stop_reason(prompt) == "end_turn"
        await client.start_prompt("wait")
        await client.decide(await client.permission(), "allow_once")
        await client.until(lambda message: "begun\\n" in repr(get_update(message).get("content")))
        children = psutil.Process(client.process.pid).children(recursive=True)
        assert len(children) >= 2  # the kernel and the server
        assert await client.close_stdin() == 0
        assert have_ended(*(child.pid for child in children))


@pytest.mark.nightly
async def test_an_open_question_does_not_keep_the_process_alive(workspace: Path) -> None:
    async with agent(workspace) as client:
        await client.initialize()
        await client.open()
        await client.start_prompt("write new.txt no")
        await client.permission()
        assert await client.close_stdin() == 0
        assert not (workspace / "new.txt").exists()


@pytest.mark.nightly
async def test_a_signal_ends_the_process(workspace: Path) -> None:
    async with agent(workspace) as client:
        await client.initialize()
        await client.open()
        await client.start_prompt("stream")
        await client.update("agent_message_chunk")
        client.process.terminate()
        assert await asyncio.wait_for(client.process.wait(), client.patience) == 0


JUNK: list[tuple[bytes, ErrorCode]] = [
    (b"hello\n", ErrorCode.PARSE),
    (b"\xff\xfe\x00\n", ErrorCode.PARSE),
    (b"Content-Length: 20\r\n\r\n", ErrorCode.PARSE),
    (b"[]\n", ErrorCode.INVALID_REQUEST),
    (b'{"jsonrpc": "2.0", "method": 5, "id": 1}\n', ErrorCode.INVALID_REQUEST),
    (b"x" * (MAX_LINE_BYTES + 40_000_000) + b"\n", ErrorCode.INVALID_REQUEST),
]


async def test_junk_is_answered_with_one_error_each_and_the_session_goes_on(workspace: Path, tmp_path: Path) -> None:
    log = tmp_path / "stderr"
    with log.open("wb") as errors:
        async with agent(workspace, errors=errors) as client:
            await client.initialize()
            await client.open()
            for data, code in JUNK:
                await client.lines.write(data)
                refused = await client.until(lambda message: isinstance(message, ErrorResponse))
                assert (refused.id, refused.code) == (None, code)
                assert len(refused.message) < 300
            await client.lines.write(b"\n\r\n   \n")
            await client.lines.send(Request(None, "session/list", {"cwd": str(workspace)}))
            answer = await client.until(lambda message: isinstance(message, Result) and message.id is None)
            assert answer.result["sessions"] == []
            assert await client.prompt("you") == "end_turn"
            assert client.said() == "Hello, you"
            assert await client.close_stdin() == 0
    assert "Traceback" not in log.read_text()


@pytest.mark.nightly
async def test_a_client_that_says_nothing_and_leaves_ends_the_process(workspace: Path) -> None:
    async with agent(workspace) as client:
        assert await client.close_stdin() == 0


async def test_a_client_that_does_not_read_and_leaves_ends_the_process(workspace: Path) -> None:
    async with agent(workspace) as client:
        await client.initialize()
        await client.open()
        for _ in range(40):
            await client.start_prompt("y" * 100_000)
        assert await client.close_stdin() == 0


@pytest.mark.nightly
async def test_a_broken_configuration_is_named_in_the_answer(workspace: Path) -> None:
    (workspace / "broken.json").write_text("{")
    async with agent(workspace, "--config-file", str(workspace / "broken.json")) as client:
        await client.initialize()
        refused = await client.ask("session/new", {"cwd": str(workspace), "mcpServers": []})
        assert isinstance(refused, ErrorResponse)
        assert "broken.json" in refused.message
        (workspace / "broken.json").write_text("{}")
        await client.open()
