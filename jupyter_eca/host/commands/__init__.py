"""The `/` commands of a chat: `run` a message that is one, `list_commands` for those there are.

Native commands are functions, found by the loader (`COMMANDS` of each module). The others are the user's Markdown
files, skills, and the prompts of MCP servers.
"""

from jupyter_eca.host.chat.ports import CommandAnswer, CommandReplacement, Compaction
from jupyter_eca.host.commands.base import CommandPlace, NativeCommand
from jupyter_eca.host.commands.dispatch import answers_here, list_commands, run

__all__ = [
    "CommandAnswer",
    "CommandPlace",
    "CommandReplacement",
    "Compaction",
    "NativeCommand",
    "answers_here",
    "list_commands",
    "run",
]
