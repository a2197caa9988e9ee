"""One chat as it stands between two steps."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from jupyter_eca.engine.inputs import Noted, Setup, Steered
from jupyter_eca.engine.model.compaction import Window
from jupyter_eca.engine.turn import TurnStatus
from jupyter_eca.errors import IllegalSignal

if TYPE_CHECKING:
    from jupyter_eca.engine.model.compaction import Summing
    from jupyter_eca.engine.model.request import History
    from jupyter_eca.engine.model.retry import Retry
    from jupyter_eca.engine.model.task_plan import Tasks
    from jupyter_eca.engine.tool_call import ToolCall
    from jupyter_eca.protocol.content import UsageContent

NO_SETUP = Setup(model="")
UNKNOWN = Window()

# How often an answer is gone on with. Each time is billed, and its vendor has looked around ten times by then.
MAX_PAUSES = 5


@dataclass(frozen=True, slots=True)
class ChatState:
    """`request` counts model calls, `steps` those of the turn; `calls` are those of the reply under way, `call_ids`
    those of all calls ever; `steers` are words the model is still to be told, `notes` what has ended beside the turns
    and it is not told yet, `unshown` what nobody was shown yet of that; `retry` is the last repetition of the request;
    a `cost` of None is an unknown price, `usage` is the last reply's. `window` is how full the model's was with it,
    `summing` a summary in the making, `summed` the step of the turn before which the last one was made, `pruned` that
    old results were left out in this turn, `paused` that the reply under way is to be gone on with, `pauses` how often
    that was done. `tasks` is the list that the model keeps, `planned` that its last whole answer was a plan."""

    id: str
    status: TurnStatus = TurnStatus.IDLE
    turn: str = ""
    request: int = 0
    steps: int = 0
    setup: Setup = NO_SETUP
    local: bool = False
    history: History = ()
    calls: tuple[ToolCall, ...] = ()
    indexes: tuple[int, ...] = ()
    call_ids: frozenset[str] = frozenset()
    steers: tuple[Steered, ...] = ()
    notes: tuple[str, ...] = ()
    unshown: tuple[Noted, ...] = ()
    reasoning: str = ""
    reasoning_since: int = 0
    said: bool = False
    paused: bool = False
    pauses: int = 0
    retry: Retry | None = None
    remembered: frozenset[str] = frozenset()
    trust: bool = False
    cost: float | None = 0.0
    usage: UsageContent | None = None
    window: Window = UNKNOWN
    summing: Summing | None = None
    summed: int | None = None
    pruned: bool = False
    tasks: Tasks = ()
    planned: bool = False

    def begin(self, turn: str, setup: Setup) -> ChatState:
        """What is left of the turn before has no part in it."""
        anew = replace(self, turn=turn, setup=setup, trust=setup.trust, local=False, steps=0, steers=(), pauses=0)
        return replace(anew, summed=None, pruned=False)

    @property
    def goes_on(self) -> bool:
        """Whether the reply that has just ended is only a part of one."""
        return self.paused and not self.calls and self.pauses < MAX_PAUSES

    def call(self, id: str) -> ToolCall:
        """Raises: IllegalSignal when the reply under way has no such call."""
        for call in self.calls:
            if call.id == id:
                return call
        raise IllegalSignal(f"no tool call {id} is under way")
