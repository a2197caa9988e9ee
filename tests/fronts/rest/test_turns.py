"""What the chat front makes of turns, in one process: who decides, what is told again, who is stopped."""

from __future__ import annotations

import asyncio
import json
from contextlib import aclosing, asynccontextmanager, closing
from typing import TYPE_CHECKING, Any

import httpx2
import pytest

from jupyter_eca.fronts.rest import stream
from jupyter_eca.fronts.rest.app import make_application
from jupyter_eca.fronts.rest.front import RestApproval, RestFront
from jupyter_eca.fronts.rest.projection import PIECE_CHARACTERS
from jupyter_eca.protocol import rest
from jupyter_eca.protocol.content import TextContent
from tests.fronts.rest.served import RULES, Served, said
from tests.mcp_client.house import PATIENCE, raw, tour_server
from tests.support.host_and_client import Desk, desk

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator
    from pathlib import Path

    from starlette.types import ASGIApp

pytestmark = pytest.mark.asyncio

TOUR = {"tour": tour_server()}


class Watch:
    """A panel of the same host, which sees all chats and is there to approve."""

    def __init__(self) -> None:
        self.kernel = self.editor = self.notebooks = None
        self.outcomes: list[str] = []
        self.news = asyncio.Event()
        self.text = ""

    def sees(self, chat: str) -> bool:  # noqa: ARG002
        return True

    approves = answers = sees

    def show(self, events: list[Any]) -> None:
        self.outcomes += [str(event.outcome) for event in events if event.outcome is not None]
        self.text += "".join(event.content.text for event in events if isinstance(event.content, TextContent))
        self.news.set()

    def tell(self, notice: Any) -> None: ...

    def reload_chat(self, reload: Any) -> None: ...

    async def ask(self, question: Any) -> Any:
        raise AssertionError(question)

    async def until(self, holds: Any) -> None:
        async with asyncio.timeout(PATIENCE):
            while not holds():
                self.news.clear()
                await self.news.wait()


@asynccontextmanager
async def house(
    folder: Path, approve: RestApproval = RestApproval.RULES, **config: Any
) -> AsyncGenerator[tuple[Desk, ASGIApp, Served, Watch]]:
    async with desk(folder, RULES, **config) as at:
        front, watch = RestFront(at.host, approve), Watch()
        at.host.connect(watch)  # pyright: ignore[reportArgumentType]  # it has nothing that could be used
        app = make_application(front)
        async with httpx2.AsyncClient(transport=httpx2.ASGITransport(app), base_url="http://test") as client:
            yield at, app, Served(client), watch
        at.host.disconnect(watch)  # pyright: ignore[reportArgumentType]
        front.close()


async def test_text_streams_while_a_tool_server_is_connected(tmp_path: Path) -> None:
    async with desk(tmp_path, RULES, mcpServers=TOUR) as at:
        with closing(RestFront(at.host)) as front:
            await front.connect("tour")
            turn = await front.ask("slow", front.default_chat)
            with front.reading(turn):
                async with aclosing(front.stream_items(turn, PATIENCE)) as items:
                    first = await anext(items)
                live = at.host.chats.get_live(turn.reader.chat)
                assert first is not None
                assert first.content == rest.Text(content="word ")
                assert live is not None
                assert live.is_busy


async def test_a_server_that_is_disabled_is_not_started_by_a_client(tmp_path: Path) -> None:
    log = tmp_path / "log"
    (tmp_path / ".mcp.json").write_text(json.dumps({"mcpServers": {"shared": raw("good", log)}}))
    async with house(tmp_path, mcpServers={"off": raw("good", log, disabled=True)}) as (_, _, at, _):
        for name in ("off", "shared"):
            refused = await at.client.post(f"/connect/{name}")
            assert (refused.status_code, "is disabled" in refused.json()["detail"]) == (502, True)
        assert await at.get("/status") == {"connected": False, "server_id": None, "tools": []}
        assert [server["id"] for server in await at.get("/servers") if "tools" in server] == []
        assert not log.with_suffix(".born").exists()


async def test_a_server_that_the_front_started_is_stopped_when_another_is_connected(tmp_path: Path) -> None:
    async with house(tmp_path, mcpServers={**TOUR, "other": raw("good")}) as (table, _, at, _):
        await table.host.mcp.await_started(PATIENCE)
        table.host.mcp.stop("other")
        await at.post("/connect/other")
        assert (await at.get("/status"))["server_id"] == "other"
        await at.post("/connect/tour")
        assert [server["id"] for server in await at.get("/servers") if "tools" in server] == ["tour"]


async def test_the_list_of_servers_has_no_secret_of_a_command_or_an_address(tmp_path: Path) -> None:
    commands = {
        "option": ["--token", "zq7k", "--port", "80"],
        "variable": ["ACCESS_KEY=zq7k", "node", "server.js"],
        "package": ["-y", "@scope/server", "--api-key=zq7k"],
        "module": ["-m", "some_server", "zq7k-1q2w3e4r5t6y7u8i9o0p1a2s".replace("-", "")],
    }
    servers = {name: {"command": "run", "args": arguments, "disabled": True} for name, arguments in commands.items()}
    address = {"url": "http://me:zq7k@127.0.0.1:9/mcp/zq7k-1q2w3e4r5t6y7u8i9o0?key=zq7k", "disabled": True}
    async with house(tmp_path, mcpServers={**servers, "address": address}) as (_, _, at, _):
        paths = {server["id"]: server["path"] for server in await at.get("/servers")}
    assert paths == {
        "option": "run",
        "variable": "node",
        "package": "@scope/server",
        "module": "some_server",
        "address": "http://127.0.0.1:9/mcp/…",
    }


@pytest.mark.parametrize(
    ("approve", "approval", "told"),
    [
        ("rules", {}, "This call needs approval and nobody is there to give it. It did not run"),
        ("rules", {"allow": {"tour": {}}}, "It said: 5"),
        ("deny", {"allow": {"tour": {}}}, "The user's rules forbid this call. It did not run"),
        ("allow", {}, "It said: 5"),
        ("allow", {"deny": {"tour__add": {"argsMatchers": {"a": ["2"]}}}}, "The user's rules forbid this call."),
    ],
)
async def test_policy_decides_and_a_refused_call_tells_the_model_why_and_the_reader_of_no_call(
    tmp_path: Path, approve: str, approval: dict[str, Any], told: str
) -> None:
    async with house(tmp_path, RestApproval(approve), toolCall={"approval": approval}, mcpServers=TOUR) as (
        _,
        _,
        at,
        _,
    ):
        await at.post("/connect/tour")
        events = await at.events("add")
        assert told in said(events)
        assert ("tool_start" in {event["type"] for event in events}) == (told == "It said: 5")


async def test_a_chat_that_was_trusted_is_not_for_ever(tmp_path: Path) -> None:
    async with desk(tmp_path, RULES, mcpServers=TOUR) as table:
        for approve, told in ((RestApproval.ALLOW, "It said: 5"), (RestApproval.RULES, "needs approval")):
            app = make_application(RestFront(table.host, approve))
            async with httpx2.AsyncClient(transport=httpx2.ASGITransport(app), base_url="http://test") as client:
                at = Served(client)
                await at.post("/connect/tour")
                assert told in said(await at.events("add", "mine"))


async def test_conversations_are_kept_apart_listed_stopped_and_forgotten(tmp_path: Path) -> None:
    async with house(tmp_path) as (table, _, at, watch):
        other = await table.client()
        async for _ in other.ask("a panel's", "hello"):
            pass
        await at.events("one", "a")
        await at.events("two", "b")
        chats = {chat["id"]: chat for chat in await at.get("/chats")}
        assert {id: chat["title"] for id, chat in chats.items()} == {"a": "one", "b": "two"}
        slow = asyncio.create_task(at.lines("slow", "a"))
        await watch.until(lambda: "word" in watch.text)
        busy = await at.client.post("/chat", json={"message": "x", "chat_id": "a"})
        assert busy.status_code == 409
        assert await at.post("/chats/a/stop") == {"success": True}
        assert (await slow)[-1] == "[ERROR] Stopped."
        assert (await at.client.delete("/chats/a")).status_code == 200
        assert [chat["id"] for chat in await at.get("/chats")] == ["b"]
        for gone in (at.client.delete("/chats/a"), at.client.post("/chats/a/stop"), at.client.delete("/chats/panel's")):
            assert (await gone).status_code == 404


async def test_deleting_a_chat_ends_its_answer(tmp_path: Path) -> None:
    async with house(tmp_path) as (_, _, at, watch):
        slow = asyncio.create_task(at.lines("slow", "a"))
        await watch.until(lambda: "word" in watch.text)
        assert (await at.client.delete("/chats/a")).status_code == 200
        assert (await slow)[-1].startswith("[ERROR] ")


async def test_whoever_understands_event_streams_has_ids_and_is_told_the_rest_again(tmp_path: Path) -> None:
    async with house(tmp_path, RestApproval.ALLOW, mcpServers=TOUR) as (_, _, at, _):
        await at.post("/connect/tour")
        events = {"Accept": "text/event-stream"}
        asked = await at.client.post("/chat/stream", json={"message": "twice"}, headers=events)
        blocks = asked.text.split("\n\n")[:-1]
        ids = [int(block.partition("\nid: ")[2]) for block in blocks]
        assert len(blocks) >= 6
        assert ids == sorted(set(ids))
        for at_id, rest in zip(ids[:-1], range(1, len(blocks)), strict=True):
            headers = {"Last-Event-ID": str(at_id)}
            again = await at.client.post("/chat/stream", json={"message": "twice"}, headers=headers)
            assert again.text.split("\n\n")[:-1] == blocks[rest:]
        assert len(await at.get("/chats")) == 1
        for unknown, status in (("99999", 404), ("x", 422)):
            headers = {"Last-Event-ID": unknown}
            refused = await at.client.post("/chat/stream", json={"message": "x"}, headers=headers)
            assert refused.status_code == status


async def test_a_long_text_goes_out_in_pieces_that_fit_a_packet_with_the_id_on_the_last(tmp_path: Path) -> None:
    async with house(tmp_path) as (_, _, at, _):
        asked = await at.client.post("/chat/stream", json={"message": "long"}, headers={"Accept": "text/event-stream"})
        *blocks, done, _ = asked.text.split("\n\n")
        pieces = [json.loads(block.partition("\n")[0][6:])["content"] for block in blocks]
        assert "".join(pieces) == "täglich \u2028 frisch " * 500
        assert max(map(len, pieces)) <= PIECE_CHARACTERS
        assert ["\nid: " in block for block in blocks] == [False] * (len(blocks) - 1) + [True]
        assert done.startswith("data: [DONE]")


async def _call(
    app: ASGIApp, path: str, message: str, sent: asyncio.Queue[Any], *headers: tuple[bytes, bytes]
) -> tuple[asyncio.Task[Any], Any]:
    """A request below HTTP: what is sent, message by message; and how to leave."""
    heard: asyncio.Queue[Any] = asyncio.Queue()
    heard.put_nowait({"type": "http.request", "body": json.dumps({"message": message}).encode(), "more_body": False})
    scope = {
        "type": "http", "asgi": {"version": "3.0", "spec_version": "2.3"}, "http_version": "1.1", "method": "POST",
        "scheme": "http", "path": path, "raw_path": path.encode(), "root_path": "", "query_string": b"",
        "headers": [(b"content-type", b"application/json"), *headers], "client": ("test", 1), "server": ("test", 2),
    }  # fmt: skip

    async def send(message: Any) -> None:
        sent.put_nowait(message)

    async def run() -> None:
        await app(scope, heard.get, send)

    return asyncio.create_task(run()), lambda: heard.put_nowait({"type": "http.disconnect"})


@pytest.mark.parametrize("path", ["/chat", "/chat/stream"])
async def test_leaving_stops_the_answer(tmp_path: Path, path: str) -> None:
    async with house(tmp_path) as (_, app, _, watch):
        running, leave = await _call(app, path, "slow", asyncio.Queue())
        await watch.until(lambda: "word" in watch.text)
        leave()
        async with asyncio.timeout(PATIENCE):
            await running
        await watch.until(lambda: watch.outcomes == ["stopped"])


async def test_a_second_reader_keeps_an_answer_going_that_the_first_has_left(tmp_path: Path) -> None:
    async with house(tmp_path) as (_, app, _, watch):
        first: asyncio.Queue[Any] = asyncio.Queue()
        second: asyncio.Queue[Any] = asyncio.Queue()
        events = ((b"accept", b"text/event-stream"),)
        one, leave_one = await _call(app, "/chat/stream", "slow", first, *events)
        async with asyncio.timeout(PATIENCE):
            await first.get()
            id = (await first.get())["body"].partition(b"id: ")[2].strip()
            other, leave_other = await _call(app, "/chat/stream", "slow", second, (b"last-event-id", id))
            await second.get()
            leave_one()
            await one
            told: list[bytes] = []
            while len(told) < 20:
                body: bytes = (await second.get())["body"]
                told += [body] * (b"id: " in body)  # silence is filled with messages that have none
            assert watch.outcomes == []
            leave_other()
            await other
        await watch.until(lambda: watch.outcomes == ["stopped"])
        ids = [int(body.partition(b"id: ")[2]) for body in told]
        assert int(id) < ids[0]
        assert ids == sorted(set(ids))


async def test_each_event_is_one_message_to_the_server_and_silence_is_filled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stream.EventStream.__init__, "__kwdefaults__", {"heartbeat": 0.01})
    async with house(tmp_path, RestApproval.ALLOW, mcpServers=TOUR) as (_, app, at, _):
        await at.post("/connect/tour")
        sent: asyncio.Queue[Any] = asyncio.Queue()
        running, leave = await _call(app, "/chat/stream", "wait", sent)
        async with asyncio.timeout(PATIENCE):
            assert (await sent.get())["type"] == "http.response.start"
            bodies = [(await sent.get())["body"] for _ in range(50)]
        assert all(body.endswith(b"\n\n") and body.count(b"\n\n") == 1 for body in bodies)
        assert bodies[-1] == stream.HEARTBEAT_COMMENT
        assert any(body.startswith(b'data: {"type": "tool_start"') for body in bodies)
        leave()
        await running
