"""Owns protocols (`typing.Protocol`) for the commands, the runner of effects and the turns. These modules import
chats, and chats call them through a protocol, because two modules must not import each other. The results of commands
are here too.

It must not know how they are implemented. `host.commands` implements `CommandRunner`, `host.turn.effect_runner`
implements `EffectSink`, and `host.turn.turns` implements `TurnStarter`.
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
    """The result of a command that answers without a model."""

    text: str
    """Markdown for the user."""
    next_chat: str = ""
    """The id of the chat that the client shows next, "" to stay in this chat."""


@dataclass(frozen=True, slots=True)
class Compaction:
    """The result of a command that lets the model summarize the conversation."""

    focus: str = ""
    """What the summary must keep."""


@dataclass(frozen=True, slots=True)
class CommandReplacement:
    """The result of a command that is replaced by a message to the model."""

    message: str
    """The message that the model gets."""


CommandResult: TypeAlias = CommandAnswer | Compaction | CommandReplacement
"""The result of a command."""


class ChatFilter(Protocol):
    """A function that decides which chats a client may know."""

    def __call__(self, chat: str, /) -> bool:
        """Return whether the client may know of a chat."""
        ...


class CommandRunner(Protocol):
    """Runs the messages that are commands."""

    async def is_answered_without_model(self, message: str) -> bool:
        """Return whether a message is a command that is answered without a model, as far as this can be known without
        running it. The model must not see such a message."""
        ...

    async def run(
        self, chat: str, message: str, kernel: Kernel | None = None, may_see: ChatFilter | None = None
    ) -> CommandResult | None:
        """Run a command. Return None for a message that is no command.

        `kernel` is the kernel of the cell that has the message; None for a message from elsewhere. `may_see` decides
        which chats the client may know; without it, the client may know only this chat.
        """
        ...


class EffectSink(Protocol):
    """Runs the effects of the engine."""

    def run(self, chat: LiveChat, effect: Effect) -> None:
        """Start to run an effect. This must not wait."""
        ...


class TurnStarter(Protocol):
    """Starts and stops turns."""

    async def prompt(self, prompt: Prompt, kernel: Kernel | None = None) -> StartedTurn:
        """Start a turn with a prompt, and return before the answer begins. `kernel` is that of the cell that asked;
        None if no cell did. Raises: BusyError, LocalError, NotSaved."""
        ...

    def stop(self, chat: str) -> None:
        """Stop the turn of a chat."""
        ...
