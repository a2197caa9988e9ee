"""From a message to the command that it is: native ones first, then those that are files, skills, the tool servers'."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final

from jupyter_eca import redaction
from jupyter_eca.engine.text.slash_commands import expand, guess_command, parse
from jupyter_eca.errors import EcaError
from jupyter_eca.host.chat.ports import CommandAnswer, CommandReplacement
from jupyter_eca.host.commands import markdown_commands, mcp_prompts, skills
from jupyter_eca.host.commands.base import CommandPlace
from jupyter_eca.plugins import loader

if TYPE_CHECKING:
    from collections.abc import Mapping

    from jupyter_eca.engine.text.slash_commands import CommandCall
    from jupyter_eca.host.chat.ports import Outcome, Sees
    from jupyter_eca.host.commands.base import NativeCommand
    from jupyter_eca.host.host import Host
    from jupyter_eca.protocol.command import ChatCommand
    from jupyter_eca.workspace.ports import Kernel


# The order of `/help` and of completion: what a newcomer needs first comes first. A command that is not named here
# follows these, by its name. `/help` is last.
ORDER: Final = (
    "init",
    "login",
    "model",
    "costs",
    "context",
    "compact",
    "go",
    "approvals",
    "untrust",
    "resume",
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
def native() -> Mapping[str, NativeCommand]:
    """Return the commands that are functions, in the order in which they are listed."""
    found = {name: command for plug in loader.find("commands", "COMMANDS").values() for name, command in plug.items()}
    return {name: found[name] for name in sorted(found, key=_sort_key)}


def _sort_key(name: str) -> tuple[bool, int, str]:
    return name == "help", ORDER.index(name) if name in ORDER else len(ORDER), name


def list_native() -> tuple[ChatCommand, ...]:
    """Return the native commands as clients list them."""
    return tuple(command.describe(name) for name, command in native().items())


async def list_commands(host: Host) -> tuple[ChatCommand, ...]:
    """Every command there is; of two with the same name the one that would run."""
    written = [one.as_chat_command for one in (await _custom(host)).values()]
    every = (*list_native(), *written, *await skills.list_commands(host), *mcp_prompts.list_commands(host))
    return tuple({one.name: one for one in reversed(every)}[name] for name in dict.fromkeys(one.name for one in every))


async def _custom(host: Host) -> Mapping[str, markdown_commands.CustomCommand]:
    return await markdown_commands.find(host.workspace.files, host.config, host.subscribers.warn)


async def answers_here(host: Host, message: str) -> bool:
    """See `CommandRunner.answers_here`."""
    called = parse(message)
    if called is None:
        return False
    if command := native().get(called.name):
        return not command.may_ask_model
    names = [one.name for one in await list_commands(host)]
    return called.name not in names and await _slip(called, names) != ""


async def run(
    host: Host, chat: str, message: str, kernel: Kernel | None = None, sees: Sees | None = None
) -> Outcome | None:
    """None for a message that is no command. `sees` tells which chats the asker may know of: by default this one."""
    live = host.chats.live(chat)
    if live is not None and live.dialogue is not None and live.dialogue.accepts(message):
        try:
            return CommandAnswer(await live.dialogue.answer(message))
        except EcaError as error:
            return CommandAnswer(redaction.redact(str(error)))
    called = parse(message)
    if called is None:
        return None
    place = CommandPlace(host, chat, kernel, sees or (lambda other: other == chat))
    try:
        return await _run(place, called)
    except EcaError as error:
        return CommandAnswer(redaction.redact(str(error)))


async def _run(place: CommandPlace, called: CommandCall) -> Outcome | None:
    if command := native().get(called.name):
        return await command.run(place, called)
    written = await _custom(place.host)
    if file := written.get(called.name) or written.get(called.name.lower()):
        return CommandReplacement(expand(file.template, called))
    if skill := await skills.expand_skill(place.host, called):
        return skill
    if ":" in called.name:
        return await mcp_prompts.expand_prompt(place.host, called, place.chat)
    return await _answer_unknown(place.host, called)


async def _answer_unknown(host: Host, called: CommandCall) -> CommandAnswer | None:
    """A slip of the finger is told; `/tmp` and `/content` are folders, and words for the model."""
    wanted = await _slip(called, [one.name for one in await list_commands(host)])
    if not wanted:
        return None
    return CommandAnswer(f"There is no command `/{called.name}`. Did you mean `/{wanted}`? `/help` lists them all.")


async def _slip(called: CommandCall, names: list[str]) -> str:
    """The command that was meant, "" for the name of something else."""
    wanted = "" if ":" in called.name else guess_command(called.name, names)
    return "" if not wanted or await asyncio.to_thread(Path("/", called.name).exists) else wanted


@dataclass(frozen=True, slots=True)
class HostCommands:
    """`host.chat.ports.CommandRunner` of one host."""

    host: Host

    async def answers_here(self, message: str) -> bool:
        return await answers_here(self.host, message)

    async def run(
        self, chat: str, message: str, kernel: Kernel | None = None, sees: Sees | None = None
    ) -> Outcome | None:
        return await run(self.host, chat, message, kernel, sees)


# The host has the loader find this: importing it from there would be a ring.
RUNNER: Final = HostCommands
