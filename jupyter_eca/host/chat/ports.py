"""The seams that point from the chats and turns to what lies above them.

Knows only what crosses such a seam. `host.commands` runs commands, `host.turn.effect_runner` runs effects,
`host.turn.turns` starts turns.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, TypeAlias

if TYPE_CHECKING:
    from jupyter_eca.engine.effects import Effect
    from jupyter_eca.host.chat.live_chat import LiveChat, Prompt, StartedTurn
    from jupyter_eca.workspace.ports import Kernel


@dataclass(frozen=True, slots=True)
class CommandAnswer:
    """A command that answers by itself: no model is called."""

    text: str
    """Markdown for the reader."""
    opens: str = ""
    """The id of a chat that the client of the asker shows next."""


@dataclass(frozen=True, slots=True)
class Compaction:
    """A command that asks the chat's model for a summary of the conversation."""

    focus: str = ""
    """What the summary must keep."""


@dataclass(frozen=True, slots=True)
class CommandReplacement:
    """A command that stands for another message, which the model is sent."""

    message: str


Outcome: TypeAlias = CommandAnswer | Compaction | CommandReplacement
"""What comes of a command."""


class Sees(Protocol):
    def __call__(self, chat: str, /) -> bool:
        """Whether the asker may know of a chat."""
        ...


class CommandRunner(Protocol):
    """Knows whether a message is a command, and carries it out."""

    async def answers_here(self, message: str) -> bool:
        """Whether `run` would answer the message itself, as far as can be told without running anything. No model is
        to see such a message."""
        ...

    async def run(
        self, chat: str, message: str, kernel: Kernel | None = None, sees: Sees | None = None
    ) -> Outcome | None:
        """Carry out a command. Returns None for a message that is none.

        Without `sees` the asker may know of this chat only.
        """
        ...


class EffectSink(Protocol):
    """Carries out what the engine wants done."""

    def run(self, chat: LiveChat, effect: Effect) -> None:
        """Begin with an effect. Must not wait."""
        ...


class TurnStarter(Protocol):
    """Starts and stops turns, for whoever lies below `Turns`."""

    async def prompt(self, prompt: Prompt, kernel: Kernel | None = None) -> StartedTurn: ...

    def stop(self, chat: str) -> None: ...
