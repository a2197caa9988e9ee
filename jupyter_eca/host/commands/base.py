"""What a command is given, and what can come of one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from jupyter_eca.engine.text.slash_commands import Called
    from jupyter_eca.host.host import Host
    from jupyter_eca.workspace.ports import Kernel


@dataclass(frozen=True, slots=True)
class Answer:
    """Markdown for the reader; no model is called. `opens` is a chat that the client of the asker shows next."""

    text: str
    opens: str = ""


@dataclass(frozen=True, slots=True)
class Compaction:
    """The chat's model is asked for a summary of the conversation; `focus` is what it must keep."""

    focus: str = ""


@dataclass(frozen=True, slots=True)
class Replacement:
    """What is asked in the command's stead."""

    message: str


class Sees(Protocol):
    def __call__(self, chat: str, /) -> bool: ...


@dataclass(frozen=True, slots=True)
class Place:
    """Where a command was typed. `kernel` is that of the cell it came from; `sees` tells which chats whoever typed it
    may know of."""

    host: Host
    chat: str
    kernel: Kernel | None
    sees: Sees


class Command(Protocol):
    """Errors of ours that it raises become the answer. A module has those that answer here as `COMMANDS`, and those
    that may have the model asked something else in their stead as `PROMPTS`."""

    async def __call__(self, place: Place, called: Called, /) -> Answer | Compaction | Replacement: ...
