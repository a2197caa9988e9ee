"""Finds the command that a message calls, and runs it. A command is, in this order, a native command (a Python
function), a Markdown file of the user, a skill or a prompt of an MCP server. The first with the name is run.

It must not know any single command: the loader finds the native commands, and the neighbours of this module find the
others.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final

from jupyter_eca import redaction
from jupyter_eca.engine.text.slash_commands import expand_template, guess_command, parse_command
from jupyter_eca.errors import EcaError
from jupyter_eca.host.chat.ports import CommandAnswer, CommandReplacement, CommandResult
from jupyter_eca.host.commands import markdown_commands, mcp_prompts, skills
from jupyter_eca.host.commands.base import CommandPlace, check_commands
from jupyter_eca.plugins import loader
from jupyter_eca.protocol.command import ChatCommand, CommandKind

if TYPE_CHECKING:
    from collections.abc import Mapping

    from jupyter_eca.engine.text.slash_commands import CommandCall
    from jupyter_eca.host.chat.ports import ChatFilter
    from jupyter_eca.host.commands.base import NativeCommand
    from jupyter_eca.host.host import Host
    from jupyter_eca.workspace.ports import Kernel


# The order of the native commands in `/help` and in the completion. It begins with those that a new user needs first.
# Commands that are not named here follow in alphabetical order. `/help` is last.
COMMAND_ORDER: Final = (
    "init",
    "login",
    "model",
    "costs",
    "context",
    "compact",
    "go",
    "notebook",
    "approvals",
    "untrust",
    "resume",
    "sessions",
    "diff",
    "undo",
    "rules",
    "sync-system-prompt",
    "subagents",
    "config",
    "hooks",
    "doctor",
    "prompt-show",
    "export",
    "skills",
    "skill-create",
)


@cache
def find_native() -> Mapping[str, NativeCommand]:
    """Return the native commands by their names, in the order of `COMMAND_ORDER`."""
    plugs = loader.find("commands", "COMMANDS", check_commands)
    found = {name: command for plug in plugs.values() for name, command in plug.items()}
    return {name: found[name] for name in sorted(found, key=_get_sort_key)}


def _get_sort_key(name: str) -> tuple[bool, int, str]:
    """Return the value by which a command is sorted, see `COMMAND_ORDER`."""
    place = COMMAND_ORDER.index(name) if name in COMMAND_ORDER else len(COMMAND_ORDER)
    return name == "help", place, name


def list_native() -> tuple[ChatCommand, ...]:
    """Return the native commands as clients list them."""
    return tuple(command.describe(name) for name, command in find_native().items())


async def list_commands(host: Host, chat: str = "") -> tuple[ChatCommand, ...]:
    """Return all commands. If several have the same name, only the one that would run is returned.

    Outside agents have commands too, and we pass messages with them on to the agent. `chat` is the id of a chat whose
    outside agent is meant. Without it, the commands of all outside agents that run are returned.
    """
    custom = [command.as_chat_command for command in (await _list_custom(host)).values()]
    outside = [
        ChatCommand(name=name, description=text, type=CommandKind.CUSTOM_PROMPT)
        for name, text in host.outside_agents.list_commands(chat).items()
    ]
    by_name: dict[str, ChatCommand] = {}
    skill_commands, prompts = await skills.list_commands(host), mcp_prompts.list_commands(host)
    for command in (*list_native(), *custom, *skill_commands, *prompts, *outside):
        by_name.setdefault(command.name, command)
    return tuple(by_name.values())


async def _list_custom(host: Host) -> Mapping[str, markdown_commands.CustomCommand]:
    """Return the commands that are the user's Markdown files, by name."""
    return await markdown_commands.find(host.workspace.files, host.config, host.subscribers.warn)


async def is_answered_without_model(host: Host, message: str) -> bool:
    """Return whether a message is a command that is answered without a model: most native commands are, and names that
    are probably typing errors. See `CommandRunner`."""
    call = parse_command(message)
    if call is None:
        return False
    if command := find_native().get(call.name.lower()):
        return not command.may_ask_model
    names = [command.name for command in await list_commands(host)]
    return call.name not in names and await _guess_command(call, names) != ""


async def run(
    host: Host, chat: str, message: str, kernel: Kernel | None = None, may_see: ChatFilter | None = None
) -> CommandResult | None:
    """Run a message that is a command, or the answer to a question of a command. Return None for any other message.

    `chat` is the id of the chat of the message, and `kernel` is the kernel of the cell that has the message; None for a
    message from elsewhere. `may_see` decides which chats the client may know; without it, the client may know only this
    chat.
    """
    live = host.chats.get_live(chat)
    if live is not None and live.dialogue is not None and live.dialogue.accepts(message):
        try:
            return CommandAnswer(await live.dialogue.answer(message))
        except EcaError as error:
            return CommandAnswer(redaction.redact(str(error)))
    call = parse_command(message)
    if call is None:
        return None
    place = CommandPlace(host, chat, kernel, may_see or (lambda other: other == chat))
    try:
        return await _run(place, call)
    except EcaError as error:
        return CommandAnswer(redaction.redact(str(error)))


async def _run(place: CommandPlace, call: CommandCall) -> CommandResult | None:
    """Run the first command with the name of the call. If no command has this name, return an answer if the name looks
    like a typing error, and None otherwise."""
    if command := find_native().get(call.name.lower()):
        result = await command.run(place, call)
        # The function may be a plug's, whose types nobody has checked.
        if not isinstance(result, CommandResult):  # pyright: ignore[reportUnnecessaryIsInstance]
            wanted = "a CommandAnswer or a CommandReplacement"
            raise TypeError(f"the command must return {wanted}, and returned {type(result).__name__}")
        return result
    custom = await _list_custom(place.host)
    if file := custom.get(call.name) or custom.get(call.name.lower()):
        return CommandReplacement(expand_template(file.template, call))
    if skill := await skills.expand_skill(place.host, call):
        return skill
    if ":" in call.name:
        return await mcp_prompts.expand_prompt(place.host, call, place.chat)
    return await _answer_unknown(place.host, call)


async def _answer_unknown(host: Host, call: CommandCall) -> CommandAnswer | None:
    """Answer a command that does not exist, if its name looks like a typing error. Otherwise return None, and the model
    gets the message: it may begin with the name of a folder, such as `/tmp` or `/content`, and not with a command."""
    guess = await _guess_command(call, [command.name for command in await list_commands(host)])
    if not guess:
        return None
    return CommandAnswer(f"There is no command `/{call.name}`. Did you mean `/{guess}`? `/help` lists them all.")


async def _guess_command(call: CommandCall, names: list[str]) -> str:
    """Return the command that the user probably meant; "" if no command has a similar name, or if the name is a
    path."""
    # A name in the list is correct. It is here only because an outside agent has this command.
    guess = "" if ":" in call.name or call.name in names else guess_command(call.name, names)
    return "" if not guess or await asyncio.to_thread(Path("/", call.name).exists) else guess


@dataclass(frozen=True, slots=True)
class HostCommands:
    """Implements `host.chat.ports.CommandRunner` for one host."""

    host: Host
    """The host whose chats the messages are in."""

    async def is_answered_without_model(self, message: str) -> bool:
        """See the function `is_answered_without_model`."""
        return await is_answered_without_model(self.host, message)

    async def run(
        self, chat: str, message: str, kernel: Kernel | None = None, may_see: ChatFilter | None = None
    ) -> CommandResult | None:
        """See the function `run`."""
        return await run(self.host, chat, message, kernel, may_see)


# The loader finds this for the host. The host cannot import it, because this module imports the host.
RUNNER: Final = HostCommands
