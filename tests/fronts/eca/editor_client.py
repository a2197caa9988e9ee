"""A client that keeps chats as an editor shows them: what was cleared is gone, what came is there in its order."""

from __future__ import annotations

import asyncio
import itertools
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from jupyter_eca.errors import RemoteError
from jupyter_eca.fronts.client_access import FULL_ACCESS, ClientAccess
from jupyter_eca.fronts.eca.session import EcaSession
from jupyter_eca.protocol.jsonrpc import ErrorCode
from jupyter_eca.transport.memory import MemoryLink, make_link_pair
from jupyter_eca.transport.peer import Peer
from tests.support.host_and_client import PATIENCE, Door

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable

    from tests.support.host_and_client import Desk

Told = dict[str, Any]


@dataclass
class Book:
    link: MemoryLink
    chats: dict[Any, list[Told]] = field(default_factory=dict[Any, list[Told]])
    told: list[tuple[str, Told]] = field(default_factory=list[tuple[str, Told]])
    more: asyncio.Event = field(default_factory=asyncio.Event)
    approves: bool = True

    def __post_init__(self) -> None:
        self.peer = Peer(self.link, self._refuse, self._hear)

    async def _refuse(self, method: str, _params: Any) -> Any:
        raise RemoteError(f"there is no request {method!r}", ErrorCode.METHOD_NOT_FOUND)

    def _hear(self, method: str, params: Told) -> None:
        self.told.append((method, params))
        match method:
            case "chat/cleared":
                self.chats[params["chatId"]] = []
            case "chat/deleted":
                self.chats.pop(params["chatId"], None)
            case "chat/contentReceived":
                self.chats.setdefault(params["chatId"], []).append(params)
            case _:
                pass
        self.more.set()

    async def ask(self, method: str, chat: Any = "chat", **params: Any) -> Any:
        return await self.peer.request(method, {"chatId": chat, **params})

    async def tell(self, method: str, chat: Any = "chat", **params: Any) -> None:
        await self.peer.notify(method, {"chatId": chat, **params})

    async def until(self, wanted: Callable[[], Any]) -> Any:
        async with asyncio.timeout(PATIENCE):
            while not (found := wanted()):
                self.more.clear()
                await self.more.wait()
            return found

    async def prompt(self, message: str, chat: Any = "chat", **params: Any) -> str:
        """A whole turn; every call that asks is approved. Gives the id of the message."""
        start = len(self.told)
        await self.ask("chat/prompt", chat, message=message, **params)
        approved: set[str] = set()
        while not self._ended(chat, start):
            waiting = self.waiting(chat) - approved if self.approves else set[str]()
            for call in waiting:
                await self.tell("chat/toolCallApprove", chat, toolCallId=call)
            approved |= waiting
            self.more.clear()
            async with asyncio.timeout(PATIENCE):
                await self.more.wait()
        return self.message(message, chat)

    def _ended(self, chat: Any, start: int) -> bool:
        """Whether a turn began and ended since; a replay of older ones may come first."""
        came = iter((method, params) for method, params in self.told[start:] if params.get("chatId") == chat)
        began = any(method == "chat/statusChanged" and params["status"] == "running" for method, params in came)
        return began and any(params.get("content", {}).get("state") == "finished" for _, params in came)

    def ends(self, chat: Any = "chat") -> list[Told]:
        return [told for told in self.contents("progress", chat) if told["state"] == "finished"]

    def waiting(self, chat: Any = "chat") -> set[str]:
        return {told["id"] for told in self.contents("toolCallRun", chat) if told["manualApproval"]}

    def contents(self, type: str, chat: Any = "chat") -> list[Told]:
        return [told["content"] for told in self.chats.get(chat, []) if told["content"]["type"] == type]

    def message(self, text: str, chat: Any = "chat") -> str:
        """The id of the last message of the user's with this text."""
        said = [told for told in self.contents("text", chat) if "contentId" in told and told["text"] == text]
        return str(said[-1]["contentId"])

    def page(self, chat: Any = "chat") -> list[str]:
        """What a reader sees: lines of the user's with >, ours with #, the model's words, flags with *."""
        lines = [line for told in self.chats.get(chat, []) if (line := _line(told))]
        return ["".join(text for _, text in run) for _, run in itertools.groupby(enumerate(lines), _joined)]

    def notices(self, method: str) -> list[Told]:
        return [params for name, params in self.told if name == method]


def _line(told: Told) -> str:
    content, sign = told["content"], {"user": "> ", "system": "# ", "assistant": ""}[told["role"]]
    match content:
        case {"type": "text", "text": text}:
            return f"{sign}{text}"
        case {"type": "flag", "text": text}:
            return f"* {text}"
        case _:
            return ""


def _joined(numbered: tuple[int, str]) -> int:
    number, text = numbered
    return number if text.startswith(("> ", "# ", "* ")) else -1


@asynccontextmanager
async def book(
    table: Desk,
    *,
    sees_all_chats: bool = True,
    access: ClientAccess = FULL_ACCESS,
    kernel_id: str | None = None,
    **can: Any,
) -> AsyncGenerator[Book]:
    """A client with these capabilities that has been told of the set-up."""
    ours, theirs = make_link_pair()
    made = Book(ours)
    session = table.tasks.create_task(
        EcaSession(theirs, Door(table.host, sees_all_chats, access=access, kernel_id=kernel_id)).run()
    )
    serving = table.tasks.create_task(made.peer.run())
    try:
        capabilities = {"codeAssistant": {"chat": True, **can}}
        await made.peer.request("initialize", {"processId": None, "capabilities": capabilities})
        await made.peer.notify("initialized", {})
        await made.until(lambda: any(told["type"] == "finish" for told in made.notices("$/progress")))
        made.told.clear()
        yield made
    finally:
        await ours.close()
        await asyncio.wait((session, serving))
