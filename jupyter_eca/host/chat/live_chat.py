"""Owns the data of a chat in memory, of the turn under way in it, and of a prompt.

A turn is all that follows from one prompt. A locked turn is one whose answer is recorded in a file beside the notebook,
or replayed from that file (`host.turn.locked_answers`).

This module has data only: `host.chat.registry` gives the engine's inputs to the chat, and `host.turn.turns` begins its
turns.
"""

from __future__ import annotations

import asyncio
import time
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Protocol

from jupyter_eca.engine.approval.policy import Decision, Policy
from jupyter_eca.engine.model.cache_lifetime import ChatRhythm
from jupyter_eca.engine.model.task_plan import Plan
from jupyter_eca.engine.turn import TurnStatus
from jupyter_eca.errors import BusyError, LocalError
from jupyter_eca.host.store import StoredSelection
from jupyter_eca.workspace.known_versions import KnownVersions

if TYPE_CHECKING:
    from collections.abc import Generator

    from jupyter_eca.engine.inputs import Setup
    from jupyter_eca.engine.state import ChatState
    from jupyter_eca.host.chat.dialogue import Dialogue
    from jupyter_eca.host.chat.turn_locking import Replay, TurnLocking
    from jupyter_eca.host.store import ChatRow, UnseenChange
    from jupyter_eca.host.tools.progress import Reporter
    from jupyter_eca.instructions.pinned_prompt import PinnedPrompt
    from jupyter_eca.plugins.tools.base import Tool
    from jupyter_eca.protocol.chat import AnswerLock
    from jupyter_eca.protocol.context import ChatContext, CursorContext
    from jupyter_eca.protocol.event import Person
    from jupyter_eca.workspace.ports import Kernel


BUSY: Final = "This chat is still answering. Wait for it, or stop it first."


def now() -> int:
    """Return the time in milliseconds since the epoch."""
    return time.time_ns() // 1_000_000


@dataclass(frozen=True, slots=True)
class Choice:
    """The settings that turns run with. If a field is "" or None (see `variant` for its ""), nothing is chosen for it.
    Then the earlier choice counts, or the default if there is no earlier choice."""

    model: str = ""
    """The full name `provider/model`."""
    agent: str = ""
    """The name of the agent."""
    variant: str | None = None
    """The variant of the model. "" chooses no variant, None is no choice."""
    trust: bool | None = None
    """Whether tool calls run without approval."""
    folder: str = ""
    """The working directory, in which tools and commands run: a real path. By default the first folder of the
    workspace."""

    def fill_from(self, other: Choice) -> Choice:
        """Return this choice, with `other` where nothing is chosen. The variant of another model is not taken over,
        because each model has its own variants."""
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
        """The choice as the store keeps it: None in place of ""."""
        return StoredSelection(self.model or None, self.agent or None, self.variant, self.trust, self.folder or None)


NO_CHOICE: Final = Choice()
"""The choice of a user who has chosen nothing."""


def get_stored_choice(row: ChatRow | None) -> Choice:
    """Return the settings that a stored chat last ran with. `row` is None for a chat that is not stored."""
    if row is None:
        return NO_CHOICE
    trust = None if row.trust is None else bool(row.trust)
    return Choice(row.model or "", row.agent or "", row.variant, trust, row.folder or "")


@dataclass(frozen=True, slots=True)
class Bounds:
    """The limits that a front sets to a turn, whatever the user has chosen."""

    servers: frozenset[str] | None = None
    """The MCP servers whose tools the turn may use. Our own tools count as the server `eca`. None: all."""
    denies_calls: bool = False
    """Whether every tool call is rejected, whatever the rules say."""
    asks_user: bool = True
    """Whether the user is asked to approve calls. If not, a call that needs approval is rejected."""
    looks_only: bool = False
    """Whether the turn has only tools that change nothing."""

    def allows_server(self, server: str) -> bool:
        """Return whether the turn may use the tools of a server."""
        return self.servers is None or server in self.servers

    def restrict(self, policy: Policy) -> Policy:
        """Return the rules of an agent with these limits. The limits can only make them stricter."""
        return Policy(by_default=Decision.DENY) if self.denies_calls else policy


NO_BOUNDS: Final = Bounds()
"""The bounds of a front that sets no limits."""


class PromptSender(Protocol):
    """The client that sent a prompt: the two methods that commands call."""

    def sees(self, chat: str) -> bool:
        """Return whether the client may know of a chat."""
        ...

    def resume(self, chat: str) -> None:
        """Show the client a chat instead of the one in which it asked."""
        ...


@dataclass(frozen=True, slots=True)
class Prompt:
    """A prompt from a front."""

    chat: str
    """The id of the chat, which may be new."""
    message: str
    """The text that the user wrote."""
    choice: Choice = NO_CHOICE
    """The model, agent and other settings that the prompt chooses."""
    contexts: tuple[ChatContext, ...] = ()
    """The contexts that were sent with the prompt."""
    sender: PromptSender | None = None
    """The client that sent the prompt. None if no client did, as for the prompt of a hook."""
    bounds: Bounds = NO_BOUNDS
    """The limits that the front sets to the turn."""
    lock: AnswerLock | None = None
    """Which notebook and cell asked, and whether and where the answer is locked. None if no cell asked."""
    turn: str = ""
    """The id of the turn, which must be new to the chat. Empty: the host makes an id."""
    follow_up_count: int = 0
    """How many turns in a row have begun without a message of the user, this one included: because of hooks, or of the
    end of a background job. If it is not 0, the message is never a command."""
    first_turn: str = ""
    """If `follow_up_count` is not 0: the id of the turn that the user's last prompt began. Empty if the front gave that
    turn no id."""
    model_message: str = ""
    """The message that the model gets instead of `message`. Empty for none."""
    job_end: str = ""
    """For a turn that begins because a background job has ended: what the model reads of it. The `message` is then for
    the user alone. Empty for all other turns."""
    notebook: str | None = None
    """The path of the notebook in which the user asked, "" for none. None if the front does not know it: then it is
    looked up when the turn begins."""
    recalls_choices: bool = False
    """Whether a new chat begins with what the user has chosen before, where the prompt chooses nothing."""
    allows_later_review: bool = False
    """Whether the turn may make changes before the user reviews them: the client that sent the prompt shows them
    afterwards, with Keep and Undo."""
    author: Person | None = None
    """Who has sent the prompt, if that is known."""

    @property
    def begins_with_slash(self) -> bool:
        """Whether the message begins like a `/` command."""
        return self.message.lstrip().startswith("/")


@dataclass(frozen=True, slots=True)
class StartedTurn:
    """A turn that was started."""

    chat: LiveChat
    """Its chat. Whoever needs more of the turn than its events keeps this reference: the turn may have ended by now,
    and its chat may be put to rest."""
    model: str
    """The full name of its model."""
    is_login_answer: bool = False
    """Whether the prompt was an answer to a question of `/login`."""


@dataclass
class TurnUnderWay:
    """What is known of a turn only while it lasts. It is made when the turn begins, and gone when it ends."""

    prompt: Prompt | None = None
    """The prompt. None for a tool call that no model made."""
    kernel: Kernel | None = None
    """The kernel of the cell that asked. None for another client, and after the connection of the kernel has ended."""
    notebook: str = ""
    """The path of the notebook that the turn was asked in; "" for none. It stays the same notebook for the whole turn,
    also when the user renames it."""
    notebook_kernel: str = ""
    """The id of the kernel of that notebook when the turn began; "" when it was not open, or had none."""
    earlier_choice: Choice = NO_CHOICE
    """The choice of the chat before the prompt."""
    called_tool: Tool | None = None
    """The tool that a program of the user calls, if the turn is such a call (`host.turn.direct_calls`)."""
    locking: TurnLocking | None = None
    """How the turn is recorded into a lock file, or replayed from one. None for a turn that is not locked."""
    reporters: dict[str, Reporter] = field(default_factory=dict[str, "Reporter"])
    """The progress of the tool calls that run, by their ids."""


@dataclass
class LiveChat:
    """A chat in memory: what lasts from turn to turn.

    An idle chat that is not used for long is put to rest (`host.chat.registry`): it leaves memory, and is read from the
    store when it is next needed. This is what becomes of its fields:

    - It has no turn under way and no tasks, and it is not held: such a chat must stay (`must_stay`).
    - `state`, `last_seq`, `choice`, `parent`, `pinned_prompt` and `plan` are read from the store.
    - `UnstoredFacts` keeps what is not in the store and would be missed.
    - `last_setup` and `unseen_change` are worked out again. `last_prompt` is only needed while a background job of the
      chat runs, and then the chat stays.
    - `cursor` and `known_versions` are lost, as at a restart of the server. The model is sent the position of the
      cursor again, and must read a file again before it changes it. Both are old by then, and the versions of many
      cells are large.
    """

    state: ChatState
    """The engine's state."""
    last_seq: int
    """The sequence number of its newest stored event."""
    choice: Choice = NO_CHOICE
    """The settings of its next turn, unless the prompt chooses others."""
    parent: str = ""
    """The id of the parent chat, if this is the chat of a subagent; "" for all other chats."""
    under_way: TurnUnderWay | None = None
    """The turn under way; None while there is none."""
    last_answer_choice: Choice = NO_CHOICE
    """The choice of the last turn in which a model answered."""
    rhythm: ChatRhythm = field(default_factory=ChatRhythm)
    """How quickly the user goes on in this chat: the times of its requests to the model since the chat was loaded. They
    decide how long the vendor caches a request."""
    cursor: CursorContext | None = None
    """The position of the user's cursor that the model was last sent; None if it knows none."""
    pinned_prompt: PinnedPrompt | None = None
    """The system prompt, once it is composed or read from the store."""
    last_setup: tuple[object, Setup] | None = None
    """The values from which the setup of the last turn was built, and this setup. It is used again while the values are
    equal."""
    notebook: str = ""
    """The path of the notebook that the last prompt came from."""
    last_paid_turn: str = ""
    """The id of the last turn in which a model was called."""
    is_held: bool = False
    """Whether the chat is being rolled back or copied, and takes no prompt."""
    is_foreign: bool = False
    """Whether it is stored for another workspace. Then it is only loaded by a prompt, and by nothing else."""
    dialogue: Dialogue | None = None
    """The dialogue that takes the next prompt as its answer."""
    locked_chain: dict[str, str] = field(default_factory=dict[str, str])
    """The chain digest of each locked answer so far: a digest of this answer and of all locked answers before it. With
    it, an answer is replayed only after the same answers as when it was recorded. The keys are the places of the
    answers: the id of the cell that asked, or else `#` and a number. They are in the order of their first use."""
    plan: Plan = field(default_factory=Plan)
    """The tasks that the model has planned."""
    unseen_change: UnseenChange | None = None
    """A change that was made without approval and that the user has not reviewed yet. It is looked up once for each
    reply of the model, before the calls of the reply are decided; None if there was none. While there is one, the user
    is asked about calls that may run code, even if a rule allows them."""
    last_prompt: Prompt | None = None
    """The prompt that began the last turn of a model, without its message and contexts. The turn that begins by itself
    at the end of a background job takes its limits and its notebook from here (`host.turn.job_endings`). None if no
    model was asked since the chat was loaded."""
    known_versions: KnownVersions = field(default_factory=KnownVersions)
    """The versions of files and cells that the model knows."""
    cell_lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    """Held by the tool call that changes cells. Only one call may do so at a time."""
    tasks: dict[str, asyncio.Task[None]] = field(default_factory=dict[str, "asyncio.Task[None]"])
    """The tasks that run for the chat, by name. They are no part of the turn: the task that ends a turn outlives it,
    and so does the task that sends the follow-up prompt of a hook."""

    @property
    def turn(self) -> TurnUnderWay:
        """The turn under way. Raises: LocalError when there is none."""
        if self.under_way is None:
            raise LocalError("no turn is under way in this chat")
        return self.under_way

    @property
    def prompt(self) -> Prompt | None:
        """The prompt of the turn under way; None if there is none."""
        return self.under_way.prompt if self.under_way else None

    @property
    def bounds(self) -> Bounds:
        """The limits of the turn under way."""
        return self.prompt.bounds if self.prompt else NO_BOUNDS

    @property
    def kernel(self) -> Kernel | None:
        """The kernel of the cell that waits for the answer; None if no cell waits."""
        return self.under_way.kernel if self.under_way else None

    @property
    def asked_notebook(self) -> str:
        """The path of the notebook in which the turn under way was asked; "" for none."""
        return self.under_way.notebook if self.under_way else ""

    @property
    def locking(self) -> TurnLocking | None:
        """How the turn under way is recorded or replayed; None for a turn that is not locked."""
        return self.under_way.locking if self.under_way else None

    @property
    def replay(self) -> Replay | None:
        """The replay that is under way; None if there is none."""
        return self.locking.replay if self.locking else None

    @property
    def has_answer(self) -> bool:
        """Whether the model has said anything in this turn."""
        return self.state.reply_begun or self.state.steps > 1

    @property
    def is_busy(self) -> bool:
        """Whether the chat takes no prompt now."""
        return self.is_held or self.state.status is not TurnStatus.IDLE

    @property
    def must_stay(self) -> bool:
        """Whether the chat cannot be put to rest: something goes on in it, or only a prompt could load it again."""
        waits = self.dialogue is not None and not self.dialogue.is_over
        return self.is_busy or bool(self.tasks) or waits or self.is_foreign

    @contextmanager
    def hold(self, *, during_command: bool = False) -> Generator[None]:
        """Let no turn begin within this context. With `during_command` the chat may be running a command, such as
        `/undo`.

        Raises: BusyError when a turn is under way, or when the chat is held already.
        """
        allowed = {TurnStatus.IDLE, TurnStatus.COMMANDED} if during_command else {TurnStatus.IDLE}
        if self.is_held or self.state.status not in allowed:
            raise BusyError(BUSY)
        self.is_held = True
        try:
            yield
        finally:
            self.is_held = False
