"""Owns the commands of the Agent Host Protocol, which are the requests of clients. The table `COMMANDS` has one
function for each command. A function returns the result of the request. If it raises an error, the client gets this
error as the answer.

The functions must not know the connection, which they see only as a `CommandCaller`. `connection.py` reads the requests
and sends the answers.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from enum import Enum, auto
from typing import TYPE_CHECKING, Any, Final, Protocol

from jupyter_eca.errors import RemoteError
from jupyter_eca.fronts.ahp import completions
from jupyter_eca.fronts.ahp.dialect import parse_chat, write_snapshot
from jupyter_eca.fronts.ahp.reducers.base import get_list, get_object
from jupyter_eca.fronts.ahp.resources.folders import find_folder
from jupyter_eca.fronts.ahp.session import config
from jupyter_eca.fronts.ahp.session.action_rules import refuse_config
from jupyter_eca.protocol.ahp import PROVIDER, actions
from jupyter_eca.protocol.ahp import commands as requests
from jupyter_eca.protocol.ahp.commands import AhpErrorCode

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping
    from pathlib import Path

    from jupyter_eca.fronts.ahp.front import AhpFront
    from jupyter_eca.fronts.ahp.reducers.base import Json
    from jupyter_eca.fronts.ahp.session.session import AhpSession
    from jupyter_eca.fronts.client_access import ClientAccess
    from jupyter_eca.protocol.ahp.base import AhpModel

# The number of turns on one page: the default, and the limit. The protocol's own host uses the same numbers.
DEFAULT_TURNS: Final = 50
MAX_TURNS: Final = 100


class CommandCaller(Protocol):
    """The connection that a command came over."""

    @property
    def front(self) -> AhpFront:
        """The front that all clients share."""
        ...

    @property
    def client(self) -> str:
        """The id of the client."""
        ...

    @property
    def access(self) -> ClientAccess:
        """What the client may do."""
        ...

    @property
    def chats(self) -> list[str]:
        """The chats whose sessions the client is subscribed to."""
        ...

    async def subscribe(self, uri: str) -> bool:
        """Subscribe the client to a resource: something with a URI and a state, such as a session. Return False if
        there is no such resource."""
        ...


class CommandOrder(Enum):
    """Says which earlier messages of the same client a command waits for.

    A user may send Stop at any time. So a command that may take long is not `IN_ORDER`: Stop would have to wait for it.
    """

    IN_ORDER = auto()
    """The command waits for all earlier messages, except for commands of the two kinds below."""
    AMONG_FILES = auto()
    """The command waits for the earlier commands about files. Other messages do not wait for it."""
    AT_ONCE = auto()
    """The command waits for no other message, and no other message waits for it."""


@dataclass(frozen=True, slots=True)
class AhpCommand:
    """One row of the table of commands."""

    params: type[AhpModel]
    """The model of the parameters."""

    run: Callable[[CommandCaller, Any], Awaitable[Json | None]]
    """The function that answers."""

    order: CommandOrder = CommandOrder.IN_ORDER
    """Which earlier messages the command waits for."""

    allows_readers: bool = False
    """Whether a client that may only read the chats may send the command."""


async def _find_session(front: AhpFront, uri: str) -> AhpSession:
    """Return the session with this URI. Raises: RemoteError when there is none."""
    if (session := await front.find_session(uri)) is None:
        raise RemoteError(f"There is no session {uri}.", AhpErrorCode.SESSION_NOT_FOUND)
    return session


def _check_provider(name: str | None) -> None:
    """Raise RemoteError if a client names a provider of agents that we do not have. We have only one. None means that
    the client names no provider."""
    if name not in {None, PROVIDER}:
        raise RemoteError(f"There is no provider {name!r}; there is {PROVIDER!r}.", AhpErrorCode.PROVIDER_NOT_FOUND)


async def subscribe(caller: CommandCaller, params: requests.Subscribe) -> Json:
    """Subscribe the client to a resource, and return the state of the resource as it is now."""
    if not await caller.subscribe(params.resource):
        raise RemoteError(f"There is no resource {params.resource}.", AhpErrorCode.SESSION_NOT_FOUND)
    return {"snapshot": write_snapshot(caller.front.hub.make_snapshot(params.resource))}


async def create_session(caller: CommandCaller, params: requests.CreateSession) -> None:
    """Create a session, or make one from a copy of another session's chat (`fork`). With `activeClient`, the client
    becomes the active client: the one whose tools the model can call in this session.

    Raises: RemoteError.
    """
    front, uri = caller.front, params.session
    _check_provider(params.provider)
    chat = parse_chat(uri)
    if chat is None:
        raise RemoteError(f"{uri} is not the URI of a session, which looks like eca:/ID.", AhpErrorCode.INVALID_PARAMS)
    if params.active_client is not None and params.active_client.client_id != caller.client:
        raise RemoteError("activeClient: that is another client.", AhpErrorCode.INVALID_PARAMS)
    if await front.exists(uri):
        raise RemoteError(f"{uri} exists.", AhpErrorCode.SESSION_ALREADY_EXISTS)
    folder = None
    if params.working_directory is not None:
        folder = await asyncio.to_thread(find_folder, front.host.workspace.files, params.working_directory)
    schema = config.describe_schema(front.host, params.model.id if params.model else "")
    if params.config and (reason := refuse_config({"schema": schema}, params.config)):
        raise RemoteError(reason, AhpErrorCode.INVALID_PARAMS)
    if not caller.access.may_approve and (params.config or {}).get("approval") == config.AUTO:
        raise RemoteError(caller.access.reason, AhpErrorCode.INVALID_PARAMS)
    if params.fork is not None:
        await _fork(front, params.fork, chat, folder)
    session = await _find_session(front, uri) if params.fork else await front.create(params, folder)
    if params.active_client is not None:
        session.dispatch(actions.ActiveClientChanged(session=uri, active_client=params.active_client))
        session.offer_client_tools()
        session.refresh()


async def _fork(front: AhpFront, source: requests.ForkSource, chat: str, folder: Path | None) -> None:
    """Copy the chat of a session up to the end of a turn, with the model, agent and folder that were chosen for it.

    `chat` is the id of the copy. `folder` is the working directory that the client wants, or None. Raises: RemoteError.
    """
    origin = await _find_session(front, source.session)
    default_folder = front.host.workspace.files.start.resolve()
    if folder is not None and str(folder) != (config.read_choice(origin.state).folder or str(default_folder)):
        raise RemoteError(
            "workingDirectory: a fork works in the folder of its source. Leave the field out.",
            AhpErrorCode.INVALID_PARAMS,
        )
    if not any(turn["id"] == source.turn_id for turn in get_list(origin.state, "turns")):
        raise RemoteError(f"There is no turn {source.turn_id!r} in {source.session}.", AhpErrorCode.SESSION_NOT_FOUND)
    await front.host.chat_operations.copy(origin.chat, source.turn_id, chat)


async def dispose_session(caller: CommandCaller, params: requests.DisposeSession) -> None:
    """Delete a session and its chat."""
    await caller.front.dispose(await _find_session(caller.front, params.session))


async def list_sessions(caller: CommandCaller, params: requests.ListSessions) -> Json:  # noqa: ARG001  # the only param is `filter`, whose content version 0.1.0 does not define
    """Return the summaries of all sessions."""
    return {"items": await caller.front.list_summaries()}


async def fetch_turns(caller: CommandCaller, params: requests.FetchTurns) -> Json:
    """Return a page of turns that ends before the turn `before`, or at the end if there is no such turn."""
    turns = get_list((await _find_session(caller.front, params.session)).state, "turns")
    end = next((index for index, turn in enumerate(turns) if turn["id"] == params.before), len(turns))
    limit = DEFAULT_TURNS if params.limit is None else min(max(params.limit, 0), MAX_TURNS)
    start = max(0, end - limit)
    return {"turns": turns[start:end], "hasMore": start > 0}


async def complete_message(caller: CommandCaller, params: requests.Completions) -> Json:
    """Return the completions of the message that the user is typing."""
    session = await _find_session(caller.front, params.session)
    host = caller.front.host
    files = host.tool_contexts.get_files(session.chat, config.read_choice(session.state).folder)
    return {"items": await completions.list_items(host, session.chat, files, params.text, params.offset)}


async def resolve_config(caller: CommandCaller, params: requests.ResolveSessionConfig) -> Json:
    """Return what a new session can be configured with: the schema, and the client's values completed by defaults."""
    _check_provider(params.provider)
    host = caller.front.host
    schema = config.describe_schema(host, await host.catalog.default())
    return {"schema": schema, "values": config.complete_values(schema, params.config or {})}


async def complete_config(caller: CommandCaller, params: requests.SessionConfigCompletions) -> Json:
    """Return the values of one property of the configuration that contain the query."""
    resolved = await resolve_config(caller, params)
    schema = get_object(get_object(resolved["schema"], "properties"), params.property)
    if not schema:
        raise RemoteError(f"There is no property {params.property!r}.", AhpErrorCode.INVALID_PARAMS)
    labels = schema.get("enumLabels") or schema["enum"]
    query = (params.query or "").casefold()
    choices = [{"value": value, "label": label} for value, label in zip(schema["enum"], labels, strict=True)]
    return {
        "items": [
            choice for choice in choices if query in choice["label"].casefold() or query in choice["value"].casefold()
        ]
    }


async def authenticate(caller: CommandCaller, params: requests.Authenticate) -> Json:  # noqa: ARG001  # all commands have the same signature
    """Refuse a token that a client offers. Raises: RemoteError, always: no agent of ours asks clients for a token."""
    raise RemoteError(f"No agent here asks for {params.resource}.", AhpErrorCode.INVALID_PARAMS)


def _check_may_approve(caller: CommandCaller) -> None:
    """Raise RemoteError if the client may not approve tool calls. Such a client may not use terminals either, because a
    shell runs every command without approval."""
    if not caller.access.may_approve:
        raise RemoteError(caller.access.reason, AhpErrorCode.PERMISSION_DENIED)


async def create_terminal(caller: CommandCaller, params: requests.CreateTerminal) -> None:
    """Start a shell in a new terminal."""
    _check_may_approve(caller)
    await caller.front.terminals.create(params, caller.client)


async def dispose_terminal(caller: CommandCaller, params: requests.DisposeTerminal) -> None:
    """End a terminal and its shell."""
    _check_may_approve(caller)
    await caller.front.terminals.dispose(params.terminal)


async def read_resource(caller: CommandCaller, params: requests.ResourceRead) -> Json:
    """Return the content of a file, or of another resource with a URI."""
    return await caller.front.resources.read(params, caller.client)


async def write_resource(caller: CommandCaller, params: requests.ResourceWrite) -> Json:
    """Write a file."""
    return await caller.front.resources.write(params, caller.client, access=caller.access)


async def list_resource(caller: CommandCaller, params: requests.ResourceList) -> Json:
    """Return the entries of a folder."""
    return await caller.front.resources.list(params, caller.client)


async def copy_resource(caller: CommandCaller, params: requests.ResourceCopy) -> Json:
    """Copy a file or a folder."""
    return await caller.front.resources.copy(params, caller.client, access=caller.access)


async def move_resource(caller: CommandCaller, params: requests.ResourceMove) -> Json:
    """Move a file or a folder."""
    return await caller.front.resources.move(params, caller.client, access=caller.access)


async def delete_resource(caller: CommandCaller, params: requests.ResourceDelete) -> Json:
    """Delete a file or a folder."""
    return await caller.front.resources.delete(params, caller.client, access=caller.access)


async def request_resource(caller: CommandCaller, params: requests.ResourceRequest) -> Json:
    """Ask the user whether the client may use a file outside of the workspace. The question is asked in one of the
    chats that the client is subscribed to."""
    return await caller.front.resources.request(params, caller.client, caller.chats)


# The commands, by the methods of their requests.
COMMANDS: Final[Mapping[str, AhpCommand]] = {
    "subscribe": AhpCommand(requests.Subscribe, subscribe, allows_readers=True),
    "createSession": AhpCommand(requests.CreateSession, create_session),
    "disposeSession": AhpCommand(requests.DisposeSession, dispose_session),
    "listSessions": AhpCommand(requests.ListSessions, list_sessions, allows_readers=True),
    "fetchTurns": AhpCommand(requests.FetchTurns, fetch_turns, allows_readers=True),
    "completions": AhpCommand(requests.Completions, complete_message, CommandOrder.AT_ONCE, allows_readers=True),
    "resolveSessionConfig": AhpCommand(
        requests.ResolveSessionConfig, resolve_config, CommandOrder.AT_ONCE, allows_readers=True
    ),
    "sessionConfigCompletions": AhpCommand(
        requests.SessionConfigCompletions, complete_config, CommandOrder.AT_ONCE, allows_readers=True
    ),
    "authenticate": AhpCommand(requests.Authenticate, authenticate, allows_readers=True),
    "createTerminal": AhpCommand(requests.CreateTerminal, create_terminal),
    "disposeTerminal": AhpCommand(requests.DisposeTerminal, dispose_terminal),
    "resourceRead": AhpCommand(requests.ResourceRead, read_resource, CommandOrder.AMONG_FILES),
    "resourceWrite": AhpCommand(requests.ResourceWrite, write_resource, CommandOrder.AMONG_FILES),
    "resourceList": AhpCommand(requests.ResourceList, list_resource, CommandOrder.AMONG_FILES),
    "resourceCopy": AhpCommand(requests.ResourceCopy, copy_resource, CommandOrder.AMONG_FILES),
    "resourceMove": AhpCommand(requests.ResourceMove, move_resource, CommandOrder.AMONG_FILES),
    "resourceDelete": AhpCommand(requests.ResourceDelete, delete_resource, CommandOrder.AMONG_FILES),
    "resourceRequest": AhpCommand(requests.ResourceRequest, request_resource, CommandOrder.AT_ONCE),
}
