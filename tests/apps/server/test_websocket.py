"""The authenticated door: `<base_url>eca/ws`."""

from __future__ import annotations

import asyncio
import json
import re
from pathlib import Path
from socket import IPPROTO_TCP, TCP_NODELAY
from typing import TYPE_CHECKING, Any

import pytest
from tornado.httpclient import HTTPClientError
from tornado.iostream import IOStream

from jupyter_eca.apps.server.websockets import LARGEST_FRAME
from tests.apps.server.cells import PATIENCE, Watcher, kernel

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    Fetch = Callable[..., Awaitable[Any]]

START: dict[str, Any] = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"capabilities": {}}}


def prompt(message: str) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": 2, "method": "chat/prompt", "params": {"message": message, "chatId": "c"}}


async def reply(socket: Any, message: dict[str, Any]) -> dict[str, Any]:
    await socket.write_message(json.dumps(message))
    async with asyncio.timeout(PATIENCE):
        while True:
            heard = json.loads(await socket.read_message())
            if heard.get("id", 0) == message["id"]:
                return heard


async def until_method(socket: Any, method: str) -> dict[str, Any]:
    """Read messages until a notification with that method comes. Return its params."""
    async with asyncio.timeout(PATIENCE):
        while True:
            heard = json.loads(await socket.read_message())
            if heard.get("method") == method:
                return heard["params"]


async def until_finished(socket: Any) -> list[dict[str, Any]]:
    contents: list[dict[str, Any]] = []
    async with asyncio.timeout(PATIENCE):
        while True:
            heard = json.loads(await socket.read_message())
            if heard.get("method") == "chat/contentReceived":
                contents.append(heard["params"]["content"])
                if contents[-1].get("state") == "finished":
                    return contents


@pytest.mark.parametrize("authorization", ["", "token wrong"])
async def test_without_the_token_nobody_comes_in(jp_ws_fetch: Fetch, authorization: str) -> None:
    with pytest.raises(HTTPClientError) as refused:
        await jp_ws_fetch("eca", "ws", headers={"Authorization": authorization})
    assert refused.value.code == 403


async def test_a_page_of_another_origin_with_the_users_cookie_does_not_come_in(
    jp_fetch: Fetch, jp_ws_fetch: Fetch
) -> None:
    page = await jp_fetch("api", "status")
    cookies = "; ".join(value.split(";")[0] for value in page.headers.get_list("Set-Cookie"))
    assert cookies
    headers = {"Origin": "https://evil.example", "Cookie": cookies, "Authorization": ""}
    with pytest.raises(HTTPClientError) as refused:
        await jp_ws_fetch("eca", "ws", headers=headers)
    assert refused.value.code == 403


async def test_an_authorizer_that_says_no_keeps_a_user_out(
    jp_serverapp: Any, jp_ws_fetch: Fetch, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[tuple[str, str]] = []

    def deny(_handler: Any, _user: Any, action: str, resource: str) -> bool:
        asked.append((action, resource))
        return False

    monkeypatch.setattr(jp_serverapp.authorizer, "is_authorized", deny)
    with pytest.raises(HTTPClientError) as refused:
        await jp_ws_fetch("eca", "ws")
    assert refused.value.code == 403
    assert asked == [("read", "eca")]


async def test_a_question_is_answered_one_message_a_frame(jp_ws_fetch: Fetch) -> None:
    socket = await jp_ws_fetch("eca", "ws")
    assert (await reply(socket, START))["result"]["chatDefaultModel"] == "scripted/test"
    ask: dict[str, Any] = {
        "jsonrpc": "2.0",
        "id": 2,
        "method": "chat/prompt",
        "params": {"message": "you", "chatId": "c"},
    }
    assert (await reply(socket, ask))["result"]["status"] == "prompting"
    contents = await until_finished(socket)
    assert {"type": "text", "text": "Hello, you"} in contents
    socket.close()


async def test_a_frame_that_is_no_json_is_answered_and_the_door_stays_open(jp_ws_fetch: Fetch) -> None:
    socket = await jp_ws_fetch("eca", "ws")
    await socket.write_message("{oops")
    assert json.loads(await socket.read_message())["error"]["code"] == -32700
    assert "result" in await reply(socket, START)
    socket.close()


async def test_a_message_of_11_mib_is_answered(jp_ws_fetch: Fetch) -> None:
    socket = await jp_ws_fetch("eca", "ws")
    assert "result" in await reply(socket, START)
    large = {"jsonrpc": "2.0", "id": 7, "method": "chat/list", "params": {"query": "x" * 11 * 2**20}}
    assert "result" in await reply(socket, large)
    socket.close()


@pytest.mark.parametrize("front", ["ws", "ahp"])
async def test_one_client_too_many_is_told_so_and_the_others_go_on(
    jp_ws_fetch: Fetch, front: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("jupyter_eca.apps.server.websockets.MAX_CONNECTIONS", 1)
    first = await jp_ws_fetch("eca", "ws")
    assert "result" in await reply(first, START)
    second = await jp_ws_fetch("eca", front)
    async with asyncio.timeout(PATIENCE):
        while await second.read_message() is not None:
            pass
    assert (second.close_code, second.close_reason) == (
        1013,
        "1 clients are connected, and no more can be. Close one of them.",
    )
    await first.write_message("{oops")
    assert json.loads(await first.read_message())["error"]["code"] == -32700
    first.close()
    second.close()


@pytest.mark.parametrize("front", ["ws", "ahp"])
async def test_a_message_that_is_too_large_closes_the_connection_with_a_reason(jp_ws_fetch: Fetch, front: str) -> None:
    socket = await jp_ws_fetch("eca", front)
    await socket.write_message("x" * 50 * 2**20)
    async with asyncio.timeout(PATIENCE):
        while await socket.read_message() is not None:
            pass
    assert socket.close_code == 1009
    assert socket.close_reason == "The message is larger than 50331648 characters. Send a smaller one."
    socket.close()


async def test_a_broken_configuration_is_named_and_mended_without_a_restart(
    jp_ws_fetch: Fetch, jp_root_dir: Any
) -> None:
    file = jp_root_dir / ".eca" / "config.json"
    good = file.read_text()
    file.write_text("{")
    socket = await jp_ws_fetch("eca", "ws")
    assert "result" in await reply(socket, START)
    await socket.write_message(json.dumps({"jsonrpc": "2.0", "method": "initialized", "params": {}}))
    shown = await until_method(socket, "$/showMessage")
    assert str(file) in shown["message"]
    assert "this project's settings are not used" in shown["message"]
    file.write_text(good)
    while "scripted/test" not in (await until_method(socket, "config/updated"))["chat"].get("models", ()):
        pass
    socket.close()


@pytest.mark.parametrize("approve_with_token", [True])
async def test_code_from_the_side_runs_in_the_idle_kernel_once_it_is_approved(
    jp_serverapp: Any, jp_ws_fetch: Fetch
) -> None:
    async with kernel(jp_serverapp) as at:
        socket = await jp_ws_fetch("eca", "ws")
        await reply(socket, START)
        watcher = await Watcher.of(jp_serverapp)
        ask: dict[str, Any] = {
            "jsonrpc": "2.0",
            "id": 2,
            "method": "chat/prompt",
            "params": {"message": "make", "chatId": "c"},
        }
        await reply(socket, ask)
        call = (await watcher.until("toolCallRun")).content
        approve = {"chatId": "c", "toolCallId": getattr(call, "id", "")}
        await socket.write_message(json.dumps({"jsonrpc": "2.0", "method": "chat/toolCallApprove", "params": approve}))
        await until_finished(socket)
        assert (await at.run("print(answer)")).stdout == "42\n"
        socket.close()


@pytest.mark.parametrize("approve_with_token", [True])
async def test_code_of_a_stopped_turn_does_not_run_behind_the_users_busy_cell(
    jp_serverapp: Any, jp_ws_fetch: Fetch, tmp_path: Path
) -> None:
    async with kernel(jp_serverapp) as at:
        gate = tmp_path / "gate"
        busy = asyncio.ensure_future(
            at.run(f"import pathlib, time\nwhile not pathlib.Path({str(gate)!r}).exists(): time.sleep(0.01)")
        )
        manager = at.kernels.get_kernel(at.id)
        async with asyncio.timeout(PATIENCE):
            while manager.execution_state != "busy":  # noqa: ASYNC110  # the manager has no event for it
                await asyncio.sleep(0)
        socket = await jp_ws_fetch("eca", "ws")
        await reply(socket, START)
        watcher = await Watcher.of(jp_serverapp)
        await reply(socket, prompt("make"))
        call = (await watcher.until("toolCallRun")).content
        watcher.host.turns.approve("c", getattr(call, "id", ""), remember=False)
        await watcher.until("toolCallRunning")
        watcher.host.turns.stop("c")
        assert (await watcher.ended()).outcome == "stopped"
        gate.touch()
        await busy
        assert (await at.run("print('answer' in globals())")).stdout == "False\n"
        socket.close()


async def test_leaving_in_mid_answer_neither_ends_the_turn_nor_the_server(
    jp_serverapp: Any, jp_ws_fetch: Fetch
) -> None:
    socket = await jp_ws_fetch("eca", "ws")
    await reply(socket, START)
    watcher = await Watcher.of(jp_serverapp)
    ask: dict[str, Any] = {
        "jsonrpc": "2.0",
        "id": 2,
        "method": "chat/prompt",
        "params": {"message": "slow", "chatId": "c"},
    }
    await reply(socket, ask)
    await watcher.until("text")
    socket.close()
    again = await jp_ws_fetch("eca", "ws")
    await reply(again, START)
    listed = await reply(again, {"jsonrpc": "2.0", "id": 3, "method": "chat/list", "params": {}})
    assert listed["result"]["chats"][0]["status"] == "running"
    watcher.host.turns.stop("c")
    await watcher.ended()
    again.close()


def test_a_page_sends_no_answer_that_is_larger_than_the_server_takes() -> None:
    source = (Path(__file__).parents[3] / "labextension" / "src" / "wire" / "rpc.ts").read_text(encoding="utf-8")
    found = re.search(r"MAX_ANSWER_LENGTH = (\d+) \* 1024 \* 1024;", source)
    assert found is not None
    assert int(found[1]) * 1024 * 1024 == LARGEST_FRAME


@pytest.fixture
def writes(jp_http_port: int, monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Of each write of the server: whether the system sends it at once, however small it is."""
    found: list[bool] = []
    write = IOStream.write

    def note(stream: IOStream, data: Any) -> Any:
        connection = stream.socket
        assert connection is not None
        if connection.getpeername()[1] != jp_http_port:  # else it is the client's side
            found.append(bool(connection.getsockopt(IPPROTO_TCP, TCP_NODELAY)))
        return write(stream, data)

    monkeypatch.setattr(IOStream, "write", note)
    return found


@pytest.mark.parametrize("path", ["ws", "ahp"])
async def test_no_message_waits_until_the_client_has_confirmed_the_one_before_it(
    jp_ws_fetch: Fetch, writes: list[bool], path: str
) -> None:
    connection = await jp_ws_fetch("eca", path)
    del writes[:]  # the answer to the handshake
    await connection.write_message(json.dumps(START | {"method": "unknown"}))
    async with asyncio.timeout(PATIENCE):
        assert await connection.read_message()
    assert writes
    assert all(writes)
    connection.close()


async def test_no_part_of_a_stream_waits_until_the_client_has_confirmed_the_one_before_it(
    jp_fetch: Fetch, writes: list[bool]
) -> None:
    body = json.dumps({"message": "you", "chat_id": "c"})
    headers = {"Content-Type": "application/json"}
    await jp_fetch("eca", "rest", "chat", "stream", method="POST", body=body, headers=headers)
    assert len(writes) > 2
    assert all(writes)
