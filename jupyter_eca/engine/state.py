"""Owns `ChatState`: all that the engine knows about one chat between two inputs.

It must not decide what happens next: `step` computes the next state from it. After a restart, `chat/recovery` rebuilds
it from the stored events.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum, auto
from typing import TYPE_CHECKING

from jupyter_eca.engine.inputs import NoteAdded, Setup, Steered
from jupyter_eca.engine.model import compaction
from jupyter_eca.engine.model.compaction import WindowUsage
from jupyter_eca.engine.turn import TurnStatus
from jupyter_eca.errors import IllegalSignal

if TYPE_CHECKING:
    from jupyter_eca.engine.approval.approval_scope import ApprovalScope
    from jupyter_eca.engine.model.compaction import SummaryUnderWay
    from jupyter_eca.engine.model.request import History
    from jupyter_eca.engine.model.retry import Retry
    from jupyter_eca.engine.model.task_plan import Tasks
    from jupyter_eca.engine.tool_call import ToolCall
    from jupyter_eca.protocol.content import UsageContent

# The defaults of a new chat.
NO_SETUP = Setup(model="")
UNKNOWN_WINDOW = WindowUsage()

# How often the rest of an interrupted answer is requested in one turn, at most. Each request costs money. A vendor
# interrupts an answer only after ten web searches, so five requests are enough for fifty searches.
MAX_PAUSES = 5


class TitleState(Enum):
    """Where the title of a chat comes from, and whether a model is asked for a better one."""

    FROM_PROMPT = auto()
    """It is the beginning of the first prompt. A model is asked for a better one after its first answer."""
    REQUESTED = auto()
    """It is the beginning of the first prompt, and a model was asked for a better one."""
    SETTLED = auto()
    """No model is asked for another one: there is no title yet, somebody has given it, or a model has made it."""


@dataclass(frozen=True, slots=True)
class ChatState:
    """A chat as an immutable value. The function `step` never changes it; it makes a new one."""

    id: str
    """The id of the chat."""
    status: TurnStatus = TurnStatus.IDLE
    """What its turn is doing now, see `turn.TURNS`."""
    turn: str = ""
    """The id of the turn under way, or of the last one."""
    request: int = 0
    """How many times the model was called in the whole chat. This is also the number of the call under way."""
    steps: int = 0
    """How many steps this turn has begun. A step is a call of the model; a call that is repeated after a failure, or
    that makes a summary, begins no step."""
    setup: Setup = NO_SETUP
    """The model, the tools and the rules of the turn."""
    local: bool = False
    """Whether the turn is a command of ours, such as `/help`. The model never reads such a turn."""
    history: History = ()
    """The conversation as the model will read it with the next request."""
    calls: tuple[ToolCall, ...] = ()
    """The tool calls of the reply under way."""
    indexes: tuple[int, ...] = ()
    """For each of `calls`, in the same order: the `index` that identifies it in the stream. Empty for a call that a
    program of the user makes, because no model streams it."""
    call_ids: frozenset[str] = frozenset()
    """The ids of all tool calls that the chat ever had."""
    steers: tuple[Steered, ...] = ()
    """Messages that the user sent during the turn, which the model reads before its next step."""
    notes: tuple[str, ...] = ()
    """Notes (see `NoteAdded`) that were shown to the user, but not yet sent to the model."""
    sent_notes: tuple[str, ...] = ()
    """Notes that were sent to the model with the request under way. If it is refused, they are sent again later."""
    unshown_notes: tuple[NoteAdded, ...] = ()
    """Notes that were not yet shown to the user."""
    reasoning: str = ""
    """The id of the reasoning under way; "" when there is none."""
    reasoning_since: int = 0
    """When this reasoning began, in milliseconds since the epoch."""
    reply_begun: bool = False
    """Whether a part of the reply under way was shown."""
    paused: bool = False
    """Whether the vendor interrupted the reply under way. It sends the rest if it is called again."""
    pauses: int = 0
    """How often the rest of an interrupted reply was requested in this turn."""
    retry: Retry | None = None
    """The latest repetition of the request under way; None when it was not repeated."""
    approved_scopes: frozenset[ApprovalScope] = frozenset()
    """What the user has approved for the rest of the chat ("approve for this session")."""
    trust: bool = False
    """Whether calls that need approval run without it."""
    cost: float | None = 0.0
    """What the chat has cost so far, in US dollars; None if the price of any request was unknown."""
    usage: UsageContent | None = None
    """The usage that was shown last."""
    window: WindowUsage = UNKNOWN_WINDOW
    """How full the model's context window was with the last reply."""
    summary_under_way: SummaryUnderWay | None = None
    """The summary that the model is writing; None when it writes none."""
    summarised_at_step: int | None = None
    """The value of `steps` when the last summary of this turn was requested; None when there was none."""
    pruned: bool = False
    """Whether old results of tools were left out of the conversation in this turn."""
    tasks: Tasks = ()
    """The list of tasks that the model keeps with the tool `task`."""
    title: TitleState = TitleState.SETTLED
    """Where its title comes from."""
    ended_in_plan: bool = False
    """Whether the last completed answer was a plan that the user can accept."""

    def begin_turn(self, turn: str, setup: Setup) -> ChatState:
        """Return the chat at the beginning of a turn. The fields that belonged to the turn before are reset."""
        begun = replace(self, turn=turn, setup=setup, trust=setup.trust, local=False, steps=0, steers=(), pauses=0)
        return replace(begun, summarised_at_step=None, pruned=False)

    @property
    def resumes_reply(self) -> bool:
        """Whether the reply that has just ended was interrupted, and its rest must be requested."""
        return self.paused and not self.calls and self.pauses < MAX_PAUSES

    @property
    def is_summary_due(self) -> bool:
        """Whether a summary must be made before the next model call: when the window is at least `setup.compact_at`
        percent full (never if that is 0), enough replies have come since the last summary of this turn, and a
        summary would free a good part of the window."""
        share, window, last = self.setup.compact_at, self.window, self.summarised_at_step
        if not share or not window.limit or window.used * 100 < window.limit * share:
            return False
        if last is not None and self.steps - last < compaction.MIN_REPLIES:
            return False
        return compaction.would_free_enough(self.history, window.limit)

    def get_call(self, id: str) -> ToolCall:
        """Return the tool call of this id.

        Raises: IllegalSignal when the reply under way has no such call.
        """
        for call in self.calls:
            if call.id == id:
                return call
        raise IllegalSignal(f"no tool call {id} is under way")
