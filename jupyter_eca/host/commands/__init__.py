"""The `/` commands of a chat: `run` a message that is one, `offered` to list them. Native ones are found in this room
(`COMMANDS` of each module), the others are the user's files and the prompts of tool servers."""

from jupyter_eca.host.chat.ports import CommandAnswer, CommandReplacement, Compaction
from jupyter_eca.host.commands.dispatch import answers_here, list_commands, run

__all__ = ["CommandAnswer", "CommandReplacement", "Compaction", "answers_here", "list_commands", "run"]
