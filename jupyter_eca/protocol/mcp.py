"""Owns the messages about tool servers: their status, what they offer, and the changes that a client can make to them.

Most tool servers are MCP servers (Model Context Protocol): programs or addresses that offer tools to the assistant.
This module must not know how a server is started: `mcp_client` does. `tool` is its neighbour: it has tools that a
client lends.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any, Literal

from pydantic import Field

from jupyter_eca.protocol.base import EMPTY_IS_DEFAULT, Model


class ServerStatus(StrEnum):
    """What a tool server is doing. `requires-auth`: the user must sign in to it first."""

    STARTING = "starting"
    RUNNING = "running"
    STOPPING = "stopping"
    STOPPED = "stopped"
    FAILED = "failed"
    DISABLED = "disabled"
    REQUIRES_AUTH = "requires-auth"


class ServerTool(Model):
    """A tool of a server."""

    name: str
    description: str
    parameters: dict[str, Any]
    """The JSON schema of the arguments."""
    disabled: bool = False
    """Whether the tool is switched off in the configuration."""


class ServerPromptArgument(Model):
    """An argument of a prompt."""

    name: str
    description: str | None = None
    required: bool = False


class ServerPrompt(Model):
    """A prompt that a server offers."""

    name: str
    description: str = ""
    arguments: tuple[ServerPromptArgument, ...] = ()


class ServerResource(Model):
    """A resource that a server offers."""

    uri: str
    name: str
    description: str = ""
    mime_type: str = ""


class ToolServerUpdatedParams(Model):
    """A tool server, as it is now. The native server (ours, named `ECA`) is always running. The fields from `command`
    on are only for MCP servers."""

    type: Literal["native", "mcp"] = "native"
    name: str = "ECA"
    status: ServerStatus = ServerStatus.RUNNING
    tools: tuple[ServerTool, ...] | None = None
    command: str | None = None
    args: tuple[str, ...] | None = None
    url: str | None = None
    disabled: bool | None = None
    """Whether the server is switched off in the configuration."""
    has_auth: bool | None = None
    """Whether the user is signed in, so that `mcp/logoutServer` would forget credentials."""
    prompts: tuple[ServerPrompt, ...] | None = None
    resources: tuple[ServerResource, ...] | None = None
    instructions: str | None = None
    """The server's own text about how to use it."""
    error: str | None = None
    """Not in ECA: why the server has failed."""


class ToolServerRemovedParams(Model):
    """A tool server was removed."""

    name: str


class McpServerParams(Model):
    """Names an MCP server."""

    name: str


class McpUpdateServerParams(Model):
    """Changes the settings of a server. An absent field stays unchanged, and so does one that is sent back as it was
    shown. In `env` and `headers`, members that are not named stay."""

    name: str
    command: str | None = None
    args: tuple[str, ...] | None = None
    env: dict[str, str] | None = None
    url: str | None = None
    headers: dict[str, str] | None = None


class McpAddServerParams(McpUpdateServerParams):
    """Adds a server to a configuration file."""

    client_id: str | None = None
    """OAuth: our client id at the server; absent when we register there."""
    client_secret: str | None = None
    """OAuth: the secret for the client id, if the server needs one."""
    oauth_port: int | None = None
    """OAuth: the port of this machine to which the browser returns; absent for any free port."""
    auth_scope: str | None = None
    """OAuth: the scopes that we ask for; absent for those that the server names."""
    disabled: bool = False
    scope: Annotated[Literal["global", "workspace"], EMPTY_IS_DEFAULT] = "global"
    """Which file is changed: the user's, or the workspace's."""
    workspace_uri: str | None = None
    """The folder of the workspace, if it has several."""


class ServerLogLine(Model):
    """A line of a server's log."""

    at: int
    """When it was written, in milliseconds since the epoch."""
    level: str
    """A log level of MCP, or `stderr` for a line that the server's program wrote there."""
    text: str
    source: str | None = None
    """The server's name for the part of it that wrote the line."""


class McpServerFiles(Model):
    """The files that define a server."""

    name: str
    files: tuple[str, ...]
    """The files, as the user knows them. The file that counts comes first."""


class McpServerFilesResult(Model):
    """The files that define all servers."""

    servers: tuple[McpServerFiles, ...]


class McpServerLogResult(Model):
    """The log of a server, the oldest line first."""

    lines: tuple[ServerLogLine, ...]


class McpError(Model):
    """Why a change cannot be made."""

    code: str
    """A word for programs, such as `invalid-name`, `already-exists` or `not-found`."""
    message: str
    """The same in words, for the user."""
    data: dict[str, Any] | None = Field(default=None)
    """Further details for programs. We send none."""


class McpAddServerResult(Model):
    """The new server, or an error."""

    server: ToolServerUpdatedParams | None = None
    error: McpError | None = None


class McpRemoveServerResult(Model):
    """Whether the server was removed, or an error."""

    name: str | None = None
    removed: bool = False
    error: McpError | None = None
