"""The handshake, and requests that are wrong."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

import pytest

from jupyter_eca.fronts.acp.sessions import HANDLERS
from jupyter_eca.protocol.acp.requests import REQUESTS
from jupyter_eca.protocol.jsonrpc import ErrorCode, ErrorResponse, Result
from tests.fronts.acp.script import RULES
from tests.support.acp_client import chatting_with, needs_schema, unconnected
from tests.support.host_and_client import desk

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = [pytest.mark.asyncio, needs_schema]


@pytest.mark.parametrize("version", [0, 1, 2, 99])
async def test_every_version_is_answered_with_the_one_that_is_spoken(tmp_path: Path, version: int) -> None:
    async with desk(tmp_path, RULES) as table, unconnected(table) as client:
        answer = await client.result("initialize", {"protocolVersion": version, "clientCapabilities": {}})
        assert answer["protocolVersion"] == 1
        assert answer["authMethods"] == []
        capabilities = answer["agentCapabilities"]
        assert capabilities["loadSession"]
        assert capabilities["promptCapabilities"] == {"image": True, "audio": False, "embeddedContext": True}
        assert capabilities["sessionCapabilities"].keys() == {"list", "resume", "close", "delete"}
        assert answer["agentInfo"]["name"] == "jupyter-eca"


@pytest.mark.parametrize("params", [{"protocolVersion": "1"}, {}, None, [], {"protocolVersion": -1}], ids=str)
async def test_a_handshake_without_a_version_is_refused_and_can_be_repeated(tmp_path: Path, params: Any) -> None:
    async with desk(tmp_path, RULES) as table, unconnected(table) as client:
        client.checked.checks_sent = False
        assert await client.code("initialize", params) == ErrorCode.INVALID_PARAMS
        assert (await client.initialize())["protocolVersion"] == 1


async def test_nothing_is_answered_before_the_handshake(tmp_path: Path) -> None:
    async with desk(tmp_path, RULES) as table, unconnected(table) as client:
        params: Any = {"cwd": str(tmp_path), "mcpServers": []}
        assert await client.code("session/new", params) == ErrorCode.INVALID_REQUEST


async def test_a_second_handshake_is_refused(tmp_path: Path) -> None:
    async with chatting_with(tmp_path, RULES) as client:
        assert await client.code("initialize", {"protocolVersion": 1}) == ErrorCode.INVALID_REQUEST
        assert await client.prompt("you") == "end_turn"


WRONG: list[tuple[str, Any, int]] = [
    ("no/such", {}, ErrorCode.METHOD_NOT_FOUND),
    ("_other.app/status", {}, ErrorCode.METHOD_NOT_FOUND),
    ("session/fork", {"sessionId": "x", "cwd": "/"}, ErrorCode.METHOD_NOT_FOUND),
    ("session/update", {}, ErrorCode.METHOD_NOT_FOUND),
    ("session/new", {"cwd": 1, "mcpServers": []}, ErrorCode.INVALID_PARAMS),
    ("session/new", {"mcpServers": []}, ErrorCode.INVALID_PARAMS),
    ("session/new", {"cwd": "/", "mcpServers": [{"name": "x"}]}, ErrorCode.INVALID_PARAMS),
    ("session/new", {"cwd": "/", "mcpServers": {"x": {}}}, ErrorCode.INVALID_PARAMS),
    ("session/new", {"cwd": "/\0", "mcpServers": []}, ErrorCode.INVALID_PARAMS),
    ("session/prompt", {"sessionId": 1, "prompt": []}, ErrorCode.INVALID_PARAMS),
    ("session/prompt", {"sessionId": "x", "prompt": "text"}, ErrorCode.INVALID_PARAMS),
    ("session/prompt", {"sessionId": "x", "prompt": [{"type": "video"}]}, ErrorCode.INVALID_PARAMS),
    ("session/prompt", {"sessionId": "x", "prompt": [{"type": "text"}]}, ErrorCode.INVALID_PARAMS),
    ("session/list", {"cwd": "relative"}, ErrorCode.INVALID_PARAMS),
    ("session/list", [], ErrorCode.INVALID_PARAMS),
]


@pytest.mark.parametrize(("method", "params", "code"), WRONG, ids=str)
async def test_a_wrong_request_is_refused_in_one_sentence(tmp_path: Path, method: str, params: Any, code: int) -> None:
    async with chatting_with(tmp_path, RULES) as client:
        client.checked.checks_sent = False
        reply = await client.ask(method, params)
        assert isinstance(reply, ErrorResponse)
        assert reply.code == code
        assert 0 < len(reply.message) < 300
        assert "Traceback" not in reply.message
        assert await client.prompt("you") == "end_turn"


@pytest.mark.parametrize("method", ["no/such", "session/cancel", "session/update", "$/progress"])
async def test_a_notification_that_says_nothing_is_ignored(tmp_path: Path, method: str) -> None:
    async with chatting_with(tmp_path, RULES) as client:
        client.checked.checks_sent = False
        nothings: list[Any] = [None, {}, [], {"sessionId": "no-such"}, {"sessionId": 1}]
        for params in nothings:
            await client.tell(method, params)
        assert await client.prompt("you") == "end_turn"


async def test_a_sign_in_that_nobody_offered_is_harmless(tmp_path: Path) -> None:
    async with chatting_with(tmp_path, RULES) as client:
        assert await client.result("authenticate", {"methodId": "anything"}) == {}
        assert await client.prompt("you") == "end_turn"


@pytest.mark.parametrize("id", [0, "zero", -1, 2**40])
async def test_the_id_of_a_request_is_repeated(tmp_path: Path, id: Any) -> None:
    async with chatting_with(tmp_path, RULES) as client:
        reply = await client.ask("session/list", {"cwd": str(tmp_path)}, id)
        assert isinstance(reply, Result)
        assert reply.id == id
        assert type(reply.id) is type(id)


async def test_fields_that_nobody_knows_are_ignored(tmp_path: Path) -> None:
    async with chatting_with(tmp_path, RULES) as client:
        block: Any = {"type": "text", "text": "you", "annotations": {"priority": 1}, "_meta": {"zed.dev": 1}, "new": []}
        reply = await client.ask("session/prompt", {"sessionId": client.session, "prompt": [block], "_meta": None})
        assert isinstance(reply, Result)
        assert client.said() == "Hello, you"


async def test_half_a_character_in_a_prompt_is_refused(tmp_path: Path) -> None:
    async with chatting_with(tmp_path, RULES) as client:
        block: Any = {"type": "text", "text": "half \ud83d"}
        params: Any = {"sessionId": client.session, "prompt": [block]}
        assert await client.code("session/prompt", params) == ErrorCode.INVALID_PARAMS


async def test_without_any_model_a_session_opens_and_a_prompt_says_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "xllamacpp", None)  # as if it were not installed
    for name in [name for name in os.environ if name.endswith("_API_KEY")]:
        monkeypatch.delenv(name)
    more: Any = {"defaultModel": "", "providers": {"ollama": {"url": "http://127.0.0.1:9"}}}
    async with chatting_with(tmp_path, RULES, **more) as client:
        assert await client.prompt("you") == "end_turn"
        assert "/login" in client.said()


async def test_the_requests_that_are_answered_are_those_with_models() -> None:
    assert HANDLERS.keys() | {"initialize", "authenticate"} == REQUESTS.keys()
