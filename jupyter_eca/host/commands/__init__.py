"""Owns the `/` commands of a chat: `run` runs a message that is a command, and `list_commands` lists all commands.

Native commands are functions, which the loader finds (`COMMANDS` of each module). The other commands are Markdown files
of the user, skills, and prompts of MCP servers. It must not parse a command: `engine.text.slash_commands` does.
"""

from jupyter_eca.host.chat.ports import CommandAnswer, CommandReplacement, Compaction
from jupyter_eca.host.commands.base import CommandPlace, NativeCommand
from jupyter_eca.host.commands.dispatch import is_answered_without_model, list_commands, run

__all__ = [
    "CommandAnswer",
    "CommandPlace",
    "CommandReplacement",
    "Compaction",
    "NativeCommand",
    "is_answered_without_model",
    "list_commands",
    "run",
]
