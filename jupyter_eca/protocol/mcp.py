"""Tool servers: what they offer, how they are, and what a client may do to those that speak MCP."""

from __future__ import annotations

from enum import StrEnum
from typing import Any, Literal

from pydantic import Field, field_validator

from jupyter_eca.protocol.base import Model


class ServerStatus(StrEnum):
    STARTING = "starting"
    RUNNING = "running"
    STOPPING = "stopping"
    STOPPED = "stopped"
    FAILED = "failed"
    DISABLED = "disabled"
    REQUIRES_AUTH = "requires-auth"


class ServerTool(Model):
    """`parameters` is a JSON schema."""

    name: str
    description: str
    parameters: dict[str, Any]
    disabled: bool = False


class ServerPromptArgument(Model):
    name: str
    description: str | None = None
    required: bool = False


class ServerPrompt(Model):
    name: str
    description: str = ""
    arguments: tuple[ServerPromptArgument, ...] = ()


class ServerResource(Model):
    uri: str
    name: str
    description: str = ""
    mime_type: str = ""


class ToolServerUpdatedParams(Model):
    """A native server (ours, named `ECA`) is always running; the fields from `command` on are an MCP server's.

    `has_auth`: there are credentials that `mcp/logoutServer` would forget. `error` is ours: why it failed.
    """

    type: Literal["native", "mcp"] = "native"
    name: str = "ECA"
    status: ServerStatus = ServerStatus.RUNNING
    tools: tuple[ServerTool, ...] | None = None
    command: str | None = None
    args: tuple[str, ...] | None = None
    url: str | None = None
    disabled: bool | None = None
    has_auth: bool | None = None
    prompts: tuple[ServerPrompt, ...] | None = None
    resources: tuple[ServerResource, ...] | None = None
    instructions: str | None = None
    error: str | None = None


class ToolServerRemovedParams(Model):
    name: str


class McpServerParams(Model):
    """Which server is meant."""

    name: str


class McpUpdateServerParams(Model):
    """An absent field stays as it is."""

    name: str
    command: str | None = None
    args: tuple[str, ...] | None = None
    env: dict[str, str] | None = None
    url: str | None = None
    headers: dict[str, str] | None = None


class McpAddServerParams(McpUpdateServerParams):
    client_id: str | None = None
    client_secret: str | None = None
    oauth_port: int | None = None
    auth_scope: str | None = None
    disabled: bool = False
    scope: Literal["global", "workspace"] = "global"
    workspace_uri: str | None = None

    @field_validator("scope", mode="before")
    @classmethod
    def _no_scope(cls, value: Any) -> Any:
        return value or "global"


class ServerLogLine(Model):
    """`at` in milliseconds since the epoch. `level` is one of the protocol's, or `stderr` for what its program wrote
    there; `source` what the server calls the part of it that speaks."""

    at: int
    level: str
    text: str
    source: str | None = None


class McpServerLogResult(Model):
    """The oldest line first."""

    lines: tuple[ServerLogLine, ...]


class McpError(Model):
    code: str
    message: str
    data: dict[str, Any] | None = Field(default=None)


class McpAddServerResult(Model):
    """One of both."""

    server: ToolServerUpdatedParams | None = None
    error: McpError | None = None


class McpRemoveServerResult(Model):
    name: str | None = None
    removed: bool = False
    error: McpError | None = None
