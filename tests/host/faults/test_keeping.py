"""What is stored, configured or pointed at: ECA 6.1, classes 35 and 40 to 45."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

import pytest

from jupyter_eca.config import Config, read_config
from jupyter_eca.host.host import Host
from jupyter_eca.protocol.base import Done
from jupyter_eca.protocol.chats import ChatDeleteParams, ChatListParams, ChatListResult
from jupyter_eca.protocol.content import ProgressContent, Role, TextContent
from jupyter_eca.protocol.event import Event, Outcome
from jupyter_eca.protocol.notebook import Inspection, KernelExecuteResult, KernelState, KernelVariablesResult, RunStatus
from jupyter_eca.transport.eca_client import CallDecision
from jupyter_eca.workspace.ports import Files, Workspace
from tests.mcp_client.house import raw as mcp
from tests.plugins.test_loader import install
from tests.support.host_and_client import PATIENCE, answer, desk, outcomes, said
from tests.support.raw_client import connect

if TYPE_CHECKING:
    from pathlib import Path

    from jupyter_eca.protocol.content import ToolCallRunContent
    from jupyter_eca.transport.eca_client import EcaClient
    from jupyter_eca.workspace.ports import RunObserver

pytestmark = pytest.mark.asyncio

RULES: list[dict[str, Any]] = [
    {"result": "", "reply": [{"text": "Result: {result}"}]},
    {"message": "run", "reply": [{"tool": "run_code", "arguments": {"code": "x = 1"}}]},
    {"message": "", "reply": [{"text": "Hello"}]},
]


def yes(_call: ToolCallRunContent) -> CallDecision:
    return CallDecision(approved=True)


async def listed(client: EcaClient) -> list[str]:
    return [str(chat.id) for chat in (await client.request("chat/list", ChatListParams(), ChatListResult)).chats]


class Stubborn:
    """A kernel of the workspace that goes on for a while after it was told to stop."""

    description = "A kernel."
    id = None
    notebook = ""

    def __init__(self) -> None:
        self.started, self.released, self.ended = asyncio.Event(), asyncio.Event(), asyncio.Event()

    async def execute(self, chat: str, code: str, observer: RunObserver | None = None) -> KernelExecuteResult:  # noqa: ARG002
        self.started.set()
        try:
            await asyncio.Event().wait()
        finally:
            await self.released.wait()
            self.ended.set()
        return KernelExecuteResult(status=RunStatus.OK, text="")

    async def variables(self, chat: str, names: tuple[str, ...]) -> KernelVariablesResult:  # noqa: ARG002
        return KernelVariablesResult(variables=())

    async def state(self) -> KernelState:
        return KernelState(status="busy")

    async def interrupt(self) -> None:
        self.released.set()

    async def restart(self) -> None:
        self.released.set()

    async def inspect(self, name: str) -> Inspection:  # noqa: ARG002
        return Inspection(found=False)


async def test_a_chat_that_was_deleted_while_it_worked_does_not_come_back(tmp_path: Path) -> None:
    kernel = Stubborn()
    async with desk(tmp_path, RULES) as table:
        table.host.current.workspace = Workspace(Files((tmp_path,)), kernel)
        client = await table.client()
        turn = asyncio.create_task(answer(client, "run", yes))
        await asyncio.wait_for(kernel.started.wait(), PATIENCE)
        kernel.released.set()
        await client.request("chat/delete", ChatDeleteParams(chat_id="chat"), Done)
        await asyncio.wait_for(kernel.ended.wait(), PATIENCE)
        assert await table.host.chats.read_events("chat") == []
        assert await listed(client) == []
        turn.cancel()
        assert said(await answer(client, "hi", chat="other")) == "Hello"


async def test_a_chat_that_is_in_use_is_not_too_old_whenever_it_began(tmp_path: Path) -> None:
    async with desk(tmp_path, RULES) as table:
        for chat in ("left", "used"):
            said_then = TextContent(text="long ago", content_id=chat)
            then = Event(chat=chat, turn=chat, role=Role.USER, content=said_then, at=1)
            over = ProgressContent(state="finished")
            end = Event(chat=chat, turn=chat, role=Role.SYSTEM, content=over, at=2, outcome=Outcome.COMPLETED)
            table.host.store.append([then, end])
        await table.host.store.settle()
        client = await table.client()
        assert sorted(await listed(client)) == ["left", "used"]
        await answer(client, "hi", chat="used")
    async with desk(tmp_path, RULES, chatRetentionDays=1) as table:
        assert await listed(await table.client()) == ["used"]


async def test_no_chat_vanishes_when_the_folders_come_in_another_order(tmp_path: Path) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    one.mkdir()
    two.mkdir()

    async def seen(*roots: Path, ask: bool) -> list[str]:
        async with desk(tmp_path, RULES) as table:
            other = Host(table.host.config, Workspace(Files(roots)), tmp_path / "theirs" / "chats.db")
            running = table.tasks.create_task(other.run())
            await other.ready.wait()
            table.host, ours = other, table.host
            client = await table.client()
            if ask:
                await answer(client, "hi")
            found = await listed(client)
            await client.close()
            table.host = ours
            other.close()
            await running
            return found

    assert await seen(one, two, ask=True) == ["chat"]
    assert await seen(two, one, ask=False) == ["chat"]


@pytest.mark.parametrize(
    "message",
    [
        "Write to ada@example.org and @nobody",
        "/srv/ada/data.csv is large",
        "What is in @/etc/shadow or @/root/.ssh/id_rsa?",
        "@missing.txt @broken.bin @../../outside.txt",
        "@" * 300,
        "@\u0000 @~root @//",
    ],
)
async def test_no_word_of_a_prompt_breaks_it(tmp_path: Path, message: str) -> None:
    (tmp_path / "broken.bin").write_bytes(b"\xff\xfe\x00\xd8")
    async with desk(tmp_path, RULES) as table:
        received = await answer(await table.client(), message)
        assert (said(received), outcomes(received)) == ("Hello", ["completed"])


async def test_names_in_a_clients_options_keep_their_letters(tmp_path: Path) -> None:
    rules: dict[str, Any] = {"approval": {"deny": {"my-server__deny-tool": {}}}}
    servers = {"my-server": {"command": "run", "env": {"MY_KEY-x": "1"}, "disabled": True}}
    config = read_config((tmp_path,), client={"mcpServers": servers, "toolCall": rules}, home=tmp_path)
    assert list(config.mcp_servers["my-server"].env) == ["MY_KEY-x"]
    assert list(config.tool_call.approval.deny) == ["my-server__deny-tool"]


async def test_a_tool_that_a_call_made_can_be_called_in_the_same_turn(tmp_path: Path) -> None:
    rules: list[dict[str, Any]] = [
        {"tool": "one__work", "result": "", "reply": [{"tool": "one__worked", "arguments": {}}]},
        {"tool": "one__worked", "result": "", "reply": [{"text": "{result}"}]},
        {"message": "", "reply": [{"tool": "one__work", "arguments": {}}]},
    ]
    async with desk(tmp_path, rules, mcpServers={"one": mcp("changes its list")}) as table:
        client = await table.client()
        async with asyncio.timeout(PATIENCE * 2):
            while not table.host.toolbox.get("one__work"):
                await client.request("chat/list", ChatListParams(), ChatListResult)
        assert said(await answer(client, "go", yes)) == "done"


async def test_the_tools_are_worked_out_once_a_turn_and_not_once_a_piece(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "somebodys_counting_tool.py").write_text(
        "from jupyter_eca.plugins.tools.base import ToolContext, tool\n"
        "@tool(reads=True)\n"
        "async def counted(context: ToolContext) -> str:\n"
        "    'Counts.'\n"
        "    return ''\n"
        "LOOKS = []\n"
        "class Counted:\n"
        "    spec, only_reads, agents, preview, run = counted.spec, True, frozenset(), None, counted.run\n"
        "    @property\n"
        "    def needs(self):\n"
        "        LOOKS.append(1)\n"
        "        return frozenset()\n"
        "TOOLS = (Counted(),)\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))  # pyright: ignore[reportUnknownMemberType]  # untyped in pytest
    install(tmp_path, "tools", theirs="somebodys_counting_tool:TOOLS")
    arguments = {"path": ".", "pattern": "x" * 4000}
    rules: list[dict[str, Any]] = [
        {"result": "", "reply": [{"text": "Done"}]},
        {"message": "", "reply": [{"tool": "grep", "arguments": arguments, "chunk": 2}]},
    ]
    async with desk(tmp_path, rules) as table:
        received = await answer(await table.client(), "go", yes)
        assert outcomes(received) == ["completed"]
        import somebodys_counting_tool  # pyright: ignore[reportMissingImports]  # the test wrote it

        assert len(somebodys_counting_tool.LOOKS) < 20  # pyright: ignore[reportUnknownMemberType, reportUnknownArgumentType]  # as above


async def test_a_client_may_add_a_server_with_every_field_there_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "home"))
    fields = {
        "url": "http://127.0.0.1:9/mcp", "headers": {"X-My_Header-a": "1"}, "clientId": "id", "clientSecret": "hush",
        "oauthPort": 4567, "authScope": "read", "disabled": True,
    }  # fmt: skip
    async with desk(tmp_path, []) as table:
        at = connect(table)
        await at.initialize()
        added = await at.result("mcp/addServer", {"name": "far-one", **fields})
        assert "hush" not in json.dumps(added)
        await at.close()
    file = tmp_path / "home" / "eca" / "config.json"
    written = json.loads(await asyncio.to_thread(file.read_text))["mcpServers"]["far-one"]
    assert written == fields
    config = Config.model_validate({"mcpServers": {"far-one": written}}).mcp_servers["far-one"]
    assert (config.client_id, config.oauth_port, config.auth_scope) == ("id", 4567, "read")
