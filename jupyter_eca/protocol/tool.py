"""Owns the messages about tools that a client lends to the server, such as Python functions in a kernel.

The client runs a lent tool itself. In the chats of this client, the model can call it like any other tool. The user's
approval rules apply; in them, the name of the tool's server is `python`. The messages are our additions to ECA, the
protocol that our clients speak. `mcp` is the neighbour: it has tool servers.
"""

from __future__ import annotations

from typing import Any

from pydantic import Field

from jupyter_eca.protocol.base import ChatId, Model


class LentTool(Model):
    """A tool that the client runs."""

    name: str = Field(pattern=r"^[A-Za-z0-9_-]{1,64}$")
    description: str = ""
    parameters: dict[str, Any]
    """The JSON schema of the arguments, which is that of an object."""
    reads: bool = False
    """Whether the tool changes nothing. Such a tool is available in plan mode too."""


class ToolLendParams(Model):
    """Replaces the tools that the client has lent before. Running calls are not stopped."""

    tools: tuple[LentTool, ...]


class ToolCallParams(Model):
    """A call that the client must run."""

    chat_id: ChatId
    tool_call_id: str
    name: str
    arguments: dict[str, Any]


class ToolCallResult(Model):
    """The result of a call."""

    text: str
    """What the model reads: the output, or why the call failed."""
    error: bool = False
    """Whether the call failed."""


class ToolSwitchParams(Model):
    """Switches a tool on or off for the model. `server` and `tool` are the names in `tool/serverUpdated`."""

    server: str
    tool: str
    on: bool
