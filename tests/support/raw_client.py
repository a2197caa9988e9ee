"""A client that speaks in raw messages: it sends what a test says, and keeps what it receives, word for word.

It knows JSON-RPC and the names of ECA's contents, and nothing of our models. `jupyter_eca.transport.eca_client` is the
client with manners; `tests.e2e.conversation.caller` adds what only the long story looks for.
"""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, Protocol

from jupyter_eca.fronts.eca.session import EcaSession
from jupyter_eca.protocol.jsonrpc import ErrorResponse, Notification, Request, Result
from jupyter_eca.transport.memory import MemoryLink, make_link_pair
from tests.support.host_and_client import PATIENCE, Desk, Door

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable

    from jupyter_eca.protocol.jsonrpc import Id, Message


class Wire(Protocol):
    """A way to a server."""

    async def send(self, message: Message) -> None: ...

    async def receive(self) -> Message: ...


class RawClient:
    """`heard` has every message in the order in which it came. `read` is how far the test has followed them: what is
    waited for comes after that. Replies may come at any place, and each is returned once."""

    def __init__(self, wire: Wire, patience: float = PATIENCE) -> None:
        self.wire = wire
        self.patience = patience
        self.heard: list[Message] = []
        self.read = 0
        self._sent = 0
        self._returned: set[int] = set()

    # -- sending

    async def send(self, method: str, params: Any = None, id: Id | None = None) -> Id:
        """Send a request, and do not wait for its reply. Returns its id."""
        self._sent += 1
        id = self._sent if id is None else id
        await self.wire.send(Request(id, method, params))
        return id

    async def tell(self, method: str, params: Any = None) -> None:
        await self.wire.send(Notification(method, params))

    async def answer(self, request: Request, result: Any) -> None:
        await self.wire.send(Result(request.id, result))

    async def ask(self, method: str, params: Any = None, id: Id | None = None) -> Result | ErrorResponse:
        return await self.reply(await self.send(method, params, id))

    async def result(self, method: str, params: Any = None) -> Any:
        """Raises: AssertionError when the request is refused."""
        reply = await self.ask(method, params)
        assert isinstance(reply, Result), f"{method}: {reply}"
        return reply.result

    async def code(self, method: str, params: Any = None) -> int | None:
        """The code of the error that the request is refused with; None when it is not refused."""
        reply = await self.ask(method, params)
        return reply.code if isinstance(reply, ErrorResponse) else None

    async def initialize(self, can: Any = None, **options: Any) -> Any:
        params = {"initializationOptions": options, "capabilities": {"codeAssistant": can}}
        return await self.result("initialize", params)

    # -- waiting

    def catch_up(self) -> None:
        """Wait from now on only for what has not come yet."""
        self.read = len(self.heard)

    async def reply(self, id: Id | None) -> Result | ErrorResponse:
        """The first reply to this id that was not returned before."""
        place = await self._find(lambda m: isinstance(m, Result | ErrorResponse) and m.id == id, 0, self._returned)
        self._returned.add(place)
        reply = self.heard[place]
        assert isinstance(reply, Result | ErrorResponse)
        return reply

    async def until(self, wanted: Callable[[Message], bool]) -> Any:
        """The next such message."""
        place = await self._find(wanted, self.read)
        self.read = place + 1
        return self.heard[place]

    async def content(self, kind: str, chat: Any = None, **fields: Any) -> dict[str, Any]:
        """The next content of a kind with these fields; of any chat when none is named."""

        def wanted(message: Message) -> bool:
            params = content_params(message)
            return (
                bool(params) and chat in {None, params["chatId"]} and has(params["content"], {"type": kind, **fields})
            )

        return (await self.until(wanted)).params["content"]

    async def finished(self, chat: Any = None) -> None:
        """Wait until a turn has ended; nothing of it comes after that."""
        await self.content("progress", chat, state="finished")

    async def _find(self, wanted: Callable[[Message], bool], since: int, without: set[int] | None = None) -> int:
        """The place of the first such message from `since` on; waits for it when it has not come yet."""
        place = since
        try:
            async with asyncio.timeout(self.patience):
                while True:
                    while place < len(self.heard):
                        if wanted(self.heard[place]) and place not in (without or ()):
                            return place
                        place += 1
                    self.heard.append(await self.wire.receive())
        except TimeoutError:
            raise AssertionError(f"it did not come; heard {self.heard[since:]}") from None


def content_params(message: Message) -> dict[str, Any]:
    """The parameters of a content; empty for any other message."""
    if isinstance(message, Notification) and message.method == "chat/contentReceived":
        return message.params
    return {}


def has(data: dict[str, Any], fields: dict[str, Any]) -> bool:
    return all(data.get(name) == value for name, value in fields.items())


class MemoryWire:
    def __init__(self, link: MemoryLink) -> None:
        self._link = link

    async def send(self, message: Message) -> None:
        await self._link.send(message)

    async def receive(self) -> Message:
        async for message in self._link:
            assert not isinstance(message, Exception), message
            return message
        raise AssertionError("the server ended before it came")


class MemoryClient(RawClient):
    """A raw client at the other end of a memory link."""

    def __init__(self, link: MemoryLink) -> None:
        super().__init__(MemoryWire(link))
        self.link = link

    def params(self, method: str) -> list[Any]:
        """The parameters of the notifications of a method."""
        return [one.params for one in self.heard if isinstance(one, Notification) and one.method == method]

    @property
    def methods(self) -> list[str]:
        """The methods of all notifications."""
        return [message.method for message in self.heard if isinstance(message, Notification)]

    @property
    def contents(self) -> list[str]:
        """The kinds of content it was sent, without repetition, in order."""
        kinds = [params["content"]["type"] for params in self.params("chat/contentReceived")]
        return [kind for i, kind in enumerate(kinds) if i == 0 or kinds[i - 1] != kind]

    def forget(self) -> None:
        """Forget everything that was heard until now."""
        self.heard.clear()
        self._returned.clear()
        self.read = 0

    async def close(self) -> None:
        await self.link.close()


class SessionClient(MemoryClient):
    """Also has the session that serves it, for tests that look into it, and the task that the session runs in."""

    def __init__(self, table: Desk, door: Door) -> None:
        ours, theirs = make_link_pair()
        super().__init__(ours)
        self.session = EcaSession(theirs, door)
        self.serving = table.tasks.create_task(self.session.run())


def connect(table: Desk, door: Door | None = None) -> SessionClient:
    """A client that has said nothing yet."""
    return SessionClient(table, door or Door(table.host))


@asynccontextmanager
async def connect_and_initialize(
    table: Desk, *, sees_all_chats: bool = True, **can: Any
) -> AsyncGenerator[SessionClient]:
    """A client with these capabilities that has been told of the set-up; `heard` begins after that."""
    client = connect(table, Door(table.host, sees_all_chats))
    try:
        await client.result("initialize", {"processId": None, "capabilities": {"codeAssistant": can}})
        await client.tell("initialized", {})
        await client.until(lambda message: isinstance(message, Notification) and message.params.get("type") == "finish")
        client.forget()
        yield client
    finally:
        await client.close()
