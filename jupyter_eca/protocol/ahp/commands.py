"""Owns the params and some results of the commands of the Agent Host Protocol (specification, sections 5 and 11).

In this protocol, a command is a request that has an answer; an action changes a shared state and has none. This module
must not know what a command does: its neighbour `fronts/ahp/commands.py` does. The fields are those of the
specification.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Any, Literal

from pydantic import Field, StrictBool, StrictInt, field_validator

from jupyter_eca.protocol.ahp.base import AhpModel, Json, Uri
from jupyter_eca.protocol.ahp.content import ModelSelection
from jupyter_eca.protocol.ahp.state import ActiveClient, TerminalClaim
from jupyter_eca.protocol.content import MAX_TITLE


class AhpErrorCode(IntEnum):
    """The protocol's own error codes, and those of JSON-RPC that it uses."""

    INVALID_REQUEST = -32600
    METHOD_NOT_FOUND = -32601
    INVALID_PARAMS = -32602
    INTERNAL = -32603
    SESSION_NOT_FOUND = -32001
    PROVIDER_NOT_FOUND = -32002
    SESSION_ALREADY_EXISTS = -32003
    TURN_IN_PROGRESS = -32004
    UNSUPPORTED_PROTOCOL_VERSION = -32005
    CONTENT_NOT_FOUND = -32006
    AUTH_REQUIRED = -32007
    NOT_FOUND = -32008
    PERMISSION_DENIED = -32009
    ALREADY_EXISTS = -32010


class Initialize(AhpModel):
    """Params of `initialize`, a client's first command."""

    protocol_versions: tuple[str, ...]
    """The versions that the client speaks, the best one first."""
    client_id: str = Field(min_length=1, max_length=500)
    """An id that the client makes and keeps. After a lost connection, `reconnect` repeats it."""
    initial_subscriptions: tuple[Uri, ...] = ()
    """The URIs of the states whose actions the client wants."""
    locale: str | None = None
    """The language of the user, as a BCP 47 tag such as `de-AT`."""


class Reconnect(AhpModel):
    """Params of `reconnect`: a client continues where its last connection ended."""

    client_id: str = Field(min_length=1, max_length=500)
    last_seen_server_seq: StrictInt
    """The number of the last action that the client has received."""
    subscriptions: tuple[Uri, ...]
    """The URIs of the states whose actions the client wants."""


class Subscribe(AhpModel):
    """Params of `subscribe`: the client wants the actions of a state."""

    resource: Uri
    """The URI of the state."""


class Unsubscribe(Subscribe):
    """Params of `unsubscribe`."""


class DispatchAction(AhpModel):
    """Params of `dispatchAction`: the client sends an action."""

    client_seq: StrictInt
    """The client's number for the action, which the server repeats."""
    action: Json
    """The action, which `actions.parse` reads."""


class ForkSource(AhpModel):
    """The session and the turn from which a new session is copied."""

    session: Uri
    turn_id: str
    """The last turn that is copied."""


class CreateSession(AhpModel):
    """Params of `createSession`. The client makes the URI of the session."""

    session: Uri
    provider: str | None = None
    """The kind of agent; absent for the server's default."""
    model: ModelSelection | None = None
    working_directory: Uri | None = None
    """The URI of the folder in which the session works."""
    fork: ForkSource | None = None
    """The source of which the new session begins as a copy; absent for an empty session."""
    config: Json | None = None
    """The values of the session's settings, by name; see `ResolveSessionConfig`."""
    active_client: ActiveClient | None = None
    """The sender, if it lends its tools to the session from the start."""

    @field_validator("model", mode="before")
    @classmethod
    def _accept_name(cls, value: Any) -> Any:
        """Accept the name of a model in place of an object, as in older examples."""
        return {"id": value} if isinstance(value, str) else value


class DisposeSession(AhpModel):
    """Params of `disposeSession`: delete a session."""

    session: Uri


class ListSessions(AhpModel):
    """Params of `listSessions`."""

    filter: Json | None = None
    """Version 0.1.0 does not define its content."""


class FetchTurns(AhpModel):
    """Params of `fetchTurns`: read turns of a session, the newest ones before `before`."""

    session: Uri
    before: str | None = None
    """The id of a turn. Absent: the newest turns of the session."""
    limit: StrictInt | None = None
    """How many turns to return."""


class Completions(AhpModel):
    """Params of `completions`: complete a message at the cursor."""

    kind: Literal["userMessage"]
    session: Uri
    text: str
    offset: StrictInt
    """The position of the cursor in the text, in UTF-16 code units."""


class ResolveSessionConfig(AhpModel):
    """Params of `resolveSessionConfig`: read the schema and the values of the settings of a new session."""

    provider: str | None = None
    working_directory: Uri | None = None
    config: Json | None = None
    """The values that the user has chosen so far, by the name of the setting."""


class SessionConfigCompletions(ResolveSessionConfig):
    """Params of `sessionConfigCompletions`: complete the value of a setting."""

    property: str
    """The name of the setting."""
    query: str | None = None
    """The text typed so far."""


class Authenticate(AhpModel):
    """Params of `authenticate`: the client gives the server a token for a protected resource."""

    resource: str
    """The address of the protected resource, as the agent names it."""
    token: str


class CreateTerminal(AhpModel):
    """Params of `createTerminal`. The client makes the URI of the terminal."""

    terminal: Uri = Field(min_length=1)
    claim: TerminalClaim
    """To whom the terminal belongs."""
    name: str | None = Field(default=None, max_length=MAX_TITLE)
    """The title of the terminal."""
    cwd: Uri | None = None
    """The URI of the folder in which the shell starts."""
    cols: StrictInt | None = Field(default=None, gt=0, le=10_000)
    """The width in characters."""
    rows: StrictInt | None = Field(default=None, gt=0, le=10_000)
    """The height in lines."""


class DisposeTerminal(AhpModel):
    """Params of `disposeTerminal`: end a terminal."""

    terminal: Uri


Encoding = Literal["base64", "utf-8"]
"""How the field `data` has the content of a resource: as bytes in base64, or as text."""


class ResourceRead(AhpModel):
    """Params of `resourceRead`."""

    uri: Uri
    encoding: Encoding | None = None
    """How the client wants to get the content; absent when the server may choose."""


class ResourceWrite(AhpModel):
    """Params of `resourceWrite`."""

    uri: Uri
    data: str
    encoding: Encoding
    content_type: str | None = None
    create_only: StrictBool = False
    """Whether the command fails when the resource exists already."""


class ResourceContent(AhpModel):
    """The result of `resourceRead`, when the server reads a resource of a client."""

    data: str
    encoding: Encoding
    content_type: str | None = None


class DirectoryEntry(AhpModel):
    """A file or a folder in a folder."""

    name: str
    type: Literal["file", "directory"]


class ResourceListing(AhpModel):
    """The result of `resourceList`, when the server lists a folder of a client."""

    entries: tuple[DirectoryEntry, ...]


class ResourceList(AhpModel):
    """Params of `resourceList`."""

    uri: Uri


class ResourceCopy(AhpModel):
    """Params of `resourceCopy`."""

    source: Uri
    destination: Uri
    fail_if_exists: StrictBool = False
    """Whether the command fails when the destination exists. If not, the destination is replaced."""


class ResourceMove(ResourceCopy):
    """Params of `resourceMove`."""


class ResourceDelete(AhpModel):
    """Params of `resourceDelete`."""

    uri: Uri
    recursive: StrictBool = False
    """Whether a folder that is not empty is deleted with everything in it."""


class ResourceRequest(AhpModel):
    """Params of `resourceRequest`: ask for the permission to read or write a resource."""

    uri: Uri
    read: StrictBool | None = None
    write: StrictBool | None = None
