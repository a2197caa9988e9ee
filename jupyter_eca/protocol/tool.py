"""Tools that a client lends: ours. The model of a chat that the client asks in calls them like any other, under the
user's approval rules (server `python`); the client carries them out."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from jupyter_eca.protocol.base import ChatId, Model


class LentTool(Model):
    """`parameters` is a JSON schema of an object. One that `reads` changes nothing, so plan mode has it too."""

    name: str = Field(pattern=r"^[A-Za-z0-9_-]{1,64}$")
    description: str = ""
    parameters: dict[str, Any]
    reads: bool = False


class ToolLendParams(Model):
    """All that the client has from now on: these in place of those before. A call that runs goes on."""

    tools: tuple[LentTool, ...]


class ToolCallParams(Model):
    chat_id: ChatId
    tool_call_id: str
    name: str
    arguments: dict[str, Any]


class ToolCallResult(Model):
    """`text` is what the model reads; with `error` why it failed."""

    text: str
    error: bool = False


class ToolSwitchParams(Model):
    """Whether the model has a tool at all: `server` and `tool` as in `tool/serverUpdated`."""

    server: str
    tool: str
    on: bool
