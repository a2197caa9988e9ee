"""Who has asked and who has decided, as the clients of each protocol say it and are told it, on a server that tells its
users apart."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any, Final

import pytest
from traitlets.config import Config

from tests.apps.server.cells import PATIENCE, Watcher, kernel
from tests.apps.server.test_authorizer import NAMES, Logins, connected, mcp_client, send, sign
from tests.apps.server.test_token import ask, tell
from tests.apps.server.test_websocket import START, prompt, reply, until_method
from tests.fronts.mcp.room import LEGACY, MODERN, call
from tests.fronts.mcp.room import User as McpUser

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from pathlib import Path

    from jupyter_eca.protocol.event import Person

    Fetch = Callable[..., Awaitable[Any]]

OURS: Final = {**START, "params": {"capabilities": {"codeAssistant": {"envelope": True}}}}
ADA, BEN = ({"username": name, "name": NAMES[name]} for name in ("ada", "ben"))
HELLO: Final[dict[str, Any]] = {"protocolVersions": ["0.1.0"], "initialSubscriptions": []}


@pytest.fixture
def jp_server_config(jp_server_config: dict[str, Any]) -> Config:
    """A server that lets everybody who has a name do everything."""
    config = Config(jp_server_config)
    config.ServerApp.identity_provider_class = Logins
    return config


@pytest.fixture
def jp_auth_header() -> dict[str, str]:
    """The server is asked by Ada, where a test does not say otherwise."""
    return sign("ada")


def who(person: Person | None) -> str:
    return "" if person is None else person.username


def decided(watcher: Watcher) -> tuple[str, str]:
    """Who has asked, and who has decided about the call."""
    asked = next(who(event.by) for event in watcher.events if event.role.value == "user")
    ended = {"toolCalled", "toolCallRejected"}
    return asked, next(who(event.by) for event in watcher.events if getattr(event.content, "type", "") in ended)


async def waiting_call(watcher: Watcher) -> str:
    return getattr((await watcher.until("toolCallRun")).content, "id", "")


async def test_a_panel_is_told_who_its_user_is(jp_ws_fetch: Fetch) -> None:
    for person in (ADA, BEN):
        async with connected(jp_ws_fetch, person["username"], "ws") as socket:
            assert (await reply(socket, OURS))["result"]["user"] == person
        async with connected(jp_ws_fetch, person["username"], "ws") as editor:  # of another maker
            assert "user" not in (await reply(editor, START))["result"]


@pytest.mark.parametrize("approved", [True, False])
async def test_a_panel_is_told_who_asked_and_who_decided(
    jp_serverapp: Any, jp_ws_fetch: Fetch, *, approved: bool
) -> None:
    async with connected(jp_ws_fetch, "ada", "ws") as ada, connected(jp_ws_fetch, "ben", "ws") as ben:
        watcher = await Watcher.of(jp_serverapp)
        for socket in (ada, ben):
            assert "result" in await reply(socket, OURS)
            await tell(socket, "initialized")
        assert "result" in await reply(ben, prompt("write"))
        method = "chat/toolCallApprove" if approved else "chat/toolCallReject"
        await tell(ada, method, chatId="c", toolCallId=await waiting_call(watcher))
        ended = "toolCalled" if approved else "toolCallRejected"
        await watcher.until(ended)
        named: dict[str, Any] = {}
        while ended not in named:
            shown = await until_method(ben, "chat/contentReceived")
            named.setdefault(f"{shown['role']} {shown['content']['type']}", shown.get("by"))
            named.setdefault(shown["content"]["type"], shown.get("by"))
        assert (named["user text"], named["toolCallRun"], named[ended]) == (BEN, None, ADA)


@pytest.mark.parametrize("approved", [True, False])
async def test_an_exported_chat_names_who_asked_and_who_decided(
    jp_serverapp: Any, jp_ws_fetch: Fetch, jp_root_dir: Path, *, approved: bool
) -> None:
    async with connected(jp_ws_fetch, "ada", "ws") as ada, connected(jp_ws_fetch, "ben", "ws") as ben:
        watcher = await Watcher.of(jp_serverapp)
        for socket in (ada, ben):
            assert "result" in await reply(socket, OURS)
            await tell(socket, "initialized")
        assert "result" in await reply(ben, prompt("write"))
        method = "chat/toolCallApprove" if approved else "chat/toolCallReject"
        await tell(ada, method, chatId="c", toolCallId=await waiting_call(watcher))
        await watcher.ended()
        watcher.events.clear()
        assert "result" in await reply(ben, prompt("/export who.md"))
        await watcher.ended()
    text = (jp_root_dir / "who.md").read_text()
    assert f"## {NAMES['ben']}\n\nwrite" in text
    assert f"({'approved' if approved else 'rejected'} by {NAMES['ada']}" in text


async def test_over_ahp_the_events_bear_the_names_and_the_actions_the_clients(
    jp_serverapp: Any, jp_ws_fetch: Fetch
) -> None:
    async with connected(jp_ws_fetch, "ben", "ahp") as ben, connected(jp_ws_fetch, "ada", "ahp") as ada:
        watcher = await Watcher.of(jp_serverapp)
        assert "result" in await ask(ben, "initialize", clientId="client-of-ben", **HELLO)
        assert "result" in await ask(ada, "initialize", clientId="client-of-ada", **HELLO)
        assert "result" in await ask(ben, "createSession", session="eca:/one", provider="eca")
        for socket in (ben, ada):
            assert "result" in await ask(socket, "subscribe", resource="eca:/one")
        turn: dict[str, Any] = {"session": "eca:/one", "turnId": "t"}
        start = {"type": "session/turnStarted", **turn, "userMessage": {"text": "write"}}
        await tell(ben, "dispatchAction", clientSeq=1, action=start)
        about = {**turn, "toolCallId": await waiting_call(watcher)}
        decision = {"approved": True, "confirmed": "user-action"}
        confirm = {"type": "session/toolCallConfirmed", **about, **decision}
        await tell(ada, "dispatchAction", clientSeq=1, action=confirm)
        await watcher.ended()
        assert decided(watcher) == ("ben", "ada")
        origins: dict[str, str] = {}
        heard = ""
        while "session/turnComplete" not in origins:
            action = await until_method(ada, "action")
            heard += json.dumps(action)
            origins[action["action"]["type"]] = action.get("origin", {}).get("clientId", "")
        assert origins["session/turnStarted"] == "client-of-ben"
        assert origins["session/toolCallConfirmed"] == "client-of-ada"
        assert NAMES["ada"] not in heard  # the protocol has no place for the names of people


async def test_over_acp_messages_and_calls_bear_the_names_in_the_meta_of_their_updates(
    jp_serverapp: Any, jp_ws_fetch: Fetch, jp_root_dir: Path
) -> None:
    at: dict[str, Any] = {"cwd": str(jp_root_dir), "mcpServers": []}
    async with connected(jp_ws_fetch, "ben", "acp") as ben, connected(jp_ws_fetch, "ada", "acp") as ada:
        watcher = await Watcher.of(jp_serverapp)
        for socket in (ben, ada):
            assert "result" in await ask(socket, "initialize", protocolVersion=1, clientCapabilities={})
        session = (await ask(ben, "session/new", **at))["result"]["sessionId"]
        text = [{"type": "text", "text": "write"}]
        params = {"sessionId": session, "prompt": text}
        await ben.write_message(json.dumps({"jsonrpc": "2.0", "id": 5, "method": "session/prompt", "params": params}))
        await waiting_call(watcher)
        assert "result" in await ask(ada, "session/resume", sessionId=session, **at)
        async with asyncio.timeout(PATIENCE):
            while (asked := json.loads(await ada.read_message())).get("method") != "session/request_permission":
                pass
        option = next(one["optionId"] for one in asked["params"]["options"] if one["kind"] == "allow_once")
        outcome = {"outcome": {"outcome": "selected", "optionId": option}}
        await ada.write_message(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": outcome}))
        await watcher.ended()
        assert decided(watcher) == ("ben", "ada")
        ended = await _until_call_ends(ben)
        assert ended["_meta"] == {"eca": {"by": ADA}}
    async with connected(jp_ws_fetch, "ada", "acp") as again:
        assert "result" in await ask(again, "initialize", protocolVersion=1, clientCapabilities={})
        load = {"jsonrpc": "2.0", "id": 6, "method": "session/load", "params": {"sessionId": session, **at}}
        await again.write_message(json.dumps(load))
        seen = await until_method(again, "session/update")
        assert seen["update"]["sessionUpdate"] == "user_message_chunk"
        assert seen["update"]["_meta"] == {"eca": {"by": BEN}}
        assert (await _until_call_ends(again))["_meta"] == {"eca": {"by": ADA}}


async def _until_call_ends(socket: Any) -> dict[str, Any]:
    while True:
        update = (await until_method(socket, "session/update"))["update"]
        if update.get("status") == "completed":
            return update


async def test_over_rest_the_events_bear_the_name_and_the_answers_do_not(jp_serverapp: Any, jp_fetch: Fetch) -> None:
    watcher = await Watcher.of(jp_serverapp)
    asked = {"message": "you", "chat_id": "one"}
    status, answer = await send(jp_fetch, "ben", "POST", "rest", "chat", body=asked)
    assert status == 200
    assert [who(event.by) for event in watcher.events if event.role.value == "user"] == ["ben"]
    _, chats = await send(jp_fetch, "ada", "GET", "rest", "chats")
    assert NAMES["ben"] not in answer + chats


@pytest.mark.parametrize("mode", [LEGACY, MODERN])
async def test_over_mcp_the_resource_of_a_chat_says_who_asked_and_who_decided(
    jp_serverapp: Any, jp_fetch: Fetch, jp_base_url: str, jp_http_port: int, mode: str
) -> None:
    del jp_fetch  # it has the server listen
    watcher = await Watcher.of(jp_serverapp)
    url = f"http://127.0.0.1:{jp_http_port}{jp_base_url}eca/mcp"
    async with (
        mcp_client(url, "ben", mode, McpUser({"decision": "approve"})) as ben,
        mcp_client(url, "ada", mode) as ada,
    ):
        failed, run = await call(ben, "eca_run", prompt="write")
        assert not failed, run
        assert decided(watcher) == ("ben", "ben")
        chat = next(str(one.uri) for one in (await ada.list_resources()).resources if "chat/" in one.uri)
        (content,) = (await ada.read_resource(chat)).contents
        said = json.loads(getattr(content, "text", ""))["said"]
        assert {line["role"]: line.get("by") for line in said} == {"user": BEN, "tool": BEN, "assistant": None}


@pytest.mark.parametrize("alone", [False, True])
async def test_a_cell_says_who_has_approved_its_call_unless_one_person_is_there(
    jp_serverapp: Any, jp_ws_fetch: Fetch, *, alone: bool
) -> None:
    other = "ada" if alone else "ben"
    async with (
        kernel(jp_serverapp) as cells,
        connected(jp_ws_fetch, "ada", "ws") as ada,
        connected(jp_ws_fetch, other, "ws") as second,
    ):
        watcher = await Watcher.of(jp_serverapp)
        for socket in (ada, second):
            assert "result" in await reply(socket, OURS)
            await tell(socket, "initialized")
        await cells.run("%load_ext jupyter_eca")
        running = asyncio.ensure_future(cells.page("%%eca\nwrite"))
        waiting = await watcher.until("toolCallRun")
        await tell(ada, "chat/toolCallApprove", chatId=waiting.chat, toolCallId=getattr(waiting.content, "id", ""))
        ran = await running
        assert decided(watcher) == ("", "ada")
        assert (f"approved by <code>{NAMES['ada']}</code>" in ran.markdown) is not alone, ran.markdown
