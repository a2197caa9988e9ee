"""The wire of the MCP chat front (REST and server-sent events), spelled as its contract spells it."""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field

# What may stand in a path without being quoted, and is never taken for a step up in it.
CHAT_ID: Final = "^[A-Za-z0-9][A-Za-z0-9._~:-]{0,127}$"

ChatName = Annotated[str, Field(pattern=CHAT_ID)]


class Wire(BaseModel):
    """snake_case; a field of another type is refused, an unknown one is not (clients send `conversation_id`)."""

    model_config = ConfigDict(frozen=True, extra="ignore", strict=True)


class Tool(Wire):
    name: str
    description: str


class Server(Wire):
    """`path` is the script, program or address behind it; `tools` are there when it runs."""

    id: str
    name: str
    path: str
    description: str | None = None
    tools: tuple[Tool, ...] | None = None


class Connected(Wire):
    success: Literal[True] = True
    server_id: str
    server_name: str
    tools: tuple[Tool, ...]


class ConnectionStatus(Wire):
    """`server_id` is null, not absent, when nothing is connected."""

    connected: bool
    server_id: str | None
    tools: tuple[Tool, ...]


class Success(Wire):
    success: Literal[True] = True


class Problem(Wire):
    """The body of every answer that is an error."""

    detail: str


class ChatRequest(Wire):
    """`chat_id` is beyond the contract: without it, everybody is in the one conversation that connecting begins."""

    message: str = Field(min_length=1)
    chat_id: ChatName | None = None


class CalledTool(Wire):
    name: str
    args: dict[str, Any]
    result: str | None = None


class ChatResponse(Wire):
    response: str
    tool_calls: tuple[CalledTool, ...]


class ToolStart(Wire):
    type: Literal["tool_start"] = "tool_start"
    id: str
    name: str
    args: dict[str, Any]


class ToolEnd(Wire):
    type: Literal["tool_end"] = "tool_end"
    id: str
    name: str


class Text(Wire):
    type: Literal["text"] = "text"
    content: str


StreamEvent = ToolStart | ToolEnd | Text


class Chat(Wire):
    """A conversation of this front. `updated` is milliseconds since the epoch."""

    id: str
    title: str | None
    status: str
    updated: int


class Health(Wire):
    status: Literal["ok"] = "ok"
    version: str
