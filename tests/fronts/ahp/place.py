"""A host with a scripted model, the front, and clients that fold what they are sent, over memory links."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pytest

from jupyter_eca.config import Config
from jupyter_eca.fronts.ahp.connection import AhpConnection
from jupyter_eca.fronts.ahp.front import AhpFront
from jupyter_eca.fronts.ahp.reducers import reduce_root, reduce_session, reduce_terminal
from jupyter_eca.fronts.client_access import FULL_ACCESS, ClientAccess
from jupyter_eca.host.host import Host
from jupyter_eca.protocol.ahp import ROOT, VERSION
from jupyter_eca.protocol.jsonrpc import ErrorResponse, Notification, Request, Result
from jupyter_eca.transport.memory import make_link_pair
from jupyter_eca.workspace.ports import Files, Workspace
from tests.support.host_and_client import PATIENCE, Desk, settings

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable
    from pathlib import Path

    from jupyter_eca.fronts.base import Shells
    from jupyter_eca.protocol.jsonrpc import Message
    from jupyter_eca.transport.memory import MemoryLink

Json = dict[str, Any]

# A command whose quotes, blanks and redirections matter.
LINE = 'echo "a  \\"b\\""  > made.txt 2>&1; echo it\\\'s \\\n  \'done\''
RULES: list[Json] = [
    {"result": "", "reply": [{"text": "It said: {result}"}]},
    {"message": "write", "reply": [{"text": "I write. "},
                                   {"tool": "write_file", "arguments": {"path": "new.txt", "content": "one\ntwo\n"}}]},
    {"message": "edit", "reply": [{"tool": "edit_file", "arguments": {
        "path": "old.txt", "original_content": "b", "new_content": "B\nc"}}]},
    {"message": "run", "reply": [{"tool": "shell_command", "arguments": {"command": LINE}}]},
    {"message": "twice", "reply": [{"tool": "write_file", "arguments": {"path": "1.txt", "content": "1"}},
                                   {"tool": "write_file", "arguments": {"path": "2.txt", "content": "2"}}]},
    {"message": "ask", "reply": [{"tool": "ask_user", "arguments": {"question": "Red or blue?",
                                                                   "options": ["Red", "Blue"]}}]},
    {"message": "words", "reply": [{"tool": "ask_user", "arguments": {"question": "Why?"}}]},
    {"message": "lent", "reply": [{"tool": "client__lookup", "arguments": {"word": "x"}}]},
    {"message": "think", "reply": [{"reasoning": "Hm. Well.", "chunk": 4}, {"text": "So it is."}]},
    {"message": "slow", "reply": [{"text": "word " * 4000, "chunk": 5, "delay": 0.005}]},
    {"message": "fail", "reply": [{"text": "Half an "}, {"error": "The endpoint broke off."}]},
    {"message": "", "reply": [{"text": "Hello, {message}", "chunk": 3}]},
]  # fmt: skip


APPROVE: Json = {"approved": True, "confirmed": "user-action"}
DENY: Json = {"approved": False, "reason": "denied"}


class Refused(Exception):
    """A request that was answered with an error."""

    def __init__(self, failure: ErrorResponse) -> None:
        super().__init__(failure.message)
        self.code, self.data = failure.code, failure.data


@dataclass
class Client:
    """What any client of the protocol is: subscriptions with what was folded of them, requests, numbered actions."""

    id: str
    link: MemoryLink
    patience: float = PATIENCE
    states: dict[str, Json] = field(default_factory=dict[str, Json])
    seen: int = 0
    envelopes: list[Json] = field(default_factory=list[Json])
    notifications: list[Json] = field(default_factory=list[Json])
    ended: bool = False
    files: dict[str, str] = field(default_factory=dict[str, str])
    allows: bool = True
    silent: bool = False
    asked: list[tuple[str, Json]] = field(default_factory=list[tuple[str, Json]])
    _waiting: dict[int, asyncio.Future[Any]] = field(default_factory=dict[int, "asyncio.Future[Any]"])
    _sent: int = 0
    number: int = 0
    _news: asyncio.Event = field(default_factory=asyncio.Event)

    async def run(self) -> None:
        async for message in self.link:
            match message:
                case Result(id, result) if id is not None:
                    self._waiting.pop(int(id)).set_result(result)
                case ErrorResponse(id) if id is not None:
                    self._waiting.pop(int(id)).set_exception(Refused(message))
                case Notification("action", params):
                    self._fold(params)
                case Notification("notification", params):
                    self.notifications.append(params["notification"])
                case Request(id, method, params):
                    assert isinstance(id, int), "the protocol's ids are numbers"
                    self.asked.append((method, params))
                    if not self.silent:
                        await self.link.send(self._own(id, method, params["uri"]))
                case _:
                    raise AssertionError(f"this was not to come: {message}")
            self._news.set()
        self.ended = True
        self._news.set()

    def _own(self, id: Any, method: str, uri: str) -> Message:
        """What is asked of a client: files of its own, denied until leave is asked for where it does not allow them."""
        under = [name.removeprefix(f"{uri}/") for name in self.files if name.startswith(f"{uri}/")]
        match method:
            case "resourceRequest":
                self.allows = True
                return Result(id, {})
            case _ if not self.allows:
                return ErrorResponse(id, -32009, "Denied.")
            case "resourceRead" if uri in self.files:
                return Result(id, {"data": self.files[uri], "encoding": "utf-8"})
            case "resourceList" if under:
                return Result(id, {"entries": [{"name": name, "type": "file"} for name in under]})
            case _:
                return ErrorResponse(id, -32008, "It is not there.")

    def _fold(self, envelope: Json) -> None:
        assert envelope["serverSeq"] > self.seen, "the numbers rise"
        self.seen = envelope["serverSeq"]
        self.envelopes.append(envelope)
        if "rejectionReason" not in envelope:
            self.apply(envelope["action"])

    def apply(self, action: Json) -> None:
        kind = action["type"].partition("/")[0]
        uri = action.get(kind, ROOT)
        reduce = {"session": reduce_session, "terminal": reduce_terminal, "root": reduce_root}[kind]
        if uri in self.states:
            self.states[uri] = reduce(self.states[uri], action, 0)

    def replay(self, answer: Json) -> None:
        """What came of a reconnect."""
        for envelope in answer.get("actions", ()):
            self._fold(envelope)
        self.take(answer.get("snapshots", []))

    async def request(self, method: str, /, **params: Any) -> Any:
        self._sent += 1
        future = self._waiting[self._sent] = asyncio.get_running_loop().create_future()
        await self.link.send(Request(self._sent, method, params))
        async with asyncio.timeout(self.patience):
            return await future

    def expect(self, *ids: int) -> None:
        """Answers to requests that were sent without waiting."""
        for id in ids:
            self._waiting[id] = asyncio.get_running_loop().create_future()

    async def initialize(self, *subscriptions: str, **more: Any) -> Json:
        versions = [VERSION]
        answer = await self.request(
            "initialize", protocolVersions=versions, clientId=self.id, initialSubscriptions=list(subscriptions), **more
        )
        self.take(answer["snapshots"])
        self.seen = max(self.seen, answer["serverSeq"])
        return answer

    def take(self, snapshots: list[Json]) -> None:
        for one in snapshots:
            self.states[one["resource"]] = one["state"]

    async def subscribe(self, uri: str) -> Json:
        snapshot = (await self.request("subscribe", resource=uri))["snapshot"]
        self.take([snapshot])
        return snapshot["state"]

    async def create(self, uri: str, **params: Any) -> Json:
        assert await self.request("createSession", session=uri, **params) is None
        return await self.subscribe(uri)

    async def act(self, type: str, uri: str, seq: int | None = None, /, **fields: Any) -> int:
        self.number = self.number + 1 if seq is None else seq
        action = {"type": type, type.partition("/")[0]: uri, **fields}
        await self.link.send(Notification("dispatchAction", {"clientSeq": self.number, "action": action}))
        return self.number

    async def ask(self, uri: str, turn: str, text: str, **more: Any) -> int:
        return await self.act("session/turnStarted", uri, turnId=turn, userMessage={"text": text, **more})

    async def until(self, true: Callable[[], Any]) -> Any:
        async with asyncio.timeout(self.patience):
            while not (found := true()):
                self._news.clear()
                await self._news.wait()
        return found

    async def echo(self, seq: int) -> Json:
        """What the server made of an action of ours."""
        return await self.until(
            lambda: next(
                (e for e in self.envelopes if e.get("origin") == {"clientId": self.id, "clientSeq": seq}), None
            )
        )

    async def settled(self, uri: str, turns: int) -> Json:
        """The state once it has so many turns, and none under way."""
        await self.until(lambda: len(self.states[uri]["turns"]) >= turns and "activeTurn" not in self.states[uri])
        return self.states[uri]

    async def call(self, uri: str, status: str, at: int = 0) -> Json:
        """A call of the turn under way, once it has this status."""

        def found() -> Json | None:
            calls = calls_of(self.states[uri].get("activeTurn") or {})
            return calls[at] if len(calls) > at and calls[at]["status"] == status else None

        return await self.until(found)

    async def decide(self, uri: str, turn: str, call: Json, **decision: Any) -> int:
        """Approve or deny."""
        about = {"turnId": turn, "toolCallId": call["toolCallId"]}
        return await self.act("session/toolCallConfirmed", uri, **about, **decision)

    async def told(self, type: str) -> Json:
        return await self.until(lambda: next((n for n in self.notifications if n["type"] == type), None))

    async def close(self) -> None:
        await self.link.close()


async def fails(client: Client, method: str, /, **params: Any) -> Refused:
    with pytest.raises(Refused) as error:
        await client.request(method, **params)
    return error.value


def calls_of(turn: Json) -> list[Json]:
    return [part["toolCall"] for part in turn.get("responseParts", ()) if part["kind"] == "toolCall"]


def text_of(turn: Json) -> str:
    return "".join(part["content"] for part in turn["responseParts"] if part["kind"] == "markdown")


@dataclass
class Place(Desk):
    front: AhpFront = field(kw_only=True)

    async def open(self, id: str = "one", *, access: ClientAccess = FULL_ACCESS) -> Client:
        """A connection that has said nothing yet."""
        ours, theirs = make_link_pair()

        async def front() -> AhpFront:
            return self.front

        self.serving.append(self.tasks.create_task(AhpConnection(theirs, front, access=access).run()))
        client = Client(id, ours)
        self.tasks.create_task(client.run())
        self.links.append(client)
        return client

    links: list[Client] = field(default_factory=list[Client])
    serving: list[asyncio.Task[None]] = field(default_factory=list[asyncio.Task[None]])

    async def connect(self, id: str = "one", *subscriptions: str, access: ClientAccess = FULL_ACCESS) -> Client:
        client = await self.open(id, access=access)
        await client.initialize(*subscriptions)
        return client

    def same(self, client: Client, uri: str) -> None:
        """What the server holds is what the client has folded, but for the client's own clock."""
        assert without_clock(client.states[uri]) == without_clock(self.front.hub.get_state(uri))

    async def wait_until_same(self, client: Client, uri: str) -> None:
        """Wait until the client has everything that the server still sends after a turn. See `same`."""
        held = self.front.hub.get_state
        await client.until(lambda: without_clock(client.states[uri]) == without_clock(held(uri)))

    async def close(self) -> None:
        for client in self.links:
            await client.close()
        if self.serving:
            await asyncio.wait(self.serving)
        await super().close()


def without_clock(state: Json) -> Json:
    if "summary" not in state:
        return state
    return {**state, "summary": {k: v for k, v in state["summary"].items() if k != "modifiedAt"}}


@asynccontextmanager
async def place(
    folder: Path, rules: list[Json] | None = None, shells: Shells | None = None, **config: Any
) -> AsyncGenerator[Place]:
    workspace = Workspace(Files((folder,)))
    config = {"toolCall": {"approval": {"allow": {"ask_user": {}}}}, **config}
    given = Config.model_validate(settings(folder, rules or RULES, **config))
    host = Host(given, workspace, folder / ".data" / "chats.db")
    front = AhpFront(host, shells)
    async with asyncio.timeout(PATIENCE * 3), asyncio.TaskGroup() as tasks:
        running = tasks.create_task(host.run())
        await host.ready.wait()
        try:
            async with front.run():
                at = Place(host, tasks, folder, front=front)
                try:
                    yield at
                finally:
                    await at.close()
        finally:
            host.close()
            await running
