"""The `/` commands of a chat, as a client lists them."""

from __future__ import annotations

from enum import StrEnum
from typing import Any

from pydantic import field_validator

from jupyter_eca.protocol.base import ChatId, Model


class CommandKind(StrEnum):
    """The newest spelling; the older dialects write `mcp-prompt`."""

    NATIVE = "native"
    MCP_PROMPT = "mcpPrompt"
    CUSTOM_PROMPT = "customPrompt"
    SKILL = "skill"


class CommandArgument(Model):
    name: str
    description: str | None = None
    required: bool = False


class ChatCommand(Model):
    name: str
    description: str
    type: CommandKind = CommandKind.NATIVE
    arguments: tuple[CommandArgument, ...] = ()


class ChatQueryCommandsParams(Model):
    query: str = ""
    chat_id: ChatId | None = None

    @field_validator("query", mode="before")
    @classmethod
    def _no_query(cls, value: Any) -> Any:
        return value or ""


class ChatQueryCommandsResult(Model):
    commands: tuple[ChatCommand, ...]
    chat_id: ChatId | None = None
