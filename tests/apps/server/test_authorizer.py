"""What the users of one server may do: the authorizer is asked for reading, asking and approving apart. The authorizer
is the one of the page for administrators."""

from __future__ import annotations

import json
import re
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import httpx2
import pytest
from jupyter_server.auth.identity import IdentityProvider, User
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from traitlets.config import Config

from jupyter_eca.protocol.mcp import ServerStatus
from tests.apps.server.cells import PATIENCE, Watcher
from tests.apps.server.test_mcp import HELLO, JSON
from tests.apps.server.test_token import ask, kinds, tell
from tests.apps.server.test_websocket import START, prompt, reply, until_finished, until_method
from tests.fronts.mcp.room import LEGACY, MODERN, call
from tests.fronts.mcp.room import User as McpUser
from tests.mcp_client.house import raw

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Callable

    Fetch = Callable[..., Awaitable[Any]]

PAGE: Final = Path(__file__).parents[3] / "notebooks" / "docs" / "administrators.md"
# Ada may approve, Ben may ask, and Cy may read.
NAMES: Final = {"ada": "Ada Lovelace", "ben": "Ben", "cy": "Cy"}
MAY_NOT_ASK: Final = "you may read the chats, but not ask or approve"
MAY_NOT_APPROVE: Final = "you may ask, but not approve"


class Logins(IdentityProvider):
    """Each user has a token, which is the user's name."""

    async def get_user_token(self, handler: Any) -> User | None:
        name = self.get_token(handler) or ""
        return User(username=name, name=NAMES[name], display_name=NAMES[name]) if name in NAMES else None


def sign(name: str) -> dict[str, str]:
    return {"Authorization": f"token {name}"}


@pytest.fixture
def jp_server_config(jp_server_config: dict[str, Any]) -> Config:
    """The configuration of the page for administrators, in a server whose users have names."""
    (example,) = re.findall(r"```python\n(from jupyter_server\.auth.*?)```", PAGE.read_text(), re.DOTALL)
    config = Config(jp_server_config)
    exec(compile(example, str(PAGE), "exec"), {"c": config})  # noqa: S102  # our own page
    config.ServerApp.identity_provider_class = Logins
    return config


@pytest.fixture
def jp_auth_header() -> dict[str, str]:
    """The server is asked by Ada, where a test does not say otherwise."""
    return sign("ada")


@asynccontextmanager
async def connected(jp_ws_fetch: Fetch, name: str, *path: str) -> AsyncGenerator[Any]:
    socket = await jp_ws_fetch("eca", *path, headers=sign(name))
    try:
        yield socket
    finally:
        socket.close()


@asynccontextmanager
async def panel(jp_ws_fetch: Fetch, name: str) -> AsyncGenerator[Any]:
    async with connected(jp_ws_fetch, name, "ws") as socket:
        assert "result" in await reply(socket, START)
        await tell(socket, "initialized")
        yield socket


async def send(jp_fetch: Fetch, name: str, method: str, *path: str, body: Any = None) -> tuple[int, str]:
    """Return the status and the body of the answer."""
    content = json.dumps(body) if body is not None else "{}" if method == "POST" else None
    headers = {**sign(name), **JSON}
    answer = await jp_fetch("eca", *path, method=method, body=content, headers=headers, raise_error=False)
    return answer.code, answer.body.decode()


async def test_who_may_only_read_sees_an_answer_and_is_told_when_they_ask_or_approve(
    jp_serverapp: Any, jp_ws_fetch: Fetch, jp_root_dir: Path
) -> None:
    async with panel(jp_ws_fetch, "ada") as ada, panel(jp_ws_fetch, "cy") as cy:
        watcher = await Watcher.of(jp_serverapp)
        for method, params in (
            ("chat/prompt", {"message": "you", "chatId": "d"}),
            ("chat/delete", {"chatId": "c"}),
            ("rewrite/prompt", {}),
        ):
            assert MAY_NOT_ASK in str((await ask(cy, method, **params))["error"])
        assert kinds(watcher) == []
        assert "result" in await reply(ada, prompt("write"))
        waiting = (await watcher.until("toolCallRun")).content
        about = {"chatId": "c", "toolCallId": getattr(waiting, "id", "")}
        assert (await until_method(cy, "chat/contentReceived"))["chatId"] == "c"
        for method in ("chat/toolCallApprove", "chat/toolCallReject", "chat/promptStop"):
            await tell(cy, method, **about)
            assert MAY_NOT_ASK in (await until_method(cy, "$/showMessage"))["message"]
        assert [chat["id"] for chat in (await ask(cy, "chat/list"))["result"]["chats"]] == ["c"]
        assert "toolCallRunning" not in kinds(watcher)
        await tell(ada, "chat/toolCallApprove", **about)
        contents = await until_finished(cy)
        assert "toolCalled" in [content["type"] for content in contents]
        assert (jp_root_dir / "new.txt").read_text() == "one"


async def test_who_may_not_approve_asks_and_waits_for_someone_who_may(
    jp_serverapp: Any, jp_ws_fetch: Fetch, jp_root_dir: Path
) -> None:
    async with panel(jp_ws_fetch, "ada") as ada, panel(jp_ws_fetch, "ben") as ben:
        watcher = await Watcher.of(jp_serverapp)
        assert "result" in await reply(ben, prompt("write"))
        waiting = (await watcher.until("toolCallRun")).content
        about = {"chatId": "c", "toolCallId": getattr(waiting, "id", "")}
        await tell(ben, "chat/toolCallApprove", **about)
        assert MAY_NOT_APPROVE in (await until_method(ben, "$/showMessage"))["message"]
        trusting = {"message": "you", "chatId": "d", "trust": True}
        assert MAY_NOT_APPROVE in str((await ask(ben, "chat/prompt", **trusting))["error"])
        rule = {"decision": "allow", "rule": "write_file", "scope": "workspace"}
        assert "error" in await ask(ben, "approvals/add", **rule)
        assert "toolCallRunning" not in kinds(watcher)
        await tell(ada, "chat/toolCallApprove", **about)
        await watcher.until("toolCalled")
        assert (jp_root_dir / "new.txt").read_text() == "one"


HANDLING: Final = tuple(f"mcp/{verb}Server" for verb in ("start", "stop", "connect", "logout", "enable", "disable"))


async def test_who_may_not_approve_neither_stops_a_tool_server_of_all_users_nor_signs_in_to_it(
    jp_serverapp: Any, jp_ws_fetch: Fetch, jp_fetch: Fetch, jp_root_dir: Path
) -> None:
    file = jp_root_dir / ".eca" / "config.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), "mcpServers": {"one": raw("good")}}))
    async with panel(jp_ws_fetch, "ada") as ada, panel(jp_ws_fetch, "ben") as ben:
        servers = (await Watcher.of(jp_serverapp)).host.mcp
        await servers.await_started(PATIENCE)
        for method in HANDLING:
            await tell(ben, method, name="one")
            assert MAY_NOT_APPROVE in (await until_method(ben, "$/showMessage"))["message"], method
        assert [server.status for server in servers.list_servers()] == [ServerStatus.RUNNING]
        await tell(ada, "mcp/stopServer", name="one")
        for status in ("running", "stopped"):  # it was stopped before it ran, too
            while (await until_method(ada, "tool/serverUpdated")).get("status") != status:
                pass
        status, refused = await send(jp_fetch, "ben", "POST", "rest", "connect", "one")
        assert (status, "you may not start it" in refused) == (502, True)
        assert [server.status for server in servers.list_servers()] == [ServerStatus.STOPPED]
        assert (await send(jp_fetch, "ada", "POST", "rest", "connect", "one"))[0] == 200


async def test_a_panel_is_told_what_its_user_may_do(jp_ws_fetch: Fetch) -> None:
    ours = {"capabilities": {"codeAssistant": {"envelope": True}}}
    for name, may in (("ada", None), ("ben", (True, False, MAY_NOT_APPROVE)), ("cy", (False, False, MAY_NOT_ASK))):
        async with connected(jp_ws_fetch, name, "ws") as socket:
            rights = (await reply(socket, {**START, "params": ours}))["result"].get("rights")
            assert (rights is None) is (may is None)
            if may is not None:
                assert (rights["asks"], rights["approves"]) == may[:2]
                assert may[2] in rights["reason"]
        async with connected(jp_ws_fetch, name, "ws") as editor:  # of another maker
            assert "rights" not in (await reply(editor, START))["result"]


async def test_events_name_who_asked_and_who_approved_also_when_they_are_read_again(
    jp_serverapp: Any, jp_ws_fetch: Fetch
) -> None:
    ours = {**START, "params": {"capabilities": {"codeAssistant": {"envelope": True}}}}
    ada_is, ben_is = ({"username": name, "name": NAMES[name]} for name in ("ada", "ben"))
    async with panel(jp_ws_fetch, "ada") as ada, connected(jp_ws_fetch, "ben", "ws") as ben:
        watcher = await Watcher.of(jp_serverapp)
        assert "result" in await reply(ben, ours)
        assert "result" in await reply(ben, prompt("write"))
        waiting = (await watcher.until("toolCallRun")).content
        await tell(ada, "chat/toolCallApprove", chatId="c", toolCallId=getattr(waiting, "id", ""))
        await watcher.ended()
        rows = [{"type": content["type"], **content} for content in await until_finished(ada)]
        assert all("by" not in row for row in rows)  # not a word of ours for another maker's client
    async with connected(jp_ws_fetch, "cy", "ws") as cy:
        assert "result" in await reply(cy, ours)
        await cy.write_message(
            json.dumps({"jsonrpc": "2.0", "id": 9, "method": "chat/open", "params": {"chatId": "c"}})
        )
        named: dict[str, Any] = {}
        while "toolCalled" not in named:
            shown = await until_method(cy, "chat/contentReceived")
            named.setdefault(f"{shown['content']['type']}", shown.get("by"))
            if shown["role"] == "user":
                assert shown.get("by") == ben_is
        assert (named["toolCallRun"], named["toolCallRunning"], named["toolCalled"]) == (None, ada_is, ada_is)


async def test_a_call_is_denied_where_nobody_is_who_may_approve(jp_ws_fetch: Fetch, jp_root_dir: Path) -> None:
    async with panel(jp_ws_fetch, "ben") as ben, panel(jp_ws_fetch, "cy"):
        assert "result" in await reply(ben, prompt("write"))
        contents = await until_finished(ben)
        assert "toolCallRejected" in [content["type"] for content in contents]
        assert not (jp_root_dir / "new.txt").exists()


async def test_the_page_of_a_reader_offers_the_model_no_notebooks(jp_serverapp: Any, jp_ws_fetch: Fetch) -> None:
    can = {"codeAssistant": {"notebook": True, "kernel": True, "editor": {"diagnostics": True}}}
    async with connected(jp_ws_fetch, "cy", "ws") as cy, panel(jp_ws_fetch, "ada") as ada:
        start = {**START, "params": {"capabilities": can}}
        assert "result" in await reply(cy, start)
        assert "result" in await ask(cy, "chat/list")  # after it, the client is connected
        watcher = await Watcher.of(jp_serverapp)
        assert "result" in await reply(ada, prompt("you"))
        await watcher.ended()
        assert watcher.host.subscribers.list_notebooks("c") == []
        assert watcher.host.subscribers.find_editor("c") is None


async def test_the_chat_api_lets_a_reader_read_and_says_who_may_ask(jp_fetch: Fetch) -> None:
    asked = {"message": "you", "chat_id": "one"}
    status, answer = await send(jp_fetch, "ben", "POST", "rest", "chat", body=asked)
    assert (status, json.loads(answer)["response"]) == (200, "Hello, you")
    for path in (["servers"], ["status"], ["chats"], ["health"], ["openapi.json"], ["docs"]):
        assert (await send(jp_fetch, "cy", "GET", "rest", *path))[0] == 200, path
    for method, *path in (
        ("POST", "chat"),
        ("POST", "chat", "stream"),
        ("POST", "connect", "one"),
        ("POST", "disconnect"),
        ("POST", "chats", "one", "stop"),
        ("DELETE", "chats", "one"),
    ):
        body = asked if path[0] == "chat" else None
        status, answer = await send(jp_fetch, "cy", method, "rest", *path, body=body)
        assert (status, MAY_NOT_ASK in json.loads(answer)["detail"]) == (403, True), path
    assert len(json.loads((await send(jp_fetch, "cy", "GET", "rest", "chats"))[1])) == 1


async def test_a_reader_can_read_a_stream_of_the_chat_api_again(jp_fetch: Fetch) -> None:
    asked = {"message": "you", "chat_id": "one"}
    headers = {**sign("ben"), **JSON}
    first = await jp_fetch("eca", "rest", "chat", "stream", method="POST", body=json.dumps(asked), headers=headers)
    ids = re.findall(r"^id: (\d+)$", first.body.decode(), re.M)
    headers = {**sign("cy"), **JSON, "Last-Event-ID": ids[0]}
    again = await jp_fetch("eca", "rest", "chat", "stream", method="POST", body=json.dumps(asked), headers=headers)
    assert "[DONE]" in again.body.decode()


async def test_the_mcp_session_of_one_user_is_not_another_ones(jp_fetch: Fetch) -> None:
    body = json.dumps(HELLO)
    began = await jp_fetch("eca", "mcp", method="POST", body=body, headers={**sign("ben"), **JSON}, request_timeout=60)
    session = {**JSON, "Mcp-Session-Id": began.headers["Mcp-Session-Id"]}
    ping = json.dumps({"jsonrpc": "2.0", "id": 2, "method": "ping"})
    for name, status in (("ben", 200), ("ada", 404)):
        answer = await jp_fetch(
            "eca", "mcp", method="POST", body=ping, headers={**sign(name), **session}, raise_error=False
        )
        assert answer.code == status, name


@asynccontextmanager
async def mcp_client(url: str, name: str, mode: str, user: McpUser | None = None) -> AsyncGenerator[Client]:
    async with httpx2.AsyncClient(headers=sign(name), timeout=30, trust_env=False) as http:
        transport = streamable_http_client(url, http_client=http)
        async with Client(transport, mode=mode, elicitation_callback=user) as client:
            yield client


@pytest.fixture
def mcp_url(jp_fetch: Fetch, jp_base_url: str, jp_http_port: int) -> str:
    del jp_fetch  # it has the server listen
    return f"http://127.0.0.1:{jp_http_port}{jp_base_url}eca/mcp"


@pytest.mark.parametrize("mode", [LEGACY, MODERN])
async def test_over_mcp_a_reader_reads_chats_and_calls_nothing_that_works(
    mcp_url: str, jp_root_dir: Path, mode: str
) -> None:
    async with mcp_client(mcp_url, "ben", mode) as ben, mcp_client(mcp_url, "cy", mode) as cy:
        failed, run = await call(ben, "eca_run", prompt="you")
        assert not failed
        assert "Hello, you" in str(run)
        failed, listed = await call(cy, "eca_session_list")
        assert not failed
        chat = next(str(resource.uri) for resource in (await cy.list_resources()).resources if "chat/" in resource.uri)
        assert "Hello, you" in str(await cy.read_resource(chat))
        assert listed["sessions"]
        for name, arguments in (
            ("eca_run", {"prompt": "you"}),
            ("eca_session_create", {}),
            ("eca_file_read", {"path": "new.txt"}),
            ("eca_file_write", {"path": "new.txt", "content": "one"}),
        ):
            failed, refused = await call(cy, name, **arguments)
            assert (failed, MAY_NOT_ASK in str(refused)) == (True, True), name
        with pytest.raises(Exception, match=MAY_NOT_ASK):
            await cy.read_resource("eca://kernel/book.ipynb")
    assert not (jp_root_dir / "new.txt").exists()


@pytest.mark.parametrize("mode", [LEGACY, MODERN])
@pytest.mark.parametrize(("name", "runs"), [("ada", True), ("ben", False)])
async def test_over_mcp_only_who_may_approve_is_asked(
    mcp_url: str, jp_root_dir: Path, mode: str, name: str, runs: bool
) -> None:
    user = McpUser({"decision": "approve"})
    async with mcp_client(mcp_url, name, mode, user) as client:
        await call(client, "eca_file_write", path="new.txt", content="one")
    assert bool(user.asked) is runs
    assert (jp_root_dir / "new.txt").exists() is runs


async def test_over_ahp_a_reader_sees_the_sessions_and_is_refused_all_actions(jp_ws_fetch: Fetch) -> None:
    initialize = {"protocolVersions": ["0.1.0"], "initialSubscriptions": []}
    async with connected(jp_ws_fetch, "ben", "ahp") as ben, connected(jp_ws_fetch, "cy", "ahp") as cy:
        assert "result" in await ask(ben, "initialize", clientId="ben", **initialize)
        assert "another id" in str(await ask(cy, "initialize", clientId="ben", **initialize))
        assert "result" in await ask(cy, "initialize", clientId="cy", **initialize)
        auto = {"session": "eca:/two", "provider": "eca", "config": {"approval": "auto"}}
        assert MAY_NOT_APPROVE in str(await ask(ben, "createSession", **auto))
        assert "result" in await ask(ben, "createSession", session="eca:/one", provider="eca")
        assert "result" in await ask(cy, "subscribe", resource="eca:/one")
        assert [item["resource"] for item in (await ask(cy, "listSessions"))["result"]["items"]] == ["eca:/one"]
        for method, params in (
            ("createSession", {"session": "eca:/two", "provider": "eca"}),
            ("disposeSession", {"session": "eca:/one"}),
            ("createTerminal", {"terminal": "term:/1", "claim": {"kind": "client", "clientId": "cy"}}),
            ("resourceRead", {"uri": "file:///etc/hostname"}),
        ):
            assert MAY_NOT_ASK in str((await ask(cy, method, **params))["error"]), method
        action = {"type": "session/titleChanged", "session": "eca:/one", "title": "Mine"}
        await tell(cy, "dispatchAction", clientSeq=1, action=action)
        assert MAY_NOT_ASK in (await until_method(cy, "action"))["rejectionReason"]
        await tell(ben, "dispatchAction", clientSeq=1, action=action)
        assert "rejectionReason" not in await until_method(cy, "action")


async def test_over_acp_a_reader_lists_and_loads_sessions_and_is_told_when_they_ask(
    jp_ws_fetch: Fetch, jp_root_dir: Path
) -> None:
    at: dict[str, Any] = {"cwd": str(jp_root_dir), "mcpServers": []}
    initialize: dict[str, Any] = {"protocolVersion": 1, "clientCapabilities": {}}
    hello = [{"type": "text", "text": "you"}]
    async with connected(jp_ws_fetch, "ben", "acp") as ben, connected(jp_ws_fetch, "cy", "acp") as cy:
        for socket in (ben, cy):
            assert "result" in await ask(socket, "initialize", **initialize)
        session = (await ask(ben, "session/new", **at))["result"]["sessionId"]
        assert "result" in await ask(ben, "session/prompt", sessionId=session, prompt=hello)
        listed = (await ask(cy, "session/list", cwd=str(jp_root_dir)))["result"]["sessions"]
        assert [entry["sessionId"] for entry in listed] == [session]
        assert "result" in await ask(cy, "session/load", sessionId=session, **at)
        for method, params in (
            ("session/new", at),
            ("session/prompt", {"sessionId": session, "prompt": hello}),
            ("session/set_mode", {"sessionId": session, "modeId": "plan"}),
            ("session/delete", {"sessionId": session}),
        ):
            assert MAY_NOT_ASK in str((await ask(cy, method, **params))["error"]), method


async def test_a_reader_ends_no_sign_in(jp_fetch: Fetch) -> None:
    status, page = await send(jp_fetch, "cy", "GET", "oauth", "callback")
    assert (status, MAY_NOT_ASK in page) == (403, True)
