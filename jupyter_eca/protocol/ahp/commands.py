"""Owns the params and results of commands (specification, section 5), and the error codes (section 11).

What a command does is in `fronts/ahp/commands.py`.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Any, Literal

from pydantic import Field, StrictBool, StrictInt, field_validator

from jupyter_eca.protocol.ahp.base import Ahp, Json, Uri
from jupyter_eca.protocol.ahp.content import ModelSelection
from jupyter_eca.protocol.ahp.state import ActiveClient, TerminalClaim


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


class Initialize(Ahp):
    protocol_versions: tuple[str, ...]
    client_id: str = Field(min_length=1, max_length=500)
    initial_subscriptions: tuple[Uri, ...] = ()
    locale: str | None = None


class Reconnect(Ahp):
    client_id: str = Field(min_length=1, max_length=500)
    last_seen_server_seq: StrictInt
    subscriptions: tuple[Uri, ...]


class Subscribe(Ahp):
    resource: Uri


class Unsubscribe(Subscribe):
    pass


class DispatchAction(Ahp):
    client_seq: StrictInt
    action: Json


class ForkSource(Ahp):
    session: Uri
    turn_id: str


class CreateSession(Ahp):
    session: Uri
    provider: str | None = None
    model: ModelSelection | None = None
    working_directory: Uri | None = None
    fork: ForkSource | None = None
    config: Json | None = None
    active_client: ActiveClient | None = None

    @field_validator("model", mode="before")
    @classmethod
    def _bare(cls, value: Any) -> Any:
        """Accept a model's bare name, which older examples have."""
        return {"id": value} if isinstance(value, str) else value


class DisposeSession(Ahp):
    session: Uri


class ListSessions(Ahp):
    filter: Json | None = None


class FetchTurns(Ahp):
    session: Uri
    before: str | None = None
    limit: StrictInt | None = None


class Completions(Ahp):
    kind: Literal["userMessage"]
    session: Uri
    text: str
    offset: StrictInt


class ResolveSessionConfig(Ahp):
    provider: str | None = None
    working_directory: Uri | None = None
    config: Json | None = None


class SessionConfigCompletions(ResolveSessionConfig):
    property: str
    query: str | None = None


class Authenticate(Ahp):
    resource: str
    token: str


class CreateTerminal(Ahp):
    terminal: Uri = Field(min_length=1)
    claim: TerminalClaim
    name: str | None = None
    cwd: Uri | None = None
    cols: StrictInt | None = Field(default=None, gt=0, le=10_000)
    rows: StrictInt | None = Field(default=None, gt=0, le=10_000)


class DisposeTerminal(Ahp):
    terminal: Uri


Encoding = Literal["base64", "utf-8"]


class ResourceRead(Ahp):
    uri: Uri
    encoding: Encoding | None = None


class ResourceWrite(Ahp):
    uri: Uri
    data: str
    encoding: Encoding
    content_type: str | None = None
    create_only: StrictBool = False


class ResourceContent(Ahp):
    """What a client answers when it is asked to read a resource of its own."""

    data: str
    encoding: Encoding
    content_type: str | None = None


class DirectoryEntry(Ahp):
    name: str
    type: Literal["file", "directory"]


class ResourceListing(Ahp):
    """What a client answers when it is asked to list a folder of its own."""

    entries: tuple[DirectoryEntry, ...]


class ResourceList(Ahp):
    uri: Uri


class ResourceCopy(Ahp):
    source: Uri
    destination: Uri
    fail_if_exists: StrictBool = False


class ResourceMove(ResourceCopy):
    pass


class ResourceDelete(Ahp):
    uri: Uri
    recursive: StrictBool = False


class ResourceRequest(Ahp):
    uri: Uri
    read: StrictBool | None = None
    write: StrictBool | None = None
