"""The ECA front over a memory link: the wire as a client sees it, well-formed and not."""

from __future__ import annotations

import asyncio
import inspect
from typing import TYPE_CHECKING, Any

import pytest

from jupyter_eca.errors import FrameError, RemoteError
from jupyter_eca.fronts.eca.session import EcaSession, load_handlers
from jupyter_eca.protocol.jsonrpc import ErrorCode, ErrorResponse, Id, Message, Notification, Request, Result
from jupyter_eca.protocol.methods import METHODS, Sender
from jupyter_eca.transport.memory import MemoryLink, make_link_pair
from jupyter_eca.transport.peer import Peer
from tests.support.host_and_client import PATIENCE, Desk, Door, desk
from tests.support.raw_client import connect

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

pytestmark = pytest.mark.asyncio

HELLO: list[dict[str, Any]] = [{"message": "", "reply": [{"text": "Hello"}]}]
START = Request(1, "initialize", {"processId": None, "capabilities": {}})


def open_session(table: Desk) -> MemoryLink:
    ours, theirs = make_link_pair()
    table.tasks.create_task(EcaSession(theirs, Door(table.host)).run())
    return ours


async def until(link: MemoryLink, wanted: Callable[[Message | FrameError], bool]) -> list[Message | FrameError]:
    heard: list[Message | FrameError] = []
    async with asyncio.timeout(PATIENCE):
        async for message in link:
            heard.append(message)
            if wanted(message):
                return heard
    raise AssertionError(f"the link ended before it came; heard {heard}")


def reply_to(id: Id | None) -> Callable[[Message | FrameError], bool]:
    return lambda message: isinstance(message, Result | ErrorResponse) and message.id == id


async def say(link: MemoryLink, request: Request) -> Result | ErrorResponse:
    await link.send(request)
    reply = (await until(link, reply_to(request.id)))[-1]
    assert isinstance(reply, Result | ErrorResponse)
    return reply


async def test_every_method_a_client_may_send_has_a_handler_and_no_handler_lacks_a_row() -> None:
    mine = {name for name, row in METHODS.items() if row.sender is Sender.CLIENT}
    assert mine == load_handlers().keys()
    assert {name for name in mine if METHODS[name].result is not None} == {
        name for name, handler in load_handlers().items() if inspect.iscoroutinefunction(handler)
    }


async def test_a_client_of_either_revision_finds_what_it_looks_for_in_the_handshake(tmp_path: Path) -> None:
    async with desk(tmp_path, HELLO) as table:
        link = open_session(table)
        reply = await say(link, START)
        assert isinstance(reply, Result)
        assert reply.result["chatDefaultModel"] == "scripted/test"
        await link.send(Notification("initialized", []))
        heard = await until(link, lambda m: isinstance(m, Notification) and m.params.get("type") == "finish")
        config = next(m for m in heard if isinstance(m, Notification) and m.method == "config/updated")
        assert (
            config.params["chat"]["models"] == ["scripted/test"] or "scripted/test" in config.params["chat"]["models"]
        )
        assert config.params["chat"]["selectModel"] == "scripted/test"
        await link.close()


async def test_a_strict_client_gets_no_field_that_eca_does_not_know(tmp_path: Path) -> None:
    async with desk(tmp_path, HELLO) as table:
        link = open_session(table)
        await say(link, START)
        await link.send(Request(2, "chat/prompt", {"message": "hi", "requestId": "0", "chatId": "c"}))
        heard = await until(
            link, lambda m: isinstance(m, Notification) and m.params.get("content", {}).get("state") == "finished"
        )
        contents = [m.params for m in heard if isinstance(m, Notification) and m.method == "chat/contentReceived"]
        assert {frozenset(params) for params in contents} == {frozenset({"chatId", "role", "content"})}
        await link.close()


async def test_a_numeric_chat_id_is_echoed_as_a_number(tmp_path: Path) -> None:
    async with desk(tmp_path, HELLO) as table:
        link = open_session(table)
        await say(link, START)
        await link.send(Request(2, "chat/prompt", {"message": "hi", "chatId": 7}))
        heard = await until(
            link, lambda m: isinstance(m, Notification) and m.params.get("content", {}).get("state") == "finished"
        )
        ids = [m.params["chatId"] for m in heard if isinstance(m, Notification) and "chatId" in m.params]
        assert set(ids) == {7}
        assert all(isinstance(id, int) for id in ids)
        await link.close()


@pytest.mark.parametrize(
    ("request_", "code"),
    [
        (Request("a", "no/such", {}), ErrorCode.METHOD_NOT_FOUND),
        (Request("a", "chat/contentReceived", {}), ErrorCode.METHOD_NOT_FOUND),
        (Request("a", "chat/prompt", {}), ErrorCode.INVALID_PARAMS),
        (Request("a", "chat/prompt", {"message": 5}), ErrorCode.INVALID_PARAMS),
        (Request("a", "chat/prompt", "text"), ErrorCode.INVALID_PARAMS),
        (Request("a", "initialize", {}), ErrorCode.INVALID_REQUEST),
        (Request("a", "chat/list", None), None),
        (Request("a", "shutdown", []), None),
    ],
)
async def test_a_request_that_cannot_be_served_gets_its_error_code(
    tmp_path: Path, request_: Request, code: ErrorCode | None
) -> None:
    async with desk(tmp_path, HELLO) as table:
        link = open_session(table)
        await say(link, START)
        reply = await say(link, request_)
        assert (reply.code if isinstance(reply, ErrorResponse) else None) == code
        await link.close()


async def test_a_request_before_initialize_is_told_what_comes_first(tmp_path: Path) -> None:
    async with desk(tmp_path, HELLO) as table:
        link = open_session(table)
        reply = await say(link, Request(1, "chat/list", {}))
        assert reply == ErrorResponse(1, ErrorCode.NOT_INITIALIZED, "say `initialize` first")
        await link.close()


async def test_requests_sent_right_behind_initialize_wait_for_it(tmp_path: Path) -> None:
    async with desk(tmp_path, HELLO) as table:
        link = open_session(table)
        await link.send(START)
        assert isinstance(await say(link, Request(2, "chat/list", {})), Result)
        await link.close()


async def test_bad_frames_stray_replies_and_odd_notifications_leave_the_session_working(tmp_path: Path) -> None:
    async with desk(tmp_path, HELLO) as table:
        link = open_session(table)
        await say(link, START)
        link.other.push(FrameError("not JSON", fatal=False))
        for stray in (
            Notification("no/such", None),
            Notification("chat/promptStop", None),
            Notification("chat/promptStop", {"chatId": "nobody knows it"}),
            Notification("chat/toolCallApprove", {"chatId": "c", "toolCallId": "t"}),
            Result("eca-99", {}),
            ErrorResponse(None, -1, "?"),
        ):
            await link.send(stray)
        assert isinstance(await say(link, Request(9, "chat/list", {})), Result)
        await link.close()


async def test_a_handler_that_fails_inside_is_answered_and_the_peer_goes_on() -> None:
    async def fail(_method: str, _params: Any) -> Any:
        raise ZeroDivisionError("a bug")

    async def refuse(_method: str, _params: Any) -> Any:
        raise RemoteError("no", ErrorCode.REFUSED)

    def ignore(_method: str, _params: Any) -> None:
        pass

    ours, theirs = make_link_pair()
    asking, failing = Peer(ours, refuse, ignore), Peer(theirs, fail, ignore)
    async with asyncio.timeout(PATIENCE), asyncio.TaskGroup() as tasks:
        tasks.create_task(asking.run())
        tasks.create_task(failing.run())
        with pytest.raises(RemoteError, match="anything failed inside: a bug"):
            await asking.request("anything", {})
        with pytest.raises(RemoteError, match="no"):
            await failing.request("anything", {})
        await ours.close()
    with pytest.raises(RemoteError, match="has left"):
        await asking.request("anything", {})


async def test_a_chat_that_a_client_counts_as_its_first_is_not_the_first_one_of_another_client(tmp_path: Path) -> None:
    async with desk(tmp_path, HELLO) as table:
        for _ in range(2):
            at = connect(table)
            await at.initialize()
            for turns in (1, 2):
                assert (await at.result("chat/prompt", {"chatId": 1, "message": "hello"}))["chatId"] == 1
                while at.params("chat/statusChanged").count({"chatId": 1, "status": "idle"}) < turns:
                    await at.until(lambda _: True)
            await at.close()
        assert [row.prompts for row in await table.host.chats.list_rows()] == [2, 2]
