"""Owns the operations of a chat front end: connect one tool server at a time, and chat with the tools of this server
alone.

It must not know HTTP: `app.py` does. `readers.py` brings the events of turns.
"""

from __future__ import annotations

import asyncio
import uuid
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Final

from jupyter_eca.engine.approval.policy import Decision, Policy
from jupyter_eca.errors import EcaError, UnknownChat
from jupyter_eca.fronts.rest.projection import RestProjection, StreamItem
from jupyter_eca.fronts.rest.readers import TurnReader, TurnReaders
from jupyter_eca.host.chat.live_chat import Bounds, Choice, Prompt
from jupyter_eca.mcp_client.tool_names import tool_name
from jupyter_eca.protocol import rest
from jupyter_eca.protocol.mcp import ServerStatus, ToolServerRemovedParams
from jupyter_eca.redaction import HIDDEN

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Generator

    from jupyter_eca.host.host import Host
    from jupyter_eca.protocol.mcp import ToolServerUpdatedParams

# The host's ids of this front's conversations begin with this. A client sees and deletes only these.
PREFIX: Final = "rest-"

# Options of `npx`, `uvx` and `python` that stand before the program to run.
_LAUNCHER_FLAGS: Final = frozenset({"-y", "--yes", "-m"})

# Characters of a text that are held back while a tool call may still follow it: about three sentences.
HELD: Final = 240

# Seconds beyond its own timeout that a server may take to start.
MARGIN: Final = 5.0


class Approve(StrEnum):
    """Who decides about tool calls, because the contract has no approval. `RULES` means that the rules of the
    configuration decide, and a call that needs a question to the user is refused."""

    ALLOW = "allow"
    DENY = "deny"
    RULES = "rules"

    def describe(self) -> str:
        """Return what happens to tool calls, in a sentence for the user who starts the server."""
        return _APPROVE[self]


_APPROVE: Final = {
    Approve.ALLOW: "every call runs that the approval rules do not deny. Nobody is asked.",
    Approve.DENY: "no call runs.",
    Approve.RULES: "a call runs only if a rule in `toolCall.approval` allows it. All others are refused, because this "
    "API cannot ask anybody. `--approve allow` runs them too.",
}


_DISABLED: Final = (
    "The server {name!r} is disabled, so it is not started from here. Enable it in the configuration, or in the chat "
    "panel of JupyterLab."
)
"""A client of this front may be code of a model's, which must not start a program that nobody has looked at."""


class UnknownServer(EcaError):
    """There is no tool server of that name."""


class NotConnected(EcaError):
    """A tool server could not be started."""


@dataclass(eq=False)
class RestTurn:
    """A turn that a client reads. `past` are its earlier events, `after` is the number of the last event that the
    client knows."""

    chat: str
    projection: RestProjection
    reader: TurnReader
    past: list[StreamItem] = field(default_factory=list[StreamItem])
    after: int = 0


class RestFront:
    """The front for all its clients. `connected` is the one server whose tools the chats can use."""

    def __init__(self, host: Host, approve: Approve = Approve.RULES) -> None:
        self._host = host
        self._approve = approve
        self._readers = TurnReaders()
        self._connecting = asyncio.Lock()
        self._connected = ""
        self._started = False
        self._chat = uuid.uuid4().hex
        host.join(self._readers)

    def close(self) -> None:
        self._host.leave(self._readers)

    # -- tool servers

    async def servers(self) -> list[rest.Server]:
        await self._host.mcp.known.wait()
        return [
            rest.Server(
                id=server.name,
                name=server.name,
                path=_path(server),
                description=server.instructions,
                tools=self._tools(server) if server.status is ServerStatus.RUNNING else None,
            )
            for server in self._host.mcp.list_servers()
        ]

    def status(self) -> rest.ConnectionStatus:
        """Return which server is connected. One that is down is not connected, until it has come back by itself."""
        server = self._server(self._connected)
        if server is None or server.status is not ServerStatus.RUNNING:
            return rest.ConnectionStatus(connected=False, server_id=None, tools=())
        return rest.ConnectionStatus(connected=True, server_id=server.name, tools=self._tools(server))

    async def connect(self, name: str) -> rest.Connected:
        """Start a server, and connect it instead of the current one. A new conversation begins.

        Raises: UnknownServer, NotConnected.
        """
        async with self._connecting:
            await self._host.mcp.known.wait()
            server = self._server(name)
            if server is None:
                raise UnknownServer(f"There is no server {name!r}.")
            if server.disabled and server.status is not ServerStatus.RUNNING:
                raise NotConnected(_DISABLED.format(name=name))
            idle = server.status in {ServerStatus.STOPPED, ServerStatus.STOPPING}
            if server.status is not ServerStatus.RUNNING:
                server = await self._start_server(name)
            if name != self._connected:
                self._release_server()
                self._started = idle
            self._connected, self._chat = name, uuid.uuid4().hex
            return rest.Connected(server_id=name, server_name=name, tools=self._tools(server))

    async def disconnect(self) -> None:
        async with self._connecting:
            self._release_server()

    def _release_server(self) -> None:
        """Disconnect the server. It is stopped only if this front started it: others may use it as well."""
        name, self._connected = self._connected, ""
        if self._started and self._server(name) is not None:
            self._host.mcp.stop(name)
        self._started = False

    async def _start_server(self, name: str) -> ToolServerUpdatedParams:
        news = self._readers.watch_servers()
        try:
            self._host.mcp.start(name)
            async with asyncio.timeout(self._host.config.mcp_timeout_seconds + MARGIN):
                while True:
                    update = await news.get()
                    if update.name != name:
                        continue
                    if isinstance(update, ToolServerRemovedParams):
                        raise UnknownServer(f"The server {name!r} was removed.")
                    if update.status is ServerStatus.RUNNING:
                        return update
                    if update.status in {ServerStatus.FAILED, ServerStatus.REQUIRES_AUTH}:
                        why = update.error or "no reason given"
                        raise NotConnected(f"The server {name!r} is {update.status.value}: {why}.")
        except TimeoutError:
            raise NotConnected(f"The server {name!r} does not start.") from None
        finally:
            self._readers.stop_watching(news)

    def _server(self, name: str) -> ToolServerUpdatedParams | None:
        return next((server for server in self._host.mcp.list_servers() if server.name == name), None)

    def _tools(self, server: ToolServerUpdatedParams) -> tuple[rest.RestTool, ...]:
        tools = self._host.notifications.describe_server(server, "").tools or ()
        return tuple(rest.RestTool(name=tool.name, description=tool.description) for tool in tools if not tool.disabled)

    # -- chats

    @property
    def default_chat(self) -> str:
        """The conversation of clients that name none."""
        return self._chat

    async def chats(self) -> list[rest.RestChat]:
        await self._host.store.settle()
        return [
            rest.RestChat(
                id=row.id.removeprefix(PREFIX),
                title=row.title,
                status=self._host.chats.status(row.id).value,
                updated=row.updated,
            )
            for row in await self._host.chats.list_rows()
            if row.id.startswith(PREFIX)
        ]

    async def delete(self, chat: str) -> None:
        """Delete a conversation. Raises: UnknownChat, BusyError."""
        await self._host.archive.delete(await self._find_chat(chat))

    async def stop(self, chat: str) -> None:
        """Stop the answer of a conversation. Raises: UnknownChat."""
        self._host.turns.stop(await self._find_chat(chat))

    async def _find_chat(self, chat: str) -> str:
        id = PREFIX + chat
        await self._host.store.settle()
        row = await self._host.chats.read_row(id)
        if row is None or row.workspace != self._host.store.workspace:
            raise UnknownChat(f"There is no chat {chat!r}.")
        return id

    # -- turns

    @contextmanager
    def reading(self, turn: RestTurn) -> Generator[None]:
        """Read a turn while this context lasts. A turn that no client reads any more is stopped."""
        try:
            yield
        finally:
            last = self._readers.remove(turn.reader)
            live = self._host.chats.live(turn.reader.chat)
            if last and not turn.projection.ended and live is not None and live.state.turn == turn.reader.turn:
                self._host.turns.stop(turn.reader.chat)

    async def ask(self, message: str, chat: str, *, held_characters: float = HELD) -> RestTurn:
        """Prompt, and return the turn, which is to be read at once with `reading`. See `RestProjection` for
        `held_characters`. Raises: BusyError."""
        id = PREFIX + chat
        await self._host.turns.prompt(Prompt(id, message, self._choice, bounds=self._bounds))
        # There was no await since the prompt, so no event of the turn was published yet.
        return self._turn(id, chat, held_characters=held_characters)

    async def resume(self, chat: str, after: int) -> RestTurn:
        """Return the turn of an event, from after this event on, which is to be read at once with `reading`.

        Raises: UnknownChat.
        """
        id = PREFIX + chat
        await self._host.chats.load(id, must_exist=True)
        turn = self._turn(id, chat, after)
        try:
            events = await self._host.chats.read_events(id)
            named = next((event.turn for event in events if event.seq == after), "")
            for event in events:
                if named and event.turn == named:
                    turn.past += turn.projection.items(event)
            if not (turn.projection.ended or named == turn.reader.turn):
                raise UnknownChat(f"The event {after} belongs to no answer in the chat {chat!r}.")
        except BaseException:
            self._readers.remove(turn.reader)
            raise
        turn.reader.known = events[-1].seq
        return turn

    def _turn(self, id: str, chat: str, after: int = 0, held_characters: float = HELD) -> RestTurn:
        live = self._host.chats.live(id)
        if live is None:
            raise UnknownChat(f"There is no chat {chat!r}.")
        server = self._server(self._connected)
        tools = (server.tools or ()) if server else ()
        names = {tool_name(self._connected, tool.name): tool.name for tool in tools}
        reader = TurnReader(id, live.state.turn)
        if unsaved := self._host.notifications.find_unsaved(id):
            reader.messages.append(unsaved.message)
        self._readers.add(reader)
        held = held_characters if live.state.setup.tools else 0
        return RestTurn(chat, RestProjection(names, held, reader.messages), reader, after=after)

    async def items(self, turn: RestTurn, pause: float) -> AsyncGenerator[StreamItem | None]:
        """Yield the items of a turn to its end; None when nothing has come for `pause` seconds."""
        for item in turn.past:
            if item.seq > turn.after:
                yield item
        while not turn.projection.ended:
            events = await turn.reader.read(pause)
            if turn.reader.gone:
                raise UnknownChat("The chat was deleted.")
            if not events:
                yield None
            for event in events:
                for item in turn.projection.items(event):
                    yield item

    @property
    def _bounds(self) -> Bounds:
        servers = frozenset({self._connected} if self._connected else ())
        return Bounds(servers, Policy(by_default=Decision.DENY) if self._approve is Approve.DENY else None, asks=False)

    @property
    def _choice(self) -> Choice:
        """The choice for each prompt. It always contains the trust, because a chat remembers the trust of an earlier
        prompt."""
        trust = self._approve is Approve.ALLOW or self._host.config.chat.default_trust
        return Choice(trust=trust and self._approve is not Approve.DENY)


def _path(server: ToolServerUpdatedParams) -> str:
    """Return the script of a program, or the address of a service. `server` has no secrets in its arguments; of the
    address the query is left out too."""
    if server.url:
        return server.url.partition("?")[0].replace(f"{HIDDEN}@", "")
    words = server.args or ()
    return next(
        (word for before, word in zip(("", *words), words, strict=False) if _is_script(before, word)),
        server.command or "",
    )


def _is_script(before: str, word: str) -> bool:
    """Whether an argument may be the script: it is no option, no value of an option, and nothing of it is hidden."""
    is_value = before.startswith("-") and before not in _LAUNCHER_FLAGS
    return not (is_value or word.startswith("-") or HIDDEN in word)
