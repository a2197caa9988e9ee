"""The life of a chat's turns, as a table: from a prompt to the one event that ends the turn."""

from __future__ import annotations

from enum import StrEnum

from jupyter_eca.engine.table import Table


class TurnStatus(StrEnum):
    IDLE = "idle"
    STREAMING = "streaming"
    ACTING = "acting"
    STOPPING = "stopping"


class TurnSignal(StrEnum):
    PROMPT = "prompt"
    CALLS = "calls"
    ANSWER = "answer"
    FAIL = "fail"
    SETTLED = "settled"
    STOP = "stop"


class TurnMove(StrEnum):
    OPEN = "open"
    CALL_MODEL = "call model"
    CANCEL_MODEL = "cancel model"
    DECIDE = "decide"
    STOP_CALLS = "stop calls"
    COMPLETE = "complete"
    FAILED = "failed"
    STOPPED = "stopped"


St, Si, Mo = TurnStatus, TurnSignal, TurnMove

# idle        nothing is under way (terminal for a turn, start of the next)
# streaming   a model call is under way
# acting      the model's reply ended in tool calls; at least one is not terminal yet
# stopping    somebody said stop; running tools are winding down
#
# `settled` says that every tool call of the reply is terminal. `calls` goes by what was received, not by the stop
# reason the model's server wrote beside it: some mislabel it, and the calls would be lost.
TURNS: Table[TurnStatus, TurnSignal, TurnMove] = Table(
    {
        (St.IDLE, Si.PROMPT): (St.STREAMING, (Mo.OPEN, Mo.CALL_MODEL)),
        (St.STREAMING, Si.CALLS): (St.ACTING, (Mo.DECIDE,)),
        (St.STREAMING, Si.ANSWER): (St.IDLE, (Mo.COMPLETE,)),
        (St.STREAMING, Si.FAIL): (St.IDLE, (Mo.STOP_CALLS, Mo.FAILED)),
        (St.STREAMING, Si.STOP): (St.STOPPING, (Mo.CANCEL_MODEL, Mo.STOP_CALLS)),
        (St.ACTING, Si.SETTLED): (St.STREAMING, (Mo.CALL_MODEL,)),
        (St.ACTING, Si.STOP): (St.STOPPING, (Mo.STOP_CALLS,)),
        (St.STOPPING, Si.SETTLED): (St.IDLE, (Mo.STOPPED,)),
        (St.STOPPING, Si.STOP): (St.STOPPING, ()),
    }
)
