"""The life of a chat's turns, as the table `TURNS`: from a prompt to the one event that ends the turn.

The table must not know what a move does: `turn_driver` carries the moves out. The life of a tool call is in
`tool_call`.
"""

from __future__ import annotations

from enum import StrEnum

from jupyter_eca.engine.table import Table


class TurnStatus(StrEnum):
    """Where a turn stands. Each is explained above the table."""

    IDLE = "idle"
    GATHERING = "gathering"
    COMMANDED = "commanded"
    COMPACTING = "compacting"
    STREAMING = "streaming"
    WAITING = "waiting"
    ACTING = "acting"
    SERVING = "serving"
    STOPPING = "stopping"


class TurnSignal(StrEnum):
    """What can happen to a turn. Each is explained above the table."""

    PROMPT = "prompt"
    COMMAND = "command"
    CALL = "call"
    READY = "ready"
    CARRIED_OUT = "carried out"
    REFUSED = "refused"
    STEER = "steer"
    CALLS = "calls"
    ANSWER = "answer"
    PAUSED = "paused"
    FAIL = "fail"
    RETRY = "retry"
    TICK = "tick"
    DUE = "due"
    SETTLED = "settled"
    EXHAUSTED = "exhausted"
    COMPACT = "compact"
    FULL = "full"
    SUMMED = "summed"
    PRUNED = "pruned"
    STOP = "stop"


class TurnMove(StrEnum):
    """What follows from a signal."""

    GATHER = "gather"
    CANCEL_GATHERING = "cancel gathering"
    NOTE = "note"
    CALL_MODEL = "call model"
    CANCEL_MODEL = "cancel model"
    WAIT = "wait"
    CANCEL_WAIT = "cancel wait"
    REPEAT = "repeat"
    SUMMARISE = "summarise"
    DECIDE = "decide"
    STOP_CALLS = "stop calls"
    COMPLETE = "complete"
    FAILED = "failed"
    STOPPED = "stopped"


St, Si, Mo = TurnStatus, TurnSignal, TurnMove

# idle        nothing is under way (terminal for a turn, start of the next)
# gathering   what the user pointed at is being read
# commanded   a command of ours is being carried out
# compacting  the model is asked for a summary of the conversation
# streaming   a model call is under way
# waiting     a model call failed before it said anything, and will be repeated in a while
# acting      the model's reply ended in tool calls; at least one is not terminal yet
# serving     a program of the user's own called a tool, without a model; that call is not terminal yet
# stopping    somebody said stop; running tools are winding down
#
# ready        the context is read
# carried out  a command of ours has ended; no model is asked about it
# refused      a command came to nothing, or a hook did not let the prompt through
# steer        the user has words for the model's next step; it reads them before that step
# calls        the reply has tool calls. What was received counts, not the stop reason that the model's server wrote
#              beside it: some servers mislabel it, and the calls would be lost
# answer       the reply has none
# paused       the vendor interrupted its answer, and is asked for the rest
# fail         the model call failed, and is not repeated
# retry        the model call failed and is repeated later. Nothing of it was shown or run, so the repetition is as if
#              the failed call had never been
# tick         the reader is shown how much longer the wait is
# due          the wait is over
# settled      every tool call of the reply is terminal
# exhausted    every tool call is terminal, and the agent has had its steps
# compact      a command wants a summary
# full         there is no room for the next model call, so a summary is made first
# summed       the turn goes on with the summary, or without one where none came of it but there is still some room
# pruned       a request was refused, and is repeated without what it was refused for: the older results of tools where
#              it was too long, or an image or a document
TURNS: Table[TurnStatus, TurnSignal, TurnMove] = Table(
    {
        (St.IDLE, Si.PROMPT): (St.GATHERING, (Mo.GATHER,)),
        (St.GATHERING, Si.READY): (St.STREAMING, (Mo.CALL_MODEL,)),
        (St.IDLE, Si.COMMAND): (St.COMMANDED, (Mo.GATHER,)),
        (St.COMMANDED, Si.CARRIED_OUT): (St.IDLE, (Mo.COMPLETE,)),
        (St.COMMANDED, Si.REFUSED): (St.IDLE, (Mo.FAILED,)),
        (St.GATHERING, Si.REFUSED): (St.IDLE, (Mo.FAILED,)),
        (St.GATHERING, Si.STEER): (St.GATHERING, (Mo.NOTE,)),
        (St.COMMANDED, Si.COMPACT): (St.COMPACTING, (Mo.SUMMARISE,)),
        (St.GATHERING, Si.FULL): (St.COMPACTING, (Mo.SUMMARISE,)),
        (St.ACTING, Si.FULL): (St.COMPACTING, (Mo.SUMMARISE,)),
        (St.STREAMING, Si.FULL): (St.COMPACTING, (Mo.SUMMARISE,)),
        (St.STREAMING, Si.PRUNED): (St.STREAMING, (Mo.REPEAT,)),
        (St.COMPACTING, Si.SUMMED): (St.STREAMING, (Mo.CALL_MODEL,)),
        (St.COMPACTING, Si.CARRIED_OUT): (St.IDLE, (Mo.COMPLETE,)),
        (St.COMPACTING, Si.REFUSED): (St.IDLE, (Mo.FAILED,)),
        (St.COMPACTING, Si.STEER): (St.COMPACTING, (Mo.NOTE,)),
        (St.COMPACTING, Si.STOP): (St.STOPPING, (Mo.CANCEL_MODEL,)),
        (St.COMMANDED, Si.STOP): (St.IDLE, (Mo.CANCEL_GATHERING, Mo.STOPPED)),
        (St.GATHERING, Si.STOP): (St.IDLE, (Mo.CANCEL_GATHERING, Mo.STOPPED)),
        (St.IDLE, Si.CALL): (St.SERVING, (Mo.DECIDE,)),
        (St.SERVING, Si.SETTLED): (St.IDLE, (Mo.COMPLETE,)),
        (St.SERVING, Si.STOP): (St.STOPPING, (Mo.STOP_CALLS,)),
        (St.STREAMING, Si.CALLS): (St.ACTING, (Mo.DECIDE,)),
        (St.STREAMING, Si.ANSWER): (St.IDLE, (Mo.COMPLETE,)),
        (St.STREAMING, Si.PAUSED): (St.STREAMING, (Mo.REPEAT,)),
        (St.STREAMING, Si.FAIL): (St.IDLE, (Mo.STOP_CALLS, Mo.FAILED)),
        (St.STREAMING, Si.RETRY): (St.WAITING, (Mo.WAIT,)),
        (St.WAITING, Si.TICK): (St.WAITING, (Mo.WAIT,)),
        (St.WAITING, Si.DUE): (St.STREAMING, (Mo.REPEAT,)),
        (St.WAITING, Si.STEER): (St.WAITING, (Mo.NOTE,)),
        (St.WAITING, Si.STOP): (St.IDLE, (Mo.CANCEL_WAIT, Mo.STOPPED)),
        (St.STREAMING, Si.STEER): (St.STREAMING, (Mo.NOTE,)),
        (St.STREAMING, Si.STOP): (St.STOPPING, (Mo.CANCEL_MODEL, Mo.STOP_CALLS)),
        (St.ACTING, Si.SETTLED): (St.STREAMING, (Mo.CALL_MODEL,)),
        (St.ACTING, Si.EXHAUSTED): (St.IDLE, (Mo.FAILED,)),
        (St.ACTING, Si.STEER): (St.ACTING, (Mo.NOTE,)),
        (St.ACTING, Si.STOP): (St.STOPPING, (Mo.STOP_CALLS,)),
        (St.STOPPING, Si.SETTLED): (St.IDLE, (Mo.STOPPED,)),
        (St.STOPPING, Si.STOP): (St.STOPPING, ()),
    }
)
