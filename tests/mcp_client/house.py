"""A manager with real servers, and what it tells."""

from __future__ import annotations

import asyncio
import sys
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jupyter_eca.config import Config
from jupyter_eca.config.credentials import KeyStore as Store
from jupyter_eca.config.policy.applied_policy import AppliedPolicy
from jupyter_eca.errors import SamplingRefusal
from jupyter_eca.mcp_client import McpManager
from jupyter_eca.mcp_client.client_features import SamplingRequest, SamplingResult, StopReason
from jupyter_eca.mcp_client.connection_settings import ConnectionTiming
from jupyter_eca.plugins.tools.base import Tool, ToolContext
from jupyter_eca.plugins.tools.configured.mcp_tool import make_mcp_tools
from jupyter_eca.protocol.mcp import ServerStatus, ToolServerUpdatedParams
from jupyter_eca.protocol.question import ChatAskQuestionParams, ChatAskQuestionResult
from jupyter_eca.workspace.ports import Files
from tests.support.keyrings import NoRing, Ring
from tests.support.timeouts import PATIENCE

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable

    from jupyter_eca.mcp_client.connection import ServerConnection
    from jupyter_eca.workspace.tool_result import ToolResult

HERE = Path(__file__).parent
QUICK = ConnectionTiming(timeout=PATIENCE, keep_alive=30.0, backoff=(0.05, 0.1, 0.2))


def raw(behaviour: str, log: Path | None = None, **more: Any) -> dict[str, Any]:
    arguments = [str(HERE / "raw_server.py"), behaviour, *([str(log)] if log else [])]
    return {"command": sys.executable, "args": arguments, **more}


def sdk(*arguments: str, **more: Any) -> dict[str, Any]:
    return {"command": sys.executable, "args": [str(HERE / "sdk_server.py"), "stdio", *arguments], **more}


def tour_server(*arguments: str, **more: Any) -> dict[str, Any]:
    """What the SDK's server offers, in a process that is there at once."""
    return {"command": sys.executable, "args": [str(HERE / "tour_server.py"), *arguments], **more}


def puppet(era: str, log: Path | None = None, **more: Any) -> dict[str, Any]:
    arguments = [str(HERE / "puppet_server.py"), era, *([str(log)] if log else [])]
    return {"command": sys.executable, "args": arguments, **more}


@dataclass
class User:
    """Who is there in the chats `sees`, or in all: gives the `answers`, one after the other, then none. `hears` is set
    by each question; while `holds` is, none is answered."""

    answers: list[str | None] = field(default_factory=list[str | None])
    sees: frozenset[str] | None = None
    holds: bool = False
    asked: list[ChatAskQuestionParams] = field(default_factory=list[ChatAskQuestionParams])
    wanted: list[SamplingRequest] = field(default_factory=list[SamplingRequest])
    hears: asyncio.Event = field(default_factory=asyncio.Event)
    taken_back: asyncio.Event = field(default_factory=asyncio.Event)

    def find_question_asker(self, chat: str) -> User | None:
        return self if self.sees is None or chat in self.sees else None

    async def ask(self, question: ChatAskQuestionParams) -> ChatAskQuestionResult:
        self.asked.append(question)
        self.hears.set()
        try:
            while self.holds:
                await asyncio.Event().wait()
        except asyncio.CancelledError:
            self.taken_back.set()
            raise
        answer = self.answers.pop(0) if self.answers else None
        return ChatAskQuestionResult(answer=answer, cancelled=answer is None)

    async def sample(self, chat: str, wanted: SamplingRequest) -> SamplingResult:  # noqa: ARG002
        self.wanted.append(wanted)
        answer = self.answers.pop(0) if self.answers else None
        if answer is None:
            raise SamplingRefusal("not today")
        return SamplingResult(answer, "p/m", StopReason.END)


@dataclass
class House:
    folder: Path
    user: User
    told: list[ToolServerUpdatedParams] = field(default_factory=list[ToolServerUpdatedParams])
    gone: list[str] = field(default_factory=list[str])
    news: asyncio.Event = field(default_factory=asyncio.Event)
    manager: McpManager = field(init=False)

    def changed(self, shown: ToolServerUpdatedParams) -> None:
        self.told.append(shown)
        self.news.set()

    def removed(self, name: str) -> None:
        self.gone.append(name)
        self.news.set()

    def shown(self, name: str) -> ToolServerUpdatedParams:
        return next(one for one in self.manager.list_servers() if one.name == name)

    def statuses(self, name: str) -> list[str]:
        """Without repetition."""
        all = [str(one.status) for one in self.told if one.name == name]
        return [status for i, status in enumerate(all) if i == 0 or all[i - 1] != status]

    async def until(self, holds: Callable[[], bool]) -> None:
        try:
            async with asyncio.timeout(PATIENCE * 2):
                while not holds():
                    self.news.clear()
                    await self.news.wait()
        except TimeoutError:
            last = [(one.name, one.status.value, one.error) for one in self.manager.list_servers()]
            raise AssertionError(f"it does not come: {last}") from None

    async def come(self, name: str, status: ServerStatus) -> ToolServerUpdatedParams:
        await self.until(lambda: any(one.name == name and one.status is status for one in self.manager.list_servers()))
        return self.shown(name)

    async def running(self, name: str) -> ToolServerUpdatedParams:
        return await self.come(name, ServerStatus.RUNNING)

    async def subscribed(self, name: str) -> None:
        """Wait until a server has accepted the subscription to its changes, and has sent all its lists."""
        connection = await self._connected(name)
        async with asyncio.timeout(PATIENCE):
            await connection._subscribed.wait()  # pyright: ignore[reportPrivateUsage]  # nothing else tells of it
        await self.has_all_lists(name)

    async def has_all_lists(self, name: str) -> None:
        """Wait until a server has sent all its lists. These are requests with the token as well: a token that is taken
        back before would end the session for one of them, and not for the call of a test."""
        connection = await self._connected(name)
        async with asyncio.timeout(PATIENCE):
            for kind in ("prompts", "resources"):
                await connection.await_list(kind)

    async def _connected(self, name: str) -> ServerConnection:
        tool = next(tool for tool in make_mcp_tools(self.manager) if tool.server.name == name)
        await self.until(lambda: tool.server.connection is not None and not tool.server.connection.has_ended)
        assert tool.server.connection is not None
        return tool.server.connection

    def tool(self, name: str) -> Tool:
        return next(tool for tool in make_mcp_tools(self.manager) if tool.spec.name == name)

    async def call(self, name: str, /, _chat: str = "chat", **arguments: Any) -> ToolResult:
        async with asyncio.timeout(PATIENCE * 2):
            return await self.tool(name).run(ToolContext(_chat, Files((self.folder,)), "call"), arguments)


@asynccontextmanager
async def house(
    folder: Path,
    servers: dict[str, dict[str, Any]],
    pace: ConnectionTiming = QUICK,
    read: tuple[Path, ...] = (),
    user: User | None = None,
    ring: Ring | NoRing | None = None,
    policy: AppliedPolicy | None = None,
) -> AsyncGenerator[House]:
    """`ring` is this machine's keyring, and `policy` that of the administrator."""
    built = House(folder, user or User())
    config = Config.model_validate({"mcpServers": servers, "sources": [str(file) for file in read]})
    config = config.model_copy(update={"policy": policy or AppliedPolicy()})
    built.manager = McpManager(
        config,
        (folder,),
        built.changed,
        built.removed,
        Store(folder / "data" / "auth.json", ring or NoRing()),
        built.user,
        folder / "data" / "mcp-lists",
        timing=pace,
        home=folder / "home",
    )
    running = asyncio.create_task(built.manager.run())
    try:
        await built.until(lambda: running.done() or len(built.manager.list_servers()) >= len(servers))
        yield built
    finally:
        running.cancel()
        await asyncio.wait([running])
