"""Owns the operations of the MCP chat contract, the HTTP API that this front serves: a client connects one tool server
at a time, and chats with the tools of only this server. A tool server is an MCP server, which is a program that offers
tools.

It must not know HTTP: `app.py` does. `readers.py` receives the events of turns from the host.
"""

from __future__ import annotations

import asyncio
import uuid
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Final

from jupyter_eca.errors import EcaError, LocalError, UnknownChat
from jupyter_eca.fronts.rest.projection import RestProjection, StreamItem
from jupyter_eca.fronts.rest.readers import TurnReader, TurnReaders
from jupyter_eca.host.chat.live_chat import Bounds, Choice, Prompt
from jupyter_eca.mcp_client.tool_names import make_tool_name
from jupyter_eca.protocol import rest
from jupyter_eca.protocol.mcp import ServerStatus, ToolServerRemovedParams
from jupyter_eca.redaction import HIDDEN

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Generator

    from jupyter_eca.host.chat.live_chat import LiveChat
    from jupyter_eca.host.host import Host
    from jupyter_eca.protocol.event import Person
    from jupyter_eca.protocol.mcp import ToolServerUpdatedParams

# The host's ids of chats that belong to this front begin with this prefix. Clients can see and delete only these chats.
PREFIX: Final = "rest-"

# Options of `npx`, `uvx` and `python` after which comes the program to run, and not a value of the option.
_LAUNCHER_FLAGS: Final = frozenset({"-y", "--yes", "-m"})

# How many characters of a text are held back while a tool call may still follow it. This is about three sentences: more
# than models usually write before a call.
HELD_CHARACTERS: Final = 240

# Seconds that are added to the configured timeout of a tool server's start, so that the server's own error comes first.
START_MARGIN_SECONDS: Final = 5.0


class RestApproval(StrEnum):
    """The values of the option `--approve`: what decides about tool calls. The contract has no way to ask the user."""

    ALLOW = "allow"
    """All calls run, except for calls that the approval rules deny."""

    DENY = "deny"
    """No call runs."""

    RULES = "rules"
    """The approval rules decide. A call about which the user would have to be asked does not run."""

    def describe(self) -> str:
        """Return what happens to tool calls, in a sentence for the user who starts the server."""
        return _APPROVAL_DESCRIPTIONS[self]


_APPROVAL_DESCRIPTIONS: Final = {
    RestApproval.ALLOW: "every call runs that the approval rules do not deny. Nobody is asked.",
    RestApproval.DENY: "no call runs.",
    RestApproval.RULES: "a call runs only if a rule in `toolCall.approval` allows it. All others are refused, because "
    "this API cannot ask anybody. `--approve allow` runs them too.",
}


# The errors for an outside agent (see `RestFront._choose_agent`), and for a server that is disabled or was stopped. A
# client of this front may be code that a model wrote. It must not start a program that the user has disabled.
_NO_OUTSIDE_AGENT: Final = (
    "With --approve deny no outside agent answers, because it may run tools of its own without asking. Choose another "
    "agent, or start the server with --approve rules."
)
_DISABLED: Final = (
    "The server {name!r} is disabled, so it is not started from here. Enable it in the configuration, or in the chat "
    "panel of JupyterLab."
)
_STOPPED: Final = (
    "The server {name!r} was stopped, and you may not start it, because it works for all users. Somebody who may "
    "approve tool calls can start it in the chat panel of JupyterLab."
)


class UnknownAgent(EcaError):
    """There is no such agent."""


class UnknownServer(EcaError):
    """There is no tool server of that name."""


class NotConnected(EcaError):
    """A tool server could not be started."""


@dataclass(eq=False)
class RestTurn:
    """A turn (one message and its answer) that a client reads."""

    chat: str
    """The client's id of the chat."""

    projection: RestProjection
    """Makes the contract's events of the turn's events."""

    reader: TurnReader
    """Collects the new events of the turn."""

    past_items: list[StreamItem] = field(default_factory=list[StreamItem])
    """The items of the stored events, if the client continues to read a turn that has already begun."""

    after: int = 0
    """The number of the last event that the client knows."""


class RestFront:
    """The front that all clients share."""

    def __init__(self, host: Host, approve: RestApproval = RestApproval.RULES) -> None:
        self._host = host
        self._approve = approve
        self._readers = TurnReaders()
        self._connecting = asyncio.Lock()  # so that only one client at a time connects a server
        self._connected_server = ""  # the name of the one tool server whose tools the chats can use, or ""
        self._has_started_server = False  # whether this front has started that server
        self._default_chat = uuid.uuid4().hex  # the id of the chat of clients that name none
        host.connect(self._readers)

    def close(self) -> None:
        """Leave the subscribers of the host."""
        self._host.disconnect(self._readers)

    # -- tool servers

    async def list_servers(self) -> list[rest.Server]:
        """Return all configured tool servers. The tools of a server are known only while it runs."""
        await self._host.mcp.servers_known.wait()
        return [
            rest.Server(
                id=server.name,
                name=server.name,
                path=_find_path(server),
                description=server.instructions,
                tools=self._list_tools(server) if server.status is ServerStatus.RUNNING else None,
            )
            for server in self._host.mcp.list_servers()
        ]

    def get_status(self) -> rest.ConnectionStatus:
        """Return which server is connected. A server that has failed counts as not connected until it runs again."""
        server = self._find_server(self._connected_server)
        if server is None or server.status is not ServerStatus.RUNNING:
            return rest.ConnectionStatus(connected=False, server_id=None, tools=())
        return rest.ConnectionStatus(connected=True, server_id=server.name, tools=self._list_tools(server))

    async def connect(self, name: str, *, may_start: bool = True) -> rest.Connected:
        """Start a server, and connect it in place of the current server. Clients that name no chat get a new one.
        `may_start` says whether the client may start a server that a user has stopped.

        Raises: UnknownServer, NotConnected.
        """
        async with self._connecting:
            await self._host.mcp.servers_known.wait()
            server = self._find_server(name)
            if server is None:
                raise UnknownServer(f"There is no server {name!r}.")
            if server.disabled and server.status is not ServerStatus.RUNNING:
                raise NotConnected(_DISABLED.format(name=name))
            was_stopped = server.status in {ServerStatus.STOPPED, ServerStatus.STOPPING}
            if was_stopped and not may_start:
                raise NotConnected(_STOPPED.format(name=name))
            if server.status is not ServerStatus.RUNNING:
                server = await self._start_server(name)
            if name != self._connected_server:
                self._release_server()
                self._has_started_server = was_stopped
            self._connected_server, self._default_chat = name, uuid.uuid4().hex
            return rest.Connected(server_id=name, server_name=name, tools=self._list_tools(server))

    async def disconnect(self) -> None:
        """Disconnect the current server. The chats have no tools then."""
        async with self._connecting:
            self._release_server()

    def _release_server(self) -> None:
        """Disconnect the server. It is stopped only if this front started it: others may use it as well."""
        name, self._connected_server = self._connected_server, ""
        if self._has_started_server and self._find_server(name) is not None:
            self._host.mcp.stop(name)
        self._has_started_server = False

    async def _start_server(self, name: str) -> ToolServerUpdatedParams:
        """Start a server, and wait until it runs. Raises: UnknownServer, NotConnected."""
        updates = self._readers.watch_servers()
        try:
            self._host.mcp.start(name)
            async with asyncio.timeout(self._host.config.mcp_timeout_seconds + START_MARGIN_SECONDS):
                while True:
                    update = await updates.get()
                    if update.name != name:
                        continue
                    if isinstance(update, ToolServerRemovedParams):
                        raise UnknownServer(f"The server {name!r} was removed.")
                    if update.status is ServerStatus.RUNNING:
                        return update
                    if update.status in {ServerStatus.FAILED, ServerStatus.REQUIRES_AUTH}:
                        reason = update.error or "no reason given"
                        raise NotConnected(f"The server {name!r} is {update.status.value}: {reason}.")
        except TimeoutError:
            raise NotConnected(f"The server {name!r} does not start.") from None
        finally:
            self._readers.stop_watching(updates)

    def _find_server(self, name: str) -> ToolServerUpdatedParams | None:
        """Return a configured tool server; None if there is none with this name."""
        return next((server for server in self._host.mcp.list_servers() if server.name == name), None)

    def _list_tools(self, server: ToolServerUpdatedParams) -> tuple[rest.RestTool, ...]:
        """Return the enabled tools of a server."""
        tools = self._host.notices.describe_server(server, "").tools or ()
        return tuple(rest.RestTool(name=tool.name, description=tool.description) for tool in tools if not tool.disabled)

    # -- chats

    @property
    def default_chat(self) -> str:
        """The chat of clients that name no chat."""
        return self._default_chat

    async def list_chats(self) -> list[rest.RestChat]:
        """Return the chats of this front."""
        await self._host.store.settle()
        return [
            rest.RestChat(
                id=row.id.removeprefix(PREFIX),
                title=row.title,
                status=self._host.chats.get_status(row.id).value,
                updated=row.updated,
            )
            for row in await self._host.chats.list_rows()
            if row.id.startswith(PREFIX)
        ]

    async def delete(self, chat: str) -> None:
        """Delete a chat. Raises: UnknownChat, BusyError."""
        await self._host.chat_operations.delete(await self._find_chat(chat))

    async def stop(self, chat: str) -> None:
        """Stop the turn that runs in a chat. Raises: UnknownChat."""
        self._host.turns.stop(await self._find_chat(chat))

    async def _find_chat(self, chat: str) -> str:
        """Return the host's id of a chat. Raises: UnknownChat."""
        id = PREFIX + chat
        await self._host.store.settle()
        row = await self._host.chats.read_row(id)
        if row is None or row.workspace != self._host.store.workspace:
            raise UnknownChat(f"There is no chat {chat!r}.")
        return id

    # -- turns

    @contextmanager
    def reading(self, turn: RestTurn) -> Generator[None]:
        """Keep a turn running while this context lasts. If no other client reads the turn when the context ends, the
        turn is stopped."""
        try:
            yield
        finally:
            is_last = self._readers.remove(turn.reader)
            live = self._host.chats.get_live(turn.reader.chat)
            if is_last and not turn.projection.has_ended and live is not None and live.state.turn == turn.reader.turn:
                self._host.turns.stop(turn.reader.chat)

    async def ask(
        self,
        message: str,
        chat: str,
        agent: str | None = None,
        *,
        held_characters: float = HELD_CHARACTERS,
        by: Person | None = None,
    ) -> RestTurn:
        """Send a message to the model, and return the turn. The caller must enter `reading` before it awaits anything.
        `agent` is the name of the agent that answers; None for the agent of the chat. `by` is the person who asks, if
        that is known. See `RestProjection` for `held_characters`.

        Raises: BusyError when a turn runs in the chat, UnknownAgent, LocalError when the agent must not answer.
        """
        id = PREFIX + chat
        choice = await self._choose_agent(id, agent)
        begun = await self._host.turns.prompt(Prompt(id, message, choice, bounds=self._bounds, author=by))
        # Nothing was awaited since the prompt returned, so the reader misses no event of the turn.
        return self._make_turn(begun.chat, chat, held_characters=held_characters)

    async def _choose_agent(self, id: str, agent: str | None) -> Choice:
        """Return the choice (the agent and other options of a prompt) with the agent that the client has named. If
        `agent` is None, the chat keeps its agent. `id` is the host's id of the chat.

        An outside agent is another program, such as Codex, that answers with tools of its own. These are not the tools
        of the connected server. So `--approve allow` does not allow them, and `--approve deny` cannot deny those that
        the agent runs without asking. Raises: UnknownAgent, LocalError.
        """
        resolved = self._host.current.resolved
        if agent is not None and agent not in (known := resolved.list_selectable()):
            raise UnknownAgent(f"There is no agent {agent!r}. The agents are {', '.join(known)}.")
        name = agent or (await self._host.chats.load(id)).choice.agent
        choice = replace(self._choice, agent=agent or "")
        if resolved.get_agent(name).outside is None:
            return choice
        if self._approve is RestApproval.DENY:
            raise LocalError(_NO_OUTSIDE_AGENT)
        return replace(choice, trust=False)

    async def resume(self, chat: str, after: int) -> RestTurn:
        """Return the turn that has the event number `after`, to read it from after this event. The caller must enter
        `reading` before it awaits anything.

        Raises: UnknownChat when no turn of the chat has this event.
        """
        id = PREFIX + chat
        turn = self._make_turn(await self._host.chats.load(id, must_exist=True), chat, after)
        try:
            events = await self._host.chats.read_events(id)
            turn_id = next((event.turn for event in events if event.seq == after), "")
            for event in events:
                if turn_id and event.turn == turn_id:
                    turn.past_items += turn.projection.project(event)
            if not (turn.projection.has_ended or turn_id == turn.reader.turn):
                raise UnknownChat(f"The event {after} belongs to no answer in the chat {chat!r}.")
        except BaseException:
            self._readers.remove(turn.reader)
            raise
        turn.reader.last_stored = events[-1].seq
        return turn

    def _make_turn(
        self, live: LiveChat, chat: str, after: int = 0, held_characters: float = HELD_CHARACTERS
    ) -> RestTurn:
        """Return the turn that runs in a chat, with a new reader and a projection of its own. `chat` is the client's id
        of the chat. `after` is the number of the last event that the client knows."""
        id = live.state.id
        server = self._find_server(self._connected_server)
        tools = (server.tools or ()) if server else ()
        # Models know a tool as `server__tool`, clients as `tool`.
        names = {make_tool_name(self._connected_server, tool.name): tool.name for tool in tools}
        reader = TurnReader(id, live.state.turn)
        if unsaved := self._host.notices.describe_unsaved(id):
            reader.messages.append(unsaved.message)
        self._readers.add(reader)
        held = held_characters if live.state.setup.tools else 0
        return RestTurn(chat, RestProjection(names, held, reader.messages), reader, after=after)

    async def stream_items(self, turn: RestTurn, pause: float) -> AsyncGenerator[StreamItem | None]:
        """Yield the items of a turn until it ends. Yield None when no event has come for `pause` seconds.

        Raises: UnknownChat when the chat is deleted.
        """
        for item in turn.past_items:
            if item.seq > turn.after:
                yield item
        while not turn.projection.has_ended:
            events = await turn.reader.read(pause)
            if turn.reader.is_deleted:
                raise UnknownChat("The chat was deleted.")
            if not events:
                yield None
            for event in events:
                for item in turn.projection.project(event):
                    yield item

    @property
    def _bounds(self) -> Bounds:
        """The limits of each turn: it has only the tools of the connected server, and the user is not asked."""
        servers = frozenset({self._connected_server} if self._connected_server else ())
        return Bounds(servers, denies_calls=self._approve is RestApproval.DENY, asks_user=False)

    @property
    def _choice(self) -> Choice:
        """The choice for each prompt, without an agent. With `trust`, tool calls run without approval. Each prompt says
        whether it has `trust`, because otherwise the chat would use the value of an earlier prompt."""
        trust = self._approve is RestApproval.ALLOW or self._host.config.chat.default_trust
        return Choice(trust=trust and self._approve is not RestApproval.DENY)


def _find_path(server: ToolServerUpdatedParams) -> str:
    """Return the path of a server for the list: the script that it runs, or its address.

    Secrets in the arguments of `server` are already hidden. The query of an address may contain a key, so it is left
    out.
    """
    if server.url:
        return server.url.partition("?")[0].replace(f"{HIDDEN}@", "")
    words = server.args or ()
    # Each argument is looked at together with the one before it.
    return next(
        (word for before, word in zip(("", *words), words, strict=False) if _is_script(before, word)),
        server.command or "",
    )


def _is_script(before: str, word: str) -> bool:
    """Return whether an argument may be the script. It is not an option or the value of an option, and no part of it is
    hidden. `before` is the argument before it."""
    is_value = before.startswith("-") and before not in _LAUNCHER_FLAGS
    return not (is_value or word.startswith("-") or HIDDEN in word)
