"""Owns the messages that list the `/` commands of a chat.

It must not know what a command does: `host.commands` has the commands. `context` is its neighbour: it lists contexts.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

from jupyter_eca.protocol.base import EMPTY_IS_DEFAULT, ChatId, Model


class CommandKind(StrEnum):
    """Where a command comes from. These are the words of the newest revision of ECA; older ones write `mcp-prompt`."""

    NATIVE = "native"
    MCP_PROMPT = "mcpPrompt"
    CUSTOM_PROMPT = "customPrompt"
    SKILL = "skill"


class CommandArgument(Model):
    """An argument of a command."""

    name: str
    description: str | None = None
    required: bool = False


class ChatCommand(Model):
    """A command that the user can type."""

    name: str
    """The name without the slash."""
    description: str
    type: CommandKind = CommandKind.NATIVE
    arguments: tuple[CommandArgument, ...] = ()


class ChatQueryCommandsParams(Model):
    """Asks for the commands that match the text typed so far."""

    query: Annotated[str, EMPTY_IS_DEFAULT] = ""
    chat_id: ChatId | None = None


class ChatQueryCommandsResult(Model):
    """The commands that match."""

    commands: tuple[ChatCommand, ...]
    chat_id: ChatId | None = None
