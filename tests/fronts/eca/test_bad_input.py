"""What no client should send, and some do: the right error code, nothing that hangs, and all other chats untouched."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from jupyter_eca.errors import FrameError
from jupyter_eca.protocol.jsonrpc import ErrorCode, ErrorResponse, FrameReader, Notification, Request, Result
from jupyter_eca.protocol.methods import METHODS, Sender
from jupyter_eca.transport.memory import make_link_pair
from jupyter_eca.transport.peer import Peer
from tests.support.host_and_client import PATIENCE, desk
from tests.support.raw_client import MemoryClient, connect

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator
    from pathlib import Path

    from tests.support.host_and_client import Desk

STORY: list[dict[str, Any]] = [
    {"result": "", "reply": [{"text": "Done."}]},
    {"message": "write", "reply": [{"tool": "write_file", "arguments": {"path": "a.txt", "content": "one\n"}}]},
    {"message": "", "reply": [{"text": "Hello, {message}"}]},
]
REQUESTS = [name for name, row in METHODS.items() if row.sender is Sender.CLIENT and row.result is not None]
NOTIFICATIONS = [
    name for name, row in METHODS.items() if row.sender is Sender.CLIENT and row.result is None and name != "exit"
]
pytestmark = pytest.mark.asyncio
NONSENSE: list[Any] = [
    None, [], {}, "text", 5, True, [1], [[]], {"chatId": []}, {"chatId": {"a": 1}},
    {"chatId": None, "name": None, "event": None},
    {"chatId": "\ud800", "toolCallId": 3, "message": {}, "model": 7, "agent": [], "provider": 1, "event": {"added": 3}},
]  # fmt: skip
NEEDS_PARAMS = ("chat/prompt", "chat/toolCallApprove", "chat/promptStop", "chat/selectedModelChanged")


@asynccontextmanager
async def started(folder: Path) -> AsyncGenerator[tuple[Desk, MemoryClient]]:
    async with desk(folder, STORY) as table:
        at = connect(table)
        await at.initialize()
        yield table, at
        await at.close()


async def well(at: MemoryClient, chat: str = "well") -> None:
    """The session answers a prompt from beginning to end."""
    await at.result("chat/prompt", {"chatId": chat, "message": "you"})
    await at.content("text", text="Hello, you")
    await at.finished()


async def waiting(at: MemoryClient, chat: str = "c") -> str:
    """A tool call that waits for approval."""
    await at.result("chat/prompt", {"chatId": chat, "message": "write"})
    return (await at.content("toolCallRun"))["id"]


# Requests, out of order ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", [name for name in REQUESTS if name not in {"initialize", "shutdown"}])
async def test_a_request_before_initialize_is_refused(tmp_path: Path, method: str) -> None:
    async with desk(tmp_path, STORY) as table:
        at = connect(table)
        params = {"chatId": "c", "message": "m", "contentId": "i", "jobId": "j", "provider": "p", "name": "n", "id": 1,
                  "text": "", "prompt": "", "docText": "", "docVersion": 1, "position": {"line": 0, "character": 0},
                  "data": {}}  # fmt: skip
        refused = await at.code(method, params)
        assert refused in {ErrorCode.NOT_INITIALIZED, ErrorCode.METHOD_NOT_FOUND}
        await at.initialize()
        await well(at)
        await at.close()


async def test_a_second_initialize_is_refused_and_changes_nothing(tmp_path: Path) -> None:
    async with started(tmp_path) as (_, at):
        assert await at.code("initialize", {"capabilities": {"codeAssistant": {"envelope": True}}}) == -32600
        await well(at)
        assert all("seq" not in params for params in at.params("chat/contentReceived"))


@pytest.mark.parametrize("method", ["chat/prompt", "chat/list", "initialize", "shutdown", "no/such"])
async def test_nothing_is_served_after_shutdown(tmp_path: Path, method: str) -> None:
    async with started(tmp_path) as (_, at):
        await at.result("shutdown")
        assert await at.code(method, {"message": "hi"}) == ErrorCode.INVALID_REQUEST


async def test_a_notification_after_shutdown_does_nothing(tmp_path: Path) -> None:
    async with started(tmp_path) as (table, at):
        other = connect(table)
        await other.initialize()
        call = await waiting(at)
        await at.result("shutdown")
        await at.tell("chat/toolCallApprove", {"chatId": "c", "toolCallId": call})
        assert await at.code("chat/list") == ErrorCode.INVALID_REQUEST
        await other.tell("chat/promptStop", {"chatId": "c"})
        await other.finished()
        assert "toolCallRunning" not in other.contents
        assert not (tmp_path / "a.txt").exists()
        await other.close()


@pytest.mark.parametrize("id", [0, -1, 2**53 + 1, 1.5, "", "a", "1", "\N{RINGED PLANET}"])
async def test_an_id_of_any_kind_is_echoed(tmp_path: Path, id: float | str) -> None:
    async with started(tmp_path) as (_, at):
        assert (await at.ask("chat/list", None, id=id)).id == id


async def test_two_requests_with_the_same_id_are_both_answered(tmp_path: Path) -> None:
    async with started(tmp_path) as (_, at):
        for _ in range(2):
            await at.link.send(Request(7, "chat/list", None))
        assert [(await at.reply(7)).id for _ in range(2)] == [7, 7]


# Parameters that make no sense ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", REQUESTS)
async def test_a_request_with_nonsense_for_parameters_is_answered(tmp_path: Path, method: str) -> None:
    async with started(tmp_path) as (_, at):
        for params in NONSENSE:
            reply = await at.ask(method, params)
            assert not (isinstance(reply, ErrorResponse) and reply.code == ErrorCode.INTERNAL), (params, reply)
            if method == "shutdown":
                return
        await well(at)


@pytest.mark.parametrize("method", NOTIFICATIONS)
async def test_a_notification_with_nonsense_for_parameters_is_ignored(tmp_path: Path, method: str) -> None:
    async with started(tmp_path) as (_, at):
        for params in NONSENSE:
            await at.tell(method, params)
        await well(at)


@pytest.mark.parametrize("method", NEEDS_PARAMS)
@pytest.mark.parametrize("params", [None, [], {}])
async def test_no_parameters_are_refused_where_there_must_be_some(tmp_path: Path, method: str, params: Any) -> None:
    async with started(tmp_path) as (_, at):
        if METHODS[method].result is None:
            await at.tell(method, params)
        else:
            assert await at.code(method, params) == ErrorCode.INVALID_PARAMS
        await well(at)


@pytest.mark.parametrize("params", [None, [], {}, {"chatId": None}])
async def test_no_parameters_are_fine_where_none_are_needed(tmp_path: Path, params: Any) -> None:
    async with started(tmp_path) as (_, at):
        assert (await at.result("chat/list", params))["chats"] == []


@pytest.mark.parametrize("chat", [0, 7, -3, "7", "", "\N{RINGED PLANET}", "a b", "x" * 300, "../../etc", "'; --"])
async def test_a_chat_id_of_any_kind_is_echoed_unchanged(tmp_path: Path, chat: str | int) -> None:
    async with started(tmp_path) as (_, at):
        result = await at.result("chat/prompt", {"chatId": chat, "message": "you"})
        assert (result["chatId"], type(result["chatId"])) == (chat, type(chat))
        await at.finished()
        ids = {params["chatId"] for params in at.params("chat/contentReceived")}
        assert ids == {chat}


async def test_a_method_nobody_knows_is_refused_as_a_request_and_ignored_as_a_notification(tmp_path: Path) -> None:
    async with started(tmp_path) as (_, at):
        for name in ("no/such", "", "__class__", "chat/contentReceived", "$/cancelRequest", "initialized"):
            assert await at.code(name) == ErrorCode.METHOD_NOT_FOUND
        for name in ("no/such", "", "$/cancelRequest", "config/updated", "chat/list"):
            await at.tell(name, {"id": 1})
        await well(at)


# Answers that come twice, too late, or to nobody ---------------------------------------------------------------------


async def test_a_call_that_is_approved_twice_runs_once(tmp_path: Path) -> None:
    async with started(tmp_path) as (_, at):
        call = {"chatId": "c", "toolCallId": await waiting(at)}
        for _ in range(2):
            await at.tell("chat/toolCallApprove", call)
        await at.tell("chat/toolCallReject", call)
        await at.finished()
        assert [at.contents.count(kind) for kind in ("toolCallRunning", "toolCalled", "toolCallRejected")] == [1, 1, 0]
        await well(at)


async def test_an_approval_after_the_stop_runs_nothing(tmp_path: Path) -> None:
    async with started(tmp_path) as (_, at):
        call = {"chatId": "c", "toolCallId": await waiting(at)}
        await at.tell("chat/promptStop", {"chatId": "c"})
        await at.tell("chat/toolCallApprove", call)
        await at.finished()
        await at.tell("chat/toolCallApprove", call)
        await at.tell("chat/promptStop", {"chatId": "c"})
        await well(at)
        assert not (tmp_path / "a.txt").exists()


async def test_an_answer_about_a_call_or_a_chat_that_is_none_leaves_the_waiting_one_alone(tmp_path: Path) -> None:
    async with started(tmp_path) as (_, at):
        call = await waiting(at)
        for chat, id in (("c", "none"), ("none", call), ("c", ""), (3, call)):
            await at.tell("chat/toolCallApprove", {"chatId": chat, "toolCallId": id})
            await at.tell("chat/toolCallReject", {"chatId": chat, "toolCallId": id})
        await well(at, "another")
        await at.tell("chat/toolCallApprove", {"chatId": "c", "toolCallId": call})
        await at.content("toolCalled", error=False)


async def test_replies_to_requests_that_were_never_made_are_ignored(tmp_path: Path) -> None:
    async with started(tmp_path) as (_, at):
        for id in (1, 0, "", "eca-1", "eca-999"):
            await at.link.send(Result(id, {"answer": "yes"}))
            await at.link.send(ErrorResponse(id, -1, "no"))
        await at.link.send(ErrorResponse(None, -1, "no"))
        await well(at)


async def test_a_handler_of_a_notification_that_fails_inside_costs_that_notification_only() -> None:
    heard: list[str] = []

    def heed(method: str, _params: Any) -> None:
        heard.append(method)
        if method == "bad":
            raise ZeroDivisionError("a bug")

    async def answer(_method: str, _params: Any) -> Any:
        return heard

    ours, theirs = make_link_pair()
    peer = Peer(theirs, answer, heed)
    async with asyncio.timeout(PATIENCE), asyncio.TaskGroup() as tasks:
        tasks.create_task(peer.run())
        at = MemoryClient(ours)
        await at.tell("bad")
        await at.tell("good")
        assert await at.result("heard") == ["bad", "good"]
        await at.close()


async def test_our_requests_have_ids_that_no_client_counts_with(tmp_path: Path) -> None:
    story = [{"message": "", "reply": [{"tool": "run_code", "arguments": {"code": "1"}}]}]
    async with desk(tmp_path, story, toolCall={"approval": {"byDefault": "allow"}}) as table:
        at = connect(table)
        await at.initialize({"kernel": True})
        await at.link.send(Request(1, "chat/prompt", {"chatId": "c", "message": "run"}))
        ours = await at.until(lambda m: isinstance(m, Request))
        assert isinstance(ours.id, str)
        assert not ours.id.isdigit()
        await at.close()


# Frames --------------------------------------------------------------------------------------------------------------


class Wire:
    """Bytes in, as a pipe would bring them, to a live session."""

    def __init__(self, at: MemoryClient) -> None:
        self._at = at
        self._reader = FrameReader()

    def feed(self, data: bytes) -> None:
        other = self._at.link.other
        for item in self._reader.feed(data):
            other.push(FrameError(str(item), item.code, fatal=False) if isinstance(item, FrameError) else item)


def framed(body: bytes, header: bytes = b"") -> bytes:
    return header + b"Content-Length: %d\r\n\r\n" % len(body) + body


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (framed(b"{oops"), ErrorCode.PARSE),
        (framed(b""), ErrorCode.PARSE),
        (framed(b"\xff\xfe"), ErrorCode.PARSE),
        (framed(b"[" * 100_000), ErrorCode.PARSE),
        (framed(b'{"id":1,"method":"chat/list","params":' + b"[" * 5000 + b"]" * 5000 + b"}"), ErrorCode.PARSE),
        (framed(b"[]"), ErrorCode.INVALID_REQUEST),
        (framed(b'[{"jsonrpc":"2.0","id":1,"method":"chat/list"}]'), ErrorCode.INVALID_REQUEST),
        (framed(b"7"), ErrorCode.INVALID_REQUEST),
        (framed(b'{"id":1e999,"method":"chat/list"}'), ErrorCode.INVALID_REQUEST),
        (framed(b'{"id":1,"method":"chat/list","params":{"a":NaN}}'), ErrorCode.PARSE),
        (framed(b'{"id":{},"method":"chat/list"}'), ErrorCode.INVALID_REQUEST),
        (framed(b"{}", b"Content-Type: a; charset=utf-8; charset=utf-16\r\n"), ErrorCode.INVALID_REQUEST),
        (framed("{}".encode("utf-16"), b"Content-Type: a; charset=utf-16\r\n"), ErrorCode.INVALID_REQUEST),
    ],
)
async def test_a_frame_that_cannot_be_read_is_answered_and_the_next_is_served(
    tmp_path: Path, data: bytes, code: ErrorCode
) -> None:
    async with started(tmp_path) as (_, at):
        Wire(at).feed(data)
        refused = await at.until(lambda m: isinstance(m, ErrorResponse))
        assert (refused.id, refused.code) == (None, code)
        await well(at)


async def test_a_body_as_large_as_a_body_may_be_is_read(tmp_path: Path) -> None:
    async with started(tmp_path) as (_, at):
        head = b'{"jsonrpc":"2.0","id":"large","method":"chat/list","params":{"query":"'
        size = 64 * 1024 * 1024
        Wire(at).feed(framed(head + b"x" * (size - len(head) - 3) + b'"}}'))
        assert isinstance(await at.reply("large"), Result)
        await well(at)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(cuts=st.lists(st.integers(1, 400), max_size=12), junk=st.lists(st.binary(max_size=40).map(framed), max_size=3))
async def test_a_stream_with_bad_frames_cut_anywhere_is_served_to_its_end(
    tmp_path: Path, cuts: list[int], junk: list[bytes]
) -> None:
    good = framed(b'{"jsonrpc":"2.0","id":"last","method":"chat/list"}\n')
    data = b"".join([*junk, good])
    edges = sorted({0, len(data), *(cut % len(data) for cut in cuts)})

    async with started(tmp_path) as (_, at):
        wire = Wire(at)
        for start, end in pairwise(edges):
            wire.feed(data[start:end])
        assert isinstance(await at.reply("last"), Result)


async def test_a_flood_of_notifications_holds_up_no_request(tmp_path: Path) -> None:
    async with started(tmp_path) as (_, at):
        for number in range(2000):
            at.link.other.push(Notification("chat/promptStop", {"chatId": number}))
        assert isinstance(await at.ask("chat/list"), Result)
