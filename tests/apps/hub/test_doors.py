"""Through the proxy of a real JupyterHub with a base URL, the doors of a user's server open for its user and for nobody
else. The tests of `apps/server` have what happens behind them."""

from __future__ import annotations

import asyncio
import json
import re
import urllib.error
import urllib.request
from typing import TYPE_CHECKING, Any, Final

import pytest
from tornado.httpclient import HTTPClientError, HTTPRequest
from tornado.websocket import websocket_connect

from tests.apps.hub.gateway_parts import ADA_CONTACT, BEN_CONTACT, needs_npm
from tests.apps.hub.test_gateway import ask_in_server
from tests.e2e.browser.hub import START_SECONDS
from tests.support.gateway_server import CLAUDE, GPT

if TYPE_CHECKING:
    from tests.apps.hub.gateway_parts import RunningGateway

pytestmark = [pytest.mark.nightly, needs_npm]

JSON: Final = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
MCP_HELLO: Final[dict[str, Any]] = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}},
}
AHP_HELLO: Final[dict[str, Any]] = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"protocolVersions": ["0.1.0"], "initialSubscriptions": [], "clientId": "test"},
}
ECA_HELLO: Final[dict[str, Any]] = {**MCP_HELLO, "params": {"capabilities": {}}}


def send(gateway: RunningGateway, path: str, token: str, body: object = None) -> tuple[int, str]:
    """Send a request to the server of ada; without a body, this is a GET. Return the status and the text."""
    data = None if body is None else json.dumps(body).encode()
    url = f"{gateway.hub.url}user/ada/eca/{path}"
    request = urllib.request.Request(url, data, {**JSON, "Authorization": f"Bearer {token}"})  # noqa: S310  # our own hub
    try:
        with urllib.request.urlopen(request, timeout=START_SECONDS) as answer:  # noqa: S310  # the same
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read().decode()


async def greet(gateway: RunningGateway, path: str, token: str, hello: dict[str, Any]) -> dict[str, Any] | int:
    """Open a WebSocket of the server of ada. Return the answer to a message, or the status of a refusal."""
    url = f"{gateway.hub.url.replace('http', 'ws', 1)}user/ada/eca/{path}"
    try:
        socket = await websocket_connect(HTTPRequest(url, headers={"Authorization": f"token {token}"}))
    except HTTPClientError as error:
        return error.code
    await socket.write_message(json.dumps(hello))
    async with asyncio.timeout(START_SECONDS):
        while (heard := json.loads(str(await socket.read_message()))).get("id") != hello["id"]:
            pass
    socket.close()
    return heard


def join_texts(contents: list[dict[str, Any]]) -> str:
    return "".join(content.get("text", "") for content in contents if content["type"] == "text")


@pytest.mark.parametrize("scope", [None, "access:servers!server=ada/", "access:servers!user=ada"])
@pytest.mark.asyncio
async def test_each_door_opens_for_a_token_of_the_user_that_may_use_the_server(
    gateway: RunningGateway, scope: str | None
) -> None:
    await asyncio.to_thread(gateway.hub.start_server, "ada")
    token = gateway.hub.make_token("ada", *filter(None, (scope,)))
    for path, hello in (("ws", ECA_HELLO), ("ahp", AHP_HELLO)):
        heard = await greet(gateway, path, token, hello)
        assert isinstance(heard, dict)
        assert "result" in heard
    status, text = await asyncio.to_thread(send, gateway, "rest/chat/stream", token, {"message": "hi"})
    assert status == 200
    assert "Hello" in text
    status, text = await asyncio.to_thread(send, gateway, "mcp", token, MCP_HELLO)
    assert status == 200
    assert "serverInfo" in text


@pytest.mark.parametrize(
    ("user", "scope"),
    [("ben", None), ("ada", "read:users!user=ada"), ("ada", "access:servers!server=ada/other"), (None, None)],
    ids=["another user", "no access", "another server", "no token"],
)
@pytest.mark.asyncio
async def test_no_door_opens_for_anybody_else(gateway: RunningGateway, user: str | None, scope: str | None) -> None:
    token = gateway.hub.make_token(user, *filter(None, (scope,))) if user else "0123456789abcdef"
    await check_refusal(gateway, token)


@pytest.mark.asyncio
async def test_no_door_opens_for_a_token_that_has_expired(gateway: RunningGateway) -> None:
    await check_refusal(gateway, await asyncio.to_thread(gateway.hub.make_expired_token, "ada"))


async def check_refusal(gateway: RunningGateway, token: str) -> None:
    """Check that no door of the server of ada opens for a token."""
    await asyncio.to_thread(gateway.hub.start_server, "ada")
    assert [await greet(gateway, path, token, hello) for path, hello in (("ws", ECA_HELLO), ("ahp", AHP_HELLO))] == [
        403,
        403,
    ]
    assert (await asyncio.to_thread(send, gateway, "rest/health", token))[0] == 403
    assert (await asyncio.to_thread(send, gateway, "mcp", token, MCP_HELLO))[0] == 403


@pytest.mark.asyncio
async def test_two_users_are_answered_at_once_each_by_a_model_of_their_own_and_a_third_is_not_known(
    gateway: RunningGateway,
) -> None:
    for user in ("ada", "ben"):
        await asyncio.to_thread(gateway.hub.start_server, user)
    before = len(gateway.vendor.requests)
    chats = await asyncio.gather(*(ask_in_server(gateway, user) for user in ("ada", "ben")))
    for contents in chats:
        assert "Hello 1" in join_texts(contents)
    asked = {one.path.partition("?")[0] for one in gateway.vendor.requests[before:] if one.body}
    assert asked == {"/v1/messages", "/v1/responses"}
    with pytest.raises(urllib.error.HTTPError, match=r"40[34]"):
        gateway.hub.make_token("eve")


@pytest.mark.asyncio
async def test_the_doors_leave_no_warning_in_the_logs(gateway: RunningGateway) -> None:
    await asyncio.to_thread(gateway.hub.start_server, "ada")
    log = gateway.hub.folder / "hub.log"  # the servers of the users write to it, too
    before = len(log.read_bytes())
    token = gateway.hub.make_token("ada")
    for path, hello in (("ws", ECA_HELLO), ("ahp", AHP_HELLO)):
        assert isinstance(await greet(gateway, path, token, hello), dict)
    assert "Hello" in join_texts(await ask_in_server(gateway, "ada"))
    written = log.read_bytes()[before:].decode()
    assert "/user/ada/eca/ws" in written
    assert [line for line in written.splitlines() if re.match(r"\[[WE] ", line) or "websocket_ping" in line] == []


@pytest.mark.asyncio
async def test_each_server_has_the_policy_that_the_spawner_gives_it(gateway: RunningGateway) -> None:
    for user in ("ada", "ben"):
        await asyncio.to_thread(gateway.hub.start_server, user)
    before = len(gateway.vendor.requests)
    denied = (("ada", f"hub/{GPT}", ADA_CONTACT), ("ben", f"hub/{CLAUDE}", BEN_CONTACT))
    chats = await asyncio.gather(*(ask_in_server(gateway, user, model) for user, model, _ in denied))
    for contents, (_, model, contact) in zip(chats, denied, strict=True):
        assert f"`{model}`" in join_texts(contents)
        assert contact in join_texts(contents)
    assert [one for one in gateway.vendor.requests[before:] if one.body] == []
