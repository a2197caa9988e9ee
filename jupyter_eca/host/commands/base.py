"""What a command is given, and what can come of one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from jupyter_eca.engine.text.slash_commands import CommandCall
    from jupyter_eca.host.chat.ports import Outcome, Sees
    from jupyter_eca.host.host import Host
    from jupyter_eca.workspace.ports import Kernel


@dataclass(frozen=True, slots=True)
class CommandPlace:
    """Where a command was typed. `kernel` is that of the cell it came from; `sees` tells which chats whoever typed it
    may know of."""

    host: Host
    chat: str
    kernel: Kernel | None
    sees: Sees


class HostCommand(Protocol):
    """Errors of ours that it raises become the answer. A module has those that answer here as `COMMANDS`, and those
    that may have the model asked something else in their stead as `PROMPTS`."""

    async def __call__(self, place: CommandPlace, called: CommandCall, /) -> Outcome: ...
