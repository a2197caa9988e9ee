"""Owns the type of native commands: a function, with the texts that `/help` and the completion of `/` show.

It must not know the commands: each module of this folder has some, and `dispatch` finds them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from jupyter_eca.plugins.loader import check_plug
from jupyter_eca.protocol.command import ChatCommand, CommandArgument

if TYPE_CHECKING:
    from jupyter_eca.config import OutsideAgent
    from jupyter_eca.engine.text.slash_commands import CommandCall
    from jupyter_eca.host.chat.ports import ChatFilter, CommandResult
    from jupyter_eca.host.host import Host
    from jupyter_eca.workspace.ports import Kernel


@dataclass(frozen=True, slots=True)
class CommandPlace:
    """Where a command was typed."""

    host: Host
    """The host that runs the command."""
    chat: str
    """The id of the chat."""
    kernel: Kernel | None
    """The kernel of the cell that the command was typed in. None where it was typed elsewhere."""
    may_see: ChatFilter
    """Returns whether the user of this client may know of a chat."""


async def find_outside_agent(place: CommandPlace) -> OutsideAgent | None:
    """Return the outside agent that answers in the chat; None for one of our own agents."""
    live = await place.host.chats.load(place.chat)
    return place.host.current.resolved.get_agent(live.choice.agent).outside


class CommandFunction(Protocol):
    """A function that runs a command. If it raises an `EcaError`, the message of the error is the answer."""

    async def __call__(self, place: CommandPlace, call: CommandCall, /) -> CommandResult:
        """Run the command that was typed at `place`. `call` has its name and arguments."""
        ...


@dataclass(frozen=True, slots=True)
class NativeCommand:
    """A command that is a function. `COMMANDS` of a module in this folder, or of a plug, has them by their names."""

    run: CommandFunction
    """The function."""
    description: str
    """One line for `/help` and for completion."""
    arguments: tuple[CommandArgument, ...] = ()
    """What can be written after the name, in this order."""
    may_ask_model: bool = False
    """Whether the function may return a `CommandReplacement`: a message that the model gets in place of the command.
    If it is False, the model never sees the turn of the command."""

    def describe(self, name: str) -> ChatCommand:
        """Return the command as clients list it."""
        return ChatCommand(name=name, description=self.description, arguments=self.arguments)


def check_commands(plug: Any) -> None:
    """Check the constant `COMMANDS` of a plug. Raises: TypeError."""
    wanted = 'a dict, such as `COMMANDS = {"greet": NativeCommand(greet, "Say hello")}`'
    check_plug(plug, dict, wanted)
    for command in plug.values():
        check_plug(command, NativeCommand, wanted)
