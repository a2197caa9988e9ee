"""The live notebook for an outside agent: our tools by a token of its own, one question for one act."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import sys
import tempfile
from asyncio.subprocess import DEVNULL, PIPE
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psutil
import pytest

from jupyter_eca.fronts.mcp import agent_pipe
from jupyter_eca.fronts.mcp.agent_endpoint import open_agent_endpoint
from jupyter_eca.fronts.mcp.agent_pipe import SOCKET_VARIABLE, TOKEN_VARIABLE
from jupyter_eca.protocol.content import FileChangeDetails
from jupyter_eca.workspace.jobs import process_folder
from tests.host.hooks.written import hook, says
from tests.host.outside.talking import Talking, fake
from tests.host.outside.test_calls import no, results, runs, yes
from tests.support.fake_agent import MCP_GREETING
from tests.support.host_and_client import answer, desk, said, tool_states
from tests.support.notebook_page import PATH, Nobody, Page, code

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from jupyter_eca.protocol.chat import ChatContentReceivedParams

pytestmark = pytest.mark.asyncio

RAN = ["toolCallPrepare", "toolCallRun", "toolCallRunning", "toolCalled"]
READ = json.dumps({"path": PATH})
CHANGE = json.dumps({"path": PATH, "changes": [{"do": "edit", "cell": "c1", "source": "x = 2"}]})
READING: dict[str, Any] = {"approval": {"allow": {"notebook_read": {}}}}


class Beside(Talking):
    """An agent beside a page with a notebook."""

    page: Page


@asynccontextmanager
async def beside(folder: Path, *quirks: str, **more: Any) -> AsyncGenerator[Beside]:
    """A host with the agent, and a page with one notebook of one cell."""
    (folder / "work").mkdir()
    (folder / PATH).write_text("the file, which is older")
    page = Page({PATH: [code("c1", "x = 1")]})
    async with (
        desk(folder, [], Nobody(), acpAgents=fake(folder, *quirks), **more) as table,
        open_agent_endpoint(table.host, table.tasks),
    ):
        await page.join(table)
        talk = Beside(table, await table.client(), folder.parent / f"{folder.name}-frames.jsonl")
        talk.page = page
        try:
            yield talk
        finally:
            table.host.outside_agents.close()
            await page.leave()


def questions(received: list[ChatContentReceivedParams]) -> list[str]:
    return [run.name for run in runs(received) if run.manual_approval]


async def test_the_agent_reads_the_live_notebook_and_not_its_file(tmp_path: Path) -> None:
    async with beside(tmp_path, toolCall=READING) as talk:
        received = await talk.ask(f"mcp silent eca_notebook_read {READ}")
        assert "x = 1" in said(received)
        assert tool_states(received) == RAN


async def test_only_tools_for_notebooks_and_kernels_are_offered(tmp_path: Path) -> None:
    async with beside(tmp_path) as talk:
        names = said(await talk.ask("mcp_tools")).split()
        assert "eca_notebook_read" in names
        assert "eca_notebook_change" in names
        assert {name for name in names if not name.startswith(("eca_notebook_", "eca_kernel_"))} == set()


@pytest.mark.parametrize("style", ["named", "silent"])
async def test_a_change_of_a_cell_is_asked_once_with_the_cell_and_made_in_the_page(tmp_path: Path, style: str) -> None:
    async with beside(tmp_path, toolCall=READING) as talk:
        read = f"mcp silent eca_notebook_read {READ}"
        received = await talk.ask(read, f"mcp {style} eca_notebook_change {CHANGE}", choose=yes)
        assert questions(received) == ["notebook_change"]
        details = next(run.details for run in runs(received) if run.name == "notebook_change")
        assert isinstance(details, FileChangeDetails)
        assert "+x = 2" in details.diff
        assert talk.page.cells() == [("c1", "x = 2")]
        await answer(talk.client, "/undo")
        assert talk.page.cells() == [("c1", "x = 1")]


async def test_an_agent_that_does_not_say_what_it_calls_is_asked_once_too(tmp_path: Path) -> None:
    async with beside(tmp_path, toolCall=READING) as talk:
        read = f"mcp silent eca_notebook_read {READ}"
        received = await talk.ask(read, f"mcp nameless eca_notebook_change {CHANGE}", choose=yes)
        assert [result.error for result in results(received)] == [False, False, False]
        assert questions(received) == ["other"]
        assert talk.page.cells() == [("c1", "x = 2")]


async def test_a_rejected_change_reaches_the_agent_as_an_error(tmp_path: Path) -> None:
    async with beside(tmp_path, toolCall=READING) as talk:
        read = f"mcp silent eca_notebook_read {READ}"
        received = await talk.ask(read, f"mcp named eca_notebook_change {CHANGE}", choose=no)
        assert "error: " in said(received)
        assert talk.page.cells() == [("c1", "x = 1")]


async def test_the_file_of_an_open_notebook_is_not_written_and_the_agent_is_told_our_tools(tmp_path: Path) -> None:
    async with beside(tmp_path) as talk:
        received = await talk.ask(f"opencode_write {PATH}", f"stray_write {PATH}", f"claude_edit {PATH} file FILE")
        assert questions(received) == []
        texts = [result.outputs[0].text for result in results(received) if result.outputs and result.error]
        assert len(texts) == 2
        assert all("eca_notebook_change" in text for text in texts)
        assert "refused" in said(received)
        assert (tmp_path / PATH).read_text() == "the file, which is older"
        assert talk.page.cells() == [("c1", "x = 1")]


async def test_a_session_works_on_its_own_notebook_only(tmp_path: Path) -> None:
    async with beside(tmp_path, toolCall=READING) as talk:
        talk.page.books["other.ipynb"] = [code("o1", "secret = 1")]
        other = json.dumps({"path": "other.ipynb"})
        received = await talk.ask(f"mcp silent eca_notebook_read {other}")
        assert "has no access to other.ipynb" in said(received)
        assert "secret" not in said(received)


class Connection:
    """A program that connects to the socket of an agent's MCP server."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer

    @classmethod
    @asynccontextmanager
    async def open(cls, path: str, token: str) -> AsyncGenerator[Connection]:
        reader, writer = await asyncio.open_unix_connection(path, limit=2**24)
        writer.write(f"{token}\n".encode())
        try:
            yield cls(reader, writer)
        finally:
            writer.close()
            with suppress(ConnectionError):
                await writer.wait_closed()

    async def ask(self, id: int, method: str, **params: Any) -> dict[str, Any] | None:
        """The answer; None if the other end has closed the connection."""
        request = {"jsonrpc": "2.0", "id": id, "method": method, "params": params}
        try:
            self.writer.write(json.dumps(request).encode() + b"\n")
            line = await self.reader.readline()
        except ConnectionError:
            return None
        return json.loads(line) if line else None

    async def greet(self) -> dict[str, Any] | None:
        return await self.ask(1, "initialize", **MCP_GREETING)


def find_socket(talk: Talking) -> tuple[str, str]:
    """The path and the token that the agent got for its session."""
    server = talk.list_frames("client", "session/new")[0]["params"]["mcpServers"][0]
    assert server["name"] == "jupyter"
    found = {variable["name"]: variable["value"] for variable in server["env"]}
    return found[SOCKET_VARIABLE], found[TOKEN_VARIABLE]


async def test_the_token_opens_only_its_session_and_dies_with_it(tmp_path: Path) -> None:
    async with beside(tmp_path, toolCall=READING) as talk:
        await talk.ask(f"mcp silent eca_notebook_read {READ}")
        path, token = find_socket(talk)
        async with Connection.open(path, token) as opened:
            assert await opened.greet()
            for wrong in ("", "of-somebody-else", f" {token}x"):
                async with Connection.open(path, wrong) as refused:
                    assert await refused.greet() is None
            talk.host.outside_agents.close()
            async with Connection.open(path, token) as late:
                assert await late.greet() is None
            assert await opened.ask(2, "tools/list") is None


async def test_the_socket_can_be_opened_by_this_user_only_and_no_port_is_opened(tmp_path: Path) -> None:
    earlier = listening_ports()
    async with beside(tmp_path, toolCall=READING) as talk:
        await talk.ask(f"mcp silent eca_notebook_read {READ}")
        socket = Path(find_socket(talk)[0])
        assert socket.parent.stat().st_mode & 0o777 == 0o700
        assert listening_ports() == earlier
    assert not socket.parent.exists()


async def test_a_long_path_for_temporary_files_does_not_keep_the_agent_from_the_notebook(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # `eca-12345678/agents` fits into the 104 characters that macOS allows, and a longer name does not.
    base = tempfile.mkdtemp()
    long = Path(base) / ("x" * (80 - len(base)))
    long.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(long))
    process_folder._choose_folder.cache_clear()  # pyright: ignore[reportPrivateUsage]
    try:
        async with beside(tmp_path, toolCall=READING) as talk:
            assert "x = 1" in said(await talk.ask(f"mcp silent eca_notebook_read {READ}"))
    finally:
        process_folder._choose_folder.cache_clear()  # pyright: ignore[reportPrivateUsage]
        shutil.rmtree(base)


def listening_ports() -> set[int]:
    """Those of this process."""
    connections = psutil.Process().net_connections("inet")
    return {connection.laddr.port for connection in connections if connection.status == psutil.CONN_LISTEN}


async def test_a_line_that_is_no_message_is_answered_and_the_next_one_is_served(tmp_path: Path) -> None:
    async with beside(tmp_path, toolCall=READING) as talk:
        await talk.ask("say Hello")
        async with Connection.open(*find_socket(talk)) as connection:
            connection.writer.write(b"junk\n\n")
            assert json.loads(await connection.reader.readline())["error"]["code"] == -32700
            assert await connection.greet()


async def test_our_tools_work_only_during_a_turn_of_the_agent(tmp_path: Path) -> None:
    async with beside(tmp_path, toolCall=READING) as talk:
        await talk.ask("say Hello")
        async with Connection.open(*find_socket(talk)) as connection:
            await connection.greet()
            called = await connection.ask(2, "tools/call", name="eca_notebook_read", arguments={"path": PATH})
        assert "No turn of yours" in str(called)


async def test_a_module_in_the_users_folder_does_not_take_the_place_of_the_server(tmp_path: Path) -> None:
    async with beside(tmp_path, toolCall=READING) as talk:
        (tmp_path / "jupyter_eca").mkdir()
        (tmp_path / "jupyter_eca" / "__init__.py").write_text("raise SystemExit('taken over')")
        assert "x = 1" in said(await talk.ask(f"mcp silent eca_notebook_read {READ}"))


@pytest.mark.parametrize("given", [{}, {SOCKET_VARIABLE: "/nowhere/agents", TOKEN_VARIABLE: "any"}])
async def test_the_program_says_what_it_needs_and_ends(given: dict[str, str]) -> None:
    environment = {**os.environ, **given}
    program = await asyncio.create_subprocess_exec(
        sys.executable, "-P", "-m", agent_pipe.__name__, env=environment, stdin=DEVNULL, stdout=PIPE, stderr=PIPE
    )
    output, errors = await program.communicate()
    assert program.returncode
    assert not output
    assert len(errors.splitlines()) == 1


async def test_the_agent_is_told_about_the_notebook_with_its_first_prompt_only(tmp_path: Path) -> None:
    async with beside(tmp_path) as talk:
        await talk.ask("say one")
        await talk.ask("say two")
        prompts = [frame["params"]["prompt"] for frame in talk.list_frames("client", "session/prompt")]
        assert PATH in prompts[0][0]["text"]
        assert prompts[1] == [{"type": "text", "text": "DO: say two"}]


async def test_a_hook_of_the_user_decides_about_our_tools_too(tmp_path: Path) -> None:
    hooks = {"guard": hook("preToolCall", says(approval="deny"))}
    async with beside(tmp_path, toolCall=READING, hooks=hooks) as talk:
        assert "error: " in said(await talk.ask(f"mcp silent eca_notebook_read {READ}"))


async def test_a_command_of_the_agent_is_the_first_text_of_its_prompt(tmp_path: Path) -> None:
    async with beside(tmp_path) as talk:
        await answer(talk.client, "/review all", agent="fake")
        (prompt,) = [frame["params"]["prompt"] for frame in talk.list_frames("client", "session/prompt")]
        assert prompt[0]["text"] == "/review all"


async def test_another_server_of_the_same_name_in_the_agent_is_asked_about(tmp_path: Path) -> None:
    async with beside(tmp_path) as talk:
        received = await talk.ask("mcp named delete_everything {}", choose=no)
        assert questions(received) == ["mcp__jupyter__delete_everything"]
        assert said(received) == "not allowed"
