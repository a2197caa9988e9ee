"""MCP servers as a client of ECA sees and handles them, and their tools in a chat."""

from __future__ import annotations

import asyncio
import json
import sys
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import pytest

from jupyter_eca.fronts.eca.session import EcaSession
from jupyter_eca.plugins.tools.base import ToolContext
from jupyter_eca.plugins.tools.configured.mcp_tool import make_mcp_tools
from jupyter_eca.protocol.content import Origin, ToolCalledContent
from jupyter_eca.protocol.mcp import ServerStatus
from jupyter_eca.transport.eca_client import CallDecision
from jupyter_eca.transport.memory import make_link_pair
from jupyter_eca.transport.peer import Peer
from jupyter_eca.workspace.ports import Files
from tests.mcp_client.house import HERE, PATIENCE, raw, sdk
from tests.support.access import ASKER
from tests.support.host_and_client import Desk, Door, answer, desk, said

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable
    from pathlib import Path

pytestmark = pytest.mark.asyncio


class Panel:
    """A client that keeps what it is told."""

    def __init__(self, at: Desk, **rights: Any) -> None:
        self.link, theirs = make_link_pair()
        self.told: list[tuple[str, dict[str, Any]]] = []
        self.news = asyncio.Event()
        self.peer = Peer(self.link, self._asked, self._handle_notification)
        at.tasks.create_task(EcaSession(theirs, Door(at.host, **rights)).run())
        at.tasks.create_task(self.peer.run())

    async def _asked(self, method: str, params: Any) -> Any:
        raise AssertionError(f"{method} {params}")

    def _handle_notification(self, method: str, params: Any) -> None:
        self.told.append((method, params))
        self.news.set()

    async def hears(self, holds: Callable[[str, dict[str, Any]], bool]) -> dict[str, Any]:
        async with asyncio.timeout(PATIENCE * 2):
            while True:
                for method, params in self.told:
                    if holds(method, params):
                        self.told.clear()
                        return params
                self.news.clear()
                await self.news.wait()

    async def sees(self, name: str, status: str) -> dict[str, Any]:
        return await self.hears(lambda _, it: it.get("name") == name and it.get("status") == status)


@asynccontextmanager
async def seat(folder: Path, rules: list[dict[str, Any]], **more: Any) -> AsyncGenerator[tuple[Desk, Panel]]:
    async with desk(folder, rules, **more) as at:
        panel = Panel(at)
        try:
            await panel.peer.request("initialize", {"processId": 1, "capabilities": {}, "workspaceFolders": []})
            await panel.peer.notify("initialized", {})
            yield at, panel
        finally:
            await panel.link.close()


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "home"))
    return tmp_path / "home" / "eca" / "config.json"


@pytest.mark.usefixtures("home")
async def test_the_file_of_a_server_is_named(tmp_path: Path) -> None:
    async with seat(tmp_path, []) as (_, panel):
        await panel.peer.request("mcp/addServer", {"name": "one", **raw("good")})
        (server,) = (await panel.peer.request("mcp/serverFiles", {}))["servers"]
        assert server == {"name": "one", "files": ["home/eca/config.json"]}


async def test_a_server_is_added_stopped_disabled_and_removed_by_a_client(tmp_path: Path, home: Path) -> None:
    async with seat(tmp_path, []) as (_, panel):
        result = await panel.peer.request("mcp/addServer", {"name": "one", **raw("good")})
        assert (result["server"]["name"], result["server"]["type"]) == ("one", "mcp")
        running = await panel.sees("one", "running")
        assert [tool["name"] for tool in running["tools"]] == ["work"]
        for method, status in (
            ("mcp/stopServer", "stopped"),
            ("mcp/startServer", "running"),
            ("mcp/disableServer", "disabled"),
            ("mcp/enableServer", "running"),
            ("mcp/logoutServer", "running"),
        ):
            await panel.peer.notify(method, {"name": "one"})
            await panel.sees("one", status)
        assert await panel.peer.request("mcp/updateServer", {"name": "one", "env": {"A": "b"}}) == {}
        await panel.sees("one", "running")
        assert '"A": "b"' in home.read_text()  # noqa: ASYNC240
        assert await panel.peer.request("mcp/removeServer", {"name": "one"}) == {"name": "one", "removed": True}
        await panel.hears(lambda method, it: method == "tool/serverRemoved" and it == {"name": "one"})
        assert '"one"' not in home.read_text()  # noqa: ASYNC240


@pytest.mark.parametrize("verb", ["start", "stop", "connect", "logout", "enable", "disable"])
@pytest.mark.parametrize("client", ["kernel", "asker", "program"])
async def test_only_a_client_of_the_users_handles_the_servers_that_all_chats_share(
    tmp_path: Path, verb: str, client: str
) -> None:
    rights: dict[str, dict[str, Any]] = {"kernel": {"sees_all_chats": False}, "asker": {"access": ASKER}, "program": {}}
    async with seat(tmp_path, [], mcpServers={"one": raw("good")}) as (at, panel):
        await panel.sees("one", "running")
        other = Panel(at, **rights[client])
        can = {"codeAssistant": {"unattended": client == "program"}}
        await other.peer.request("initialize", {"processId": 1, "capabilities": can, "workspaceFolders": []})
        await other.peer.notify("initialized", {})
        await other.peer.notify(f"mcp/{verb}Server", {"name": "one"})
        await other.hears(lambda method, it: method == "$/showMessage" and it["type"] == "warning")
        await other.peer.request("mcp/serverLog", {"name": "one"})
        assert [server.status for server in at.host.mcp.list_servers()] == [ServerStatus.RUNNING]
        assert [it for _, it in panel.told if it.get("name") == "one"] == []
        await other.link.close()


async def test_signing_out_of_a_server_that_is_disabled_does_not_start_it(tmp_path: Path) -> None:
    servers = {"one": raw("good", tmp_path / "log", disabled=True)}
    async with seat(tmp_path, [], mcpServers=servers) as (at, panel):
        await panel.sees("one", "disabled")
        await at.host.mcp.logout("one")
        await panel.peer.request("mcp/serverLog", {"name": "one"})
        assert [server.status for server in at.host.mcp.list_servers()] == [ServerStatus.DISABLED]


async def test_a_server_of_the_workspace_is_written_there_and_an_update_keeps_what_it_does_not_name(
    tmp_path: Path, home: Path
) -> None:
    async with seat(tmp_path, []) as (_, panel):
        where = {"scope": "workspace", "workspaceUri": tmp_path.as_uri()}
        server = raw("good", env={"A": "a"})
        await panel.peer.request("mcp/addServer", {"name": "one", **server, **where})
        await panel.sees("one", "running")
        changed = {"name": "one", "args": [*server["args"], str(tmp_path / "log")]}
        assert await panel.peer.request("mcp/updateServer", changed) == {}
        await panel.sees("one", "running")
        written = json.loads((tmp_path / ".eca" / "config.json").read_text())["mcpServers"]["one"]
        assert written == {**server, "args": changed["args"]}
        assert not home.exists()  # noqa: ASYNC240


async def test_what_cannot_be_done_to_a_server_is_in_the_error_of_the_answer(tmp_path: Path, home: Path) -> None:
    async with seat(tmp_path, []) as (_, panel):
        added = await panel.peer.request("mcp/addServer", {"name": "none"})
        assert added["error"]["code"] == "invalid-server"
        removed = await panel.peer.request("mcp/removeServer", {"name": "none"})
        assert removed["error"] == {"code": "not-found", "message": "There is no server 'none'."}
        for method in ("start", "stop", "connect", "logout", "enable", "disable"):
            await panel.peer.notify(f"mcp/{method}Server", {"name": "none"})
        assert (await panel.peer.request("mcp/addServer", {"name": "one", **raw("good")}))["server"]["name"] == "one"
        assert home.exists()  # noqa: ASYNC240


async def test_a_model_calls_a_servers_tool_once_the_user_allows_it(tmp_path: Path) -> None:
    rules: list[dict[str, Any]] = [
        {"result": "", "reply": [{"text": "It said {result}."}]},
        {"message": "", "reply": [{"tool": "one__work", "arguments": {}}]},
    ]
    async with seat(tmp_path, rules, mcpServers={"one": raw("good")}) as (at, panel):
        await panel.sees("one", "running")
        client = await at.client()
        received = await answer(client, "work", lambda _: CallDecision(approved=True))
        called = next(r.content for r in received if isinstance(r.content, ToolCalledContent))
        assert (called.name, called.server, called.origin, called.error) == ("one__work", "one", Origin.MCP, False)
        assert said(received) == "It said done."


async def test_a_server_has_our_environment_without_our_keys_and_tokens(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ours = ("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY", "HOUSE_API_KEY", "KEY_OF_MINE", "JUPYTER_TOKEN")
    for name in (*ours, "HOUSE_SETTING", "GITHUB_TOKEN"):
        monkeypatch.setenv(name, f"the-{name}")
    scripted = {"models": {"test": {"script": str(tmp_path / "script.json")}}}
    house = {"api": "openai-chat", "url": "http://127.0.0.1:9/v1"}
    providers = {"scripted": scripted, "house": house, "mine": {**house, "key": "the-KEY_OF_MINE"}}
    tour = sdk(env={"ADDED": "yes", "HOUSE_API_KEY": "given"})
    async with desk(tmp_path, [], mcpServers={"tour": tour}, providers=providers) as at:
        await at.host.mcp.await_started(PATIENCE * 2)
        tool = next(tool for tool in make_mcp_tools(at.host.mcp) if tool.name == "environment")
        context = ToolContext("chat", Files((tmp_path,)), "call")
        found = {
            name: (await tool.run(context, {"name": name})).text
            for name in (*ours, "HOUSE_SETTING", "GITHUB_TOKEN", "ADDED")
        }
    inherited = {"HOUSE_SETTING": "the-HOUSE_SETTING", "GITHUB_TOKEN": "the-GITHUB_TOKEN", "ADDED": "yes"}
    assert found == {**dict.fromkeys(ours, "unset"), **inherited, "HOUSE_API_KEY": "given"}


async def test_a_running_server_is_told_of_folders_that_come_and_go(tmp_path: Path) -> None:
    (more := tmp_path / "more").mkdir()
    async with seat(tmp_path, [], mcpServers={"one": raw("follows the roots")}) as (_, panel):
        await panel.sees("one", "running")
        for event, names in (("added", f"{tmp_path.name} more"), ("removed", tmp_path.name)):
            change = {event: [{"uri": more.as_uri(), "name": "more"}]}
            await panel.peer.notify("workspace/didChangeWorkspaceFolders", {"event": change})
            await panel.hears(
                lambda _, it, names=names: any(one["description"] == names for one in it.get("tools", ()))
            )


async def test_a_server_that_is_started_again_starts_in_the_folder_of_now(tmp_path: Path) -> None:
    (more := tmp_path / "more").mkdir()
    (more / "server.py").write_bytes((HERE / "raw_server.py").read_bytes())
    here = {"command": sys.executable, "args": ["server.py", "good"]}
    async with seat(tmp_path, [], mcpServers={"one": here}) as (_, panel):
        await panel.sees("one", "failed")
        change = {"added": [{"uri": more.as_uri()}], "removed": [{"uri": tmp_path.as_uri()}]}
        await panel.peer.notify("workspace/didChangeWorkspaceFolders", {"event": change})
        await panel.peer.notify("mcp/startServer", {"name": "one"})
        await panel.sees("one", "running")


def read_together(folder: Path, pattern: str) -> bytes:
    return b"".join(file.read_bytes() for file in folder.glob(pattern))


async def test_no_secret_of_a_server_is_on_the_wire_in_the_file_of_chats_or_in_a_request(tmp_path: Path) -> None:
    """The server repeats its key wherever it can; the address has a password and a key written out."""
    secret = "zq7k-of-the-server-1"  # noqa: S105  # of this test alone
    chatty = raw("repeats its secret", tmp_path / "log", env={"API_KEY": secret, "MODE": "readonly"})
    address = {"url": "http://me:zq7k@127.0.0.1:9/mcp?key=zq7k"}
    rules: list[dict[str, Any]] = [
        {"result": "", "reply": [{"text": "Done."}]},
        {"message": "work", "reply": [{"tool": "chatty__work", "arguments": {}}]},
    ]
    servers = {"chatty": chatty, "address": address}
    async with seat(tmp_path, rules, mcpServers=servers) as (at, panel):
        heard: list[Any] = []
        heard.append(await panel.sees("chatty", "running"))
        heard.append(await panel.sees("address", "failed"))
        assert heard[1]["url"] == "http://…@127.0.0.1:9/mcp?key=…"
        client = await at.client()
        heard.append(await answer(client, "work", lambda _: CallDecision(approved=True)))
        shown = await answer(client, "/prompt-show")
        request = await at.host.turns.draft("chat", "and now?")
    files = read_together(tmp_path, "chats.db*")
    assert "chatty__work" in str(request)
    assert "my mode is readonly" in str(request), "what else the server says is told"
    for place in (str(heard), str(shown), str(request), files.decode("latin-1")):
        assert "zq7k" not in place
