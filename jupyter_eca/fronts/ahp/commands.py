"""Owns the protocol's commands: one table with a function for each command. An error that a function raises becomes the
answer.

It must not know the connection that a command came over; `CommandCaller` is all it needs of one. `connection.py` reads
and answers the requests.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Protocol

from jupyter_eca.errors import RemoteError
from jupyter_eca.fronts.ahp import completions as completing
from jupyter_eca.fronts.ahp.dialect import chat_of, write_snapshot
from jupyter_eca.fronts.ahp.reducers.base import items, record
from jupyter_eca.fronts.ahp.session import config
from jupyter_eca.fronts.ahp.session.action_rules import config_refusal
from jupyter_eca.fronts.base import MAY_NOT_APPROVE
from jupyter_eca.protocol.ahp import PROVIDER, actions
from jupyter_eca.protocol.ahp import commands as asked
from jupyter_eca.protocol.ahp.commands import AhpErrorCode

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from jupyter_eca.fronts.ahp.front import AhpFront
    from jupyter_eca.fronts.ahp.reducers.base import Json
    from jupyter_eca.fronts.ahp.session.session import AhpSession
    from jupyter_eca.protocol.ahp.base import Ahp

# The number of turns on one page: the default, and the limit. The protocol's own host uses the same numbers.
TURNS: Final = 50
MOST_TURNS: Final = 100


class CommandCaller(Protocol):
    """The connection that a command came over."""

    @property
    def front(self) -> AhpFront: ...

    @property
    def client(self) -> str:
        """The id of the client."""
        ...

    @property
    def approves(self) -> bool:
        """Whether the client may approve."""
        ...

    @property
    def chats(self) -> list[str]:
        """The chats whose sessions the client is subscribed to."""
        ...

    async def add(self, uri: str) -> bool:
        """Subscribe the client to a resource. Return False if there is no such resource."""
        ...


@dataclass(frozen=True, slots=True)
class AhpCommand:
    """One row of the table."""

    params: type[Ahp]
    """The model of the parameters."""

    run: Callable[[CommandCaller, Any], Awaitable[Json | None]]
    """The function that answers."""

    is_concurrent: bool = False
    """Whether the client's next message is handled before this command is answered."""


async def _find_session(front: AhpFront, uri: str) -> AhpSession:
    if (session := await front.find_session(uri)) is None:
        raise RemoteError(f"There is no session {uri}.", AhpErrorCode.SESSION_NOT_FOUND)
    return session


def _check_provider(name: str | None) -> None:
    if name not in {None, PROVIDER}:
        raise RemoteError(f"There is no provider {name!r}; there is {PROVIDER!r}.", AhpErrorCode.PROVIDER_NOT_FOUND)


async def subscribe(caller: CommandCaller, params: asked.Subscribe) -> Json:
    if not await caller.add(params.resource):
        raise RemoteError(f"There is no resource {params.resource}.", AhpErrorCode.SESSION_NOT_FOUND)
    return {"snapshot": write_snapshot(caller.front.hub.snapshot(params.resource))}


async def create_session(caller: CommandCaller, params: asked.CreateSession) -> None:
    front, uri = caller.front, params.session
    _check_provider(params.provider)
    chat = chat_of(uri)
    if chat is None:
        raise RemoteError(f"{uri} is not the URI of a session, which looks like eca:/ID.", AhpErrorCode.INVALID_PARAMS)
    if params.active_client is not None and params.active_client.client_id != caller.client:
        raise RemoteError("activeClient: that is another client.", AhpErrorCode.INVALID_PARAMS)
    if await front.exists(uri):
        raise RemoteError(f"{uri} exists.", AhpErrorCode.SESSION_ALREADY_EXISTS)
    described = config.schema(front.host, params.model.id if params.model else "")
    if params.config and (reason := config_refusal({"schema": described}, params.config)):
        raise RemoteError(reason, AhpErrorCode.INVALID_PARAMS)
    if not caller.approves and (params.config or {}).get("approval") == config.AUTO:
        raise RemoteError(MAY_NOT_APPROVE, AhpErrorCode.INVALID_PARAMS)
    if params.fork is not None:
        await _fork(front, params.fork, chat)
    session = await _find_session(front, uri) if params.fork else await front.create(params)
    if params.active_client is not None:
        session.dispatch(actions.ActiveClientChanged(session=uri, active_client=params.active_client))
        session.lend()
        session.refresh()


async def _fork(front: AhpFront, source: asked.ForkSource, chat: str) -> None:
    """Copy a chat up to the end of a turn, with what was chosen for it."""
    origin = await _find_session(front, source.session)
    if not any(turn["id"] == source.turn_id for turn in items(origin.state, "turns")):
        raise RemoteError(f"There is no turn {source.turn_id!r} in {source.session}.", AhpErrorCode.SESSION_NOT_FOUND)
    await front.host.archive.copy(origin.chat, source.turn_id, chat)


async def dispose_session(caller: CommandCaller, params: asked.DisposeSession) -> None:
    await caller.front.dispose(await _find_session(caller.front, params.session))


async def list_sessions(caller: CommandCaller, params: asked.ListSessions) -> Json:  # noqa: ARG001  # its filter means nothing yet
    return {"items": await caller.front.list_summaries()}


async def fetch_turns(caller: CommandCaller, params: asked.FetchTurns) -> Json:
    """Return a page of turns that ends before the turn `before`, or at the end if there is no such turn."""
    turns = items((await _find_session(caller.front, params.session)).state, "turns")
    end = next((at for at, turn in enumerate(turns) if turn["id"] == params.before), len(turns))
    limit = TURNS if params.limit is None else min(max(params.limit, 0), MOST_TURNS)
    start = max(0, end - limit)
    return {"turns": turns[start:end], "hasMore": start > 0}


async def completions(caller: CommandCaller, params: asked.Completions) -> Json:
    session = await _find_session(caller.front, params.session)
    return {"items": await completing.list_items(caller.front.host, session.chat, params.text, params.offset)}


async def resolve_config(caller: CommandCaller, params: asked.ResolveSessionConfig) -> Json:
    _check_provider(params.provider)
    host = caller.front.host
    described = config.schema(host, await host.catalog.default())
    return {"schema": described, "values": config.complete_values(described, params.config or {})}


async def config_completions(caller: CommandCaller, params: asked.SessionConfigCompletions) -> Json:
    resolved = await resolve_config(caller, params)
    schema = record(record(resolved["schema"], "properties"), params.property)
    if not schema:
        raise RemoteError(f"There is no property {params.property!r}.", AhpErrorCode.INVALID_PARAMS)
    labels = schema.get("enumLabels") or schema["enum"]
    query = (params.query or "").casefold()
    completions = [{"value": value, "label": label} for value, label in zip(schema["enum"], labels, strict=True)]
    return {
        "items": [
            completion
            for completion in completions
            if query in completion["label"].casefold() or query in completion["value"].casefold()
        ]
    }


async def authenticate(caller: CommandCaller, params: asked.Authenticate) -> Json:  # noqa: ARG001
    raise RemoteError(f"No agent here asks for {params.resource}.", AhpErrorCode.INVALID_PARAMS)


async def create_terminal(caller: CommandCaller, params: asked.CreateTerminal) -> None:
    await caller.front.terminals.create(params, caller.client)


async def dispose_terminal(caller: CommandCaller, params: asked.DisposeTerminal) -> None:
    await caller.front.terminals.dispose(params.terminal)


async def resource_request(caller: CommandCaller, params: asked.ResourceRequest) -> Json:
    return await caller.front.resources.request(params, caller.client, caller.chats)


COMMANDS: Final[Mapping[str, AhpCommand]] = {
    "subscribe": AhpCommand(asked.Subscribe, subscribe),
    "createSession": AhpCommand(asked.CreateSession, create_session),
    "disposeSession": AhpCommand(asked.DisposeSession, dispose_session),
    "listSessions": AhpCommand(asked.ListSessions, list_sessions),
    "fetchTurns": AhpCommand(asked.FetchTurns, fetch_turns),
    "completions": AhpCommand(asked.Completions, completions, is_concurrent=True),
    "resolveSessionConfig": AhpCommand(asked.ResolveSessionConfig, resolve_config, is_concurrent=True),
    "sessionConfigCompletions": AhpCommand(asked.SessionConfigCompletions, config_completions, is_concurrent=True),
    "authenticate": AhpCommand(asked.Authenticate, authenticate),
    "createTerminal": AhpCommand(asked.CreateTerminal, create_terminal),
    "disposeTerminal": AhpCommand(asked.DisposeTerminal, dispose_terminal),
    "resourceRead": AhpCommand(
        asked.ResourceRead, lambda caller, params: caller.front.resources.read(params, caller.client)
    ),
    "resourceWrite": AhpCommand(
        asked.ResourceWrite, lambda caller, params: caller.front.resources.write(params, caller.client)
    ),
    "resourceList": AhpCommand(
        asked.ResourceList, lambda caller, params: caller.front.resources.list(params, caller.client)
    ),
    "resourceCopy": AhpCommand(
        asked.ResourceCopy, lambda caller, params: caller.front.resources.copy(params, caller.client)
    ),
    "resourceMove": AhpCommand(
        asked.ResourceMove, lambda caller, params: caller.front.resources.move(params, caller.client)
    ),
    "resourceDelete": AhpCommand(
        asked.ResourceDelete, lambda caller, params: caller.front.resources.delete(params, caller.client)
    ),
    "resourceRequest": AhpCommand(asked.ResourceRequest, resource_request, is_concurrent=True),
}
