"""`ChatState`: one chat as it stands between two steps.

It must not know what moves it: `step` makes the next state of it. After a restart `chat/recovery` makes it of the
events.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from jupyter_eca.engine.inputs import NoteAdded, Setup, Steered
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

NO_SETUP = Setup(model="")
UNKNOWN = WindowUsage()

# How often the rest of an answer is asked for. Each time is billed, and the vendor has searched ten times by then.
MAX_PAUSES = 5


@dataclass(frozen=True, slots=True)
class ChatState:
    """A chat as a value. A step never changes one; it makes another."""

    id: str
    """The id of the chat."""
    status: TurnStatus = TurnStatus.IDLE
    """Where its turn stands, see `turn.TURNS`."""
    turn: str = ""
    """The id of the turn under way, or of the last one."""
    request: int = 0
    """How many times the model was called, ever. It is the number of the call under way."""
    steps: int = 0
    """How many times the model was called in this turn."""
    setup: Setup = NO_SETUP
    """What the turn is run with."""
    local: bool = False
    """Whether the turn is a command of ours, of which the model does not read."""
    history: History = ()
    """What the model remembers."""
    calls: tuple[ToolCall, ...] = ()
    """The tool calls of the reply under way."""
    indexes: tuple[int, ...] = ()
    """Of these calls, the `index` by which the stream tells them apart."""
    call_ids: frozenset[str] = frozenset()
    """The ids of all calls of the chat, ever."""
    steers: tuple[Steered, ...] = ()
    """Words that the model reads before its next step."""
    notes: tuple[str, ...] = ()
    """What happened beside the turns and was shown, and what the model has not read yet."""
    unshown: tuple[NoteAdded, ...] = ()
    """What happened beside the turns and was not shown yet."""
    reasoning: str = ""
    """The id of the reasoning under way, "" for none."""
    reasoning_since: int = 0
    """When it began, in milliseconds since the epoch."""
    said: bool = False
    """Whether anything of the reply under way was shown."""
    paused: bool = False
    """Whether the vendor interrupted the reply under way, and would send the rest."""
    pauses: int = 0
    """How often in this turn the rest of a reply was asked for."""
    retry: Retry | None = None
    """The last repetition of the request under way."""
    remembered: frozenset[ApprovalScope] = frozenset()
    """What the user approved for the whole chat."""
    trust: bool = False
    """Whether calls run unasked that would have to be approved."""
    cost: float | None = 0.0
    """US dollars so far; None once a price was unknown."""
    usage: UsageContent | None = None
    """What the last reply used."""
    window: WindowUsage = UNKNOWN
    """How full the model's context window was with the last reply."""
    summary_under_way: SummaryUnderWay | None = None
    """The summary that is being made."""
    summarised_at_step: int | None = None
    """The step of this turn before which the last summary was made."""
    pruned: bool = False
    """Whether old results of tools were left out in this turn."""
    tasks: Tasks = ()
    """The list of tasks that the model keeps."""
    planned: bool = False
    """Whether the last answer that was completed was a plan."""

    def begin(self, turn: str, setup: Setup) -> ChatState:
        """Return the chat at the beginning of a turn, without what belonged to the turn before."""
        begun = replace(self, turn=turn, setup=setup, trust=setup.trust, local=False, steps=0, steers=(), pauses=0)
        return replace(begun, summarised_at_step=None, pruned=False)

    @property
    def resumes_reply(self) -> bool:
        """Whether the rest of the reply that has just ended is to be asked for."""
        return self.paused and not self.calls and self.pauses < MAX_PAUSES

    def get_call(self, id: str) -> ToolCall:
        """Raises: IllegalSignal when the reply under way has no such call."""
        for call in self.calls:
            if call.id == id:
                return call
        raise IllegalSignal(f"no tool call {id} is under way")
