"""Owns the models of the REST front: an HTTP API for chats, which streams answers as server-sent events.

The API follows a given contract, "MCP chat", and the fields are spelled as the contract spells them. This module must
not know the host: `fronts.rest` serves these models. `methods` is its neighbour: it has the models of the protocol ECA.
"""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field

# The id of a chat, which is part of a URL's path. It has only characters that need no quoting, and it can never be `.`
# or `..`.
CHAT_ID_PATTERN: Final = "^[A-Za-z0-9][A-Za-z0-9._~:-]{0,127}$"

RestChatId = Annotated[str, Field(pattern=CHAT_ID_PATTERN)]


class RestModel(BaseModel):
    """The base of these models. They use snake_case. A value of the wrong type is refused; an unknown field is ignored,
    because clients send `conversation_id`."""

    model_config = ConfigDict(frozen=True, extra="ignore", strict=True)


class RestTool(RestModel):
    """A tool of a server."""

    name: str
    description: str


class Server(RestModel):
    """An MCP server."""

    id: str
    name: str
    path: str
    """The script, program or URL of the server."""
    description: str | None = None
    tools: tuple[RestTool, ...] | None = None
    """The tools of a running server; absent when it does not run."""


class Connected(RestModel):
    """A server was connected."""

    success: Literal[True] = True
    server_id: str
    server_name: str
    tools: tuple[RestTool, ...]


class ConnectionStatus(RestModel):
    """Which server is connected."""

    connected: bool
    server_id: str | None
    """Null, not absent, when no server is connected."""
    tools: tuple[RestTool, ...]


class Success(RestModel):
    """The request succeeded, and there is nothing to return."""

    success: Literal[True] = True


class RestProblem(RestModel):
    """The body of every error response."""

    detail: str
    """What went wrong, in a sentence."""


class ChatRequest(RestModel):
    """A prompt of the user."""

    message: str = Field(min_length=1)
    chat_id: RestChatId | None = None
    """An addition to the contract. Without it, all clients share the conversation that begins when a server is
    connected.
    """
    agent: str | None = Field(default=None, min_length=1)
    """An addition to the contract: the agent that answers, for example `plan` or an outside agent. Without it, the
    agent of the chat answers."""


class CalledTool(RestModel):
    """A tool call of an answer."""

    name: str
    args: dict[str, Any]
    result: str | None = None
    """The output of the call as text."""


class ChatResponse(RestModel):
    """The answer to a prompt."""

    response: str
    tool_calls: tuple[CalledTool, ...]


class ToolStart(RestModel):
    """A tool call has started."""

    type: Literal["tool_start"] = "tool_start"
    id: str
    name: str
    args: dict[str, Any]


class ToolEnd(RestModel):
    """A tool call has ended."""

    type: Literal["tool_end"] = "tool_end"
    id: str
    name: str


class Text(RestModel):
    """A piece of the answer."""

    type: Literal["text"] = "text"
    content: str


StreamEvent = ToolStart | ToolEnd | Text


class RestChat(RestModel):
    """A conversation of this front."""

    id: str
    title: str | None
    """Null before the conversation has a title."""
    status: str
    """`running`, `idle`, `stopping`, or `login` when the user must sign in to a provider first."""
    updated: int
    """When it was changed last, in milliseconds since the epoch."""


class Health(RestModel):
    """The server is running."""

    status: Literal["ok"] = "ok"
    version: str
