"""A chat in memory, the turn that goes on in it, and what a prompt asks.

Data only: `host.chat.registry` feeds it to the engine, `host.turn.turns` begins its turns.
"""

from __future__ import annotations

import asyncio
import time
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Protocol

from jupyter_eca.engine.model.task_plan import Plan
from jupyter_eca.engine.turn import TurnStatus
from jupyter_eca.errors import BusyError, LocalError
from jupyter_eca.host.store import StoredSelection
from jupyter_eca.workspace.known_versions import KnownVersions

if TYPE_CHECKING:
    from collections.abc import Generator

    from jupyter_eca.engine.approval.policy import Policy
    from jupyter_eca.engine.state import ChatState
    from jupyter_eca.host.chat.dialogue import Dialogue
    from jupyter_eca.host.chat.recorded_turn import RecordedTurn, ReplayedTurn
    from jupyter_eca.host.store import ChatRow
    from jupyter_eca.host.tools.progress import Reporter
    from jupyter_eca.instructions.pinned import PinnedPrompt
    from jupyter_eca.plugins.tools.base import Tool
    from jupyter_eca.protocol.chat import ChatLock
    from jupyter_eca.protocol.context import ChatContext, CursorContext
    from jupyter_eca.workspace.ports import Kernel


BUSY: Final = "This chat is still answering. Wait for it, or stop it first."


def now() -> int:
    """Milliseconds since the epoch."""
    return time.time_ns() // 1_000_000


@dataclass(frozen=True, slots=True)
class Choice:
    """What turns are run with; "" (or None) is "as before", in the end the default. The empty variant is none."""

    model: str = ""
    agent: str = ""
    variant: str | None = None
    trust: bool | None = None
    folder: str = ""
    """The working directory, in which tools and commands run: a real path. By default the first root."""

    def over(self, other: Choice) -> Choice:
        """Another model has other variants."""
        variant = None if self.model and self.model != other.model else other.variant
        return Choice(
            self.model or other.model,
            self.agent or other.agent,
            variant if self.variant is None else self.variant,
            other.trust if self.trust is None else self.trust,
            self.folder or other.folder,
        )

    @property
    def selection(self) -> StoredSelection:
        return StoredSelection(self.model or None, self.agent or None, self.variant, self.trust, self.folder or None)


NO_CHOICE: Final = Choice()


def choice_of(row: ChatRow | None) -> Choice:
    """What a stored chat was last run with."""
    if row is None:
        return NO_CHOICE
    trust = None if row.trust is None else bool(row.trust)
    return Choice(row.model or "", row.agent or "", row.variant, trust, row.folder or "")


@dataclass(frozen=True, slots=True)
class Bounds:
    """What a front lets a turn do, whatever was chosen. It has the tools of `servers` alone (None: all); `policy`
    stands in for the agent's; without `asks` nobody is asked, and what would have to be asked about is refused. What
    `looks_only` has no tool that changes anything, whatever the agent."""

    servers: frozenset[str] | None = None
    policy: Policy | None = None
    asks: bool = True
    looks_only: bool = False

    def has(self, server: str) -> bool:
        return self.servers is None or server in self.servers


NO_BOUNDS: Final = Bounds()


class Asker(Protocol):
    """Whoever asked, for commands."""

    def sees(self, chat: str) -> bool:
        """Whether they may know of a chat."""
        ...

    def resume(self, chat: str) -> None:
        """Show them a chat in place of the one they asked in."""
        ...


@dataclass(frozen=True, slots=True)
class Prompt:
    """A question from a front. `chat` may be new. A `turn` that the front names must be new to the chat. `follow_up` is
    how many turns in a row hooks have begun, this one included: then the message is never a command. `means` is what
    the model is told that the message stands for, where that is known already. `notebook` is the path of the notebook
    that it was asked in, "" for none; None where the front does not know: then it is looked up when the turn begins."""

    chat: str
    message: str
    choice: Choice = NO_CHOICE
    contexts: tuple[ChatContext, ...] = ()
    asker: Asker | None = None
    bounds: Bounds = NO_BOUNDS
    lock: ChatLock | None = None
    turn: str = ""
    follow_up: int = 0
    means: str = ""
    notebook: str | None = None


@dataclass(frozen=True, slots=True)
class StartedTurn:
    """A turn that was started, with the full name of its model; in a `login` the message is an answer for that."""

    model: str
    login: bool = False


@dataclass
class TurnUnderWay:
    """What is known of a turn only while it lasts. It is made when the turn begins, and gone when it ends."""

    prompt: Prompt | None = None
    """What was asked. None for a tool call that no model made."""
    kernel: Kernel | None = None
    """The kernel of the cell that asked, until that kernel's client leaves."""
    notebook: str = ""
    """The path of the notebook that the turn was asked in; "" for none. It stays the same notebook for the whole turn,
    also when the user renames it."""
    notebook_kernel: str = ""
    """The id of the kernel of that notebook when the turn began; "" when it was not open, or had none."""
    earlier: Choice = NO_CHOICE
    """What the chat was run with before the prompt."""
    outside: Tool | None = None
    """The tool of a call that no model made."""
    locking: RecordedTurn | None = None
    """The lock file that the turn is recorded for, or replayed from."""
    reporters: dict[str, Reporter] = field(default_factory=dict[str, "Reporter"])
    """The progress of the tool calls that run, by their ids."""


@dataclass
class LiveChat:
    """A chat in memory: what lasts from turn to turn."""

    state: ChatState
    """The engine's state."""
    last: int
    """The sequence number of its newest stored event."""
    choice: Choice = NO_CHOICE
    """What its next turn is run with, where its prompt does not choose."""
    parent: str = ""
    """The chat of which this is a subagent's; "" for any other."""
    under_way: TurnUnderWay | None = None
    """The turn that goes on now."""
    answered_with: Choice = NO_CHOICE
    """What the last turn was run with in which a model answered."""
    cursor: CursorContext | None = None
    """The cursor that the model was last told."""
    pinned: PinnedPrompt | None = None
    """What the model was told at the beginning, once it was."""
    notebook: str = ""
    """The path of the notebook that the last prompt came from."""
    paid: str = ""
    """The last turn in which a model was asked."""
    held: bool = False
    """It is being cut back or copied, and takes no prompt."""
    dialogue: Dialogue | None = None
    """Takes the next prompt as its answer."""
    links: dict[str, str] = field(default_factory=dict[str, str])
    """The locked answers so far, by their cells, in the order in which these first asked."""
    plan: Plan = field(default_factory=Plan)
    """The tasks that the model has planned."""
    known: KnownVersions = field(default_factory=KnownVersions)
    """The versions of files and cells that the model knows."""
    changing: asyncio.Lock = field(default_factory=asyncio.Lock)
    """Held by the only tool call that may change cells now."""
    tasks: dict[str, asyncio.Task[None]] = field(default_factory=dict[str, "asyncio.Task[None]"])
    """What runs for it, by name. Not a part of the turn: the task that ends a turn outlives it, and so does what a
    hook asks next."""

    @property
    def turn(self) -> TurnUnderWay:
        """The turn that goes on now. Raises: LocalError when there is none."""
        if self.under_way is None:
            raise LocalError("no turn is under way in this chat")
        return self.under_way

    @property
    def prompt(self) -> Prompt | None:
        """What was asked in the turn that goes on now."""
        return self.under_way.prompt if self.under_way else None

    @property
    def bounds(self) -> Bounds:
        return self.prompt.bounds if self.prompt else NO_BOUNDS

    @property
    def kernel(self) -> Kernel | None:
        """The kernel of the cell that waits for the answer."""
        return self.under_way.kernel if self.under_way else None

    @property
    def asked_notebook(self) -> str:
        """The path of the notebook that the turn which goes on now was asked in; "" for none."""
        return self.under_way.notebook if self.under_way else ""

    @property
    def locking(self) -> RecordedTurn | None:
        """The lock file of the turn that goes on now."""
        return self.under_way.locking if self.under_way else None

    @property
    def replay(self) -> ReplayedTurn | None:
        """The recorded turn that is replayed now."""
        return self.locking.replay if self.locking else None

    @property
    def has_answer(self) -> bool:
        """Whether the model has said anything in this turn."""
        return self.state.said or self.state.steps > 1

    @property
    def busy(self) -> bool:
        return self.held or self.state.status is not TurnStatus.IDLE

    @contextmanager
    def hold(self, *, commanded: bool = False) -> Generator[None]:
        """No turn begins meanwhile; with `commanded` the chat may be carrying out a command. Raises: BusyError."""
        if self.held or self.state.status not in {TurnStatus.IDLE, TurnStatus.COMMANDED if commanded else None}:
            raise BusyError(BUSY)
        self.held = True
        try:
            yield
        finally:
            self.held = False
