"""Owns `TURNS`, the table that says what a turn can do next, from its prompt to the one event that ends it.

The table must not know what a move does: its neighbour `turn_driver` carries the moves out. The table for one tool
call is in `tool_call`.

**The idea.** A turn begins when the user sends a prompt, and ends with exactly one event that has an outcome:
completed, failed or stopped. In between, the model may be called many times. Three words describe all of this:

- A *status* says what the turn is waiting for. `streaming` waits for the model, `acting` waits for tools, and `idle`
  means that no turn is under way.
- A *signal* says what has just happened. It is not the same as an input of `step`: `turn_driver` looks at the input
  and at the chat, and chooses the signal. For example, the input `ModelFinished` becomes the signal `calls` if the
  reply has tool calls, and the signal `answer` if it has none.
- A *move* is the work that follows, such as `call model`. Most moves become an effect, which the host runs.

**An example.** The user asks "How many rows does @data.csv have?". The model calls a tool that needs approval, reads
its result, and answers.

| what happens | signal | status afterwards | moves |
|---|---|---|---|
| the user sends the prompt | `prompt` | gathering | `gather` |
| the files that the prompt mentions have been read | `ready` | streaming | `call model` |
| the reply is complete and contains a tool call | `calls` | acting | `decide` |
| the user approves the call; the tool runs and ends | `settled` | streaming | `call model` |
| the second reply is complete and contains only text | `answer` | idle | `complete` |

The fourth row is short because approving, running and ending are signals to the tool call, not to the turn: they are in
`tool_call.TOOL_CALLS`. The turn gets only `settled`, when the last call of the reply has ended.

**The same turn, stopped.** The user presses Stop while the tool runs. A tool cannot always end at once, so the turn
waits for it in a status of its own:

| what happens | signal | status afterwards | moves |
|---|---|---|---|
| the user presses Stop | `stop` | stopping | `stop calls` |
| the tool has ended | `settled` | idle | `stopped` |

**The same turn, with a failure.** The model's server is overloaded. Nothing of its reply was shown yet, so the request
can be repeated without harm:

| what happens | signal | status afterwards | moves |
|---|---|---|---|
| the model call fails | `retry` | waiting | `wait` |
| a part of the wait has passed; the user sees how many seconds are left | `tick` | waiting | `wait` |
| the wait is over | `due` | streaming | `repeat` |

What the table does not list cannot happen: a second prompt in the status `streaming` has no row, so it raises
`IllegalSignal` and the turn goes on as before. Every status of a running turn has a row for `stop`.
"""

from __future__ import annotations

from enum import StrEnum

from jupyter_eca.engine.table import Table


class TurnStatus(StrEnum):
    """What a turn is waiting for. The comment above the table explains each status."""

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
    """What can happen to a turn. The comment above the table explains each signal."""

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
    SUMMARY_DONE = "summary done"
    PRUNED = "pruned"
    STOP = "stop"


class TurnMove(StrEnum):
    """The work that follows from a signal. The comment above the table explains each move."""

    GATHER = "gather"
    CANCEL_GATHERING = "cancel gathering"
    KEEP_STEER = "keep steer"
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


# Short names for the table.
Status, Signal, Move = TurnStatus, TurnSignal, TurnMove

# The statuses:
# idle        no turn is under way; the last one has ended, and the next one can begin
# gathering   the contexts that the prompt mentions are being read
# commanded   a command of ours is running
# compacting  the model is writing a summary of the conversation
# streaming   the model is writing a reply
# waiting     a model call failed before any of its reply was shown; it will be repeated later
# acting      the model's reply contains tool calls, and at least one of them has not ended yet
# serving     a program of the user called a tool, without a model; the call has not ended yet
# stopping    the user stopped the turn; running tools have been cancelled, but not all have ended yet
#
# The signals:
# prompt       the user sends a prompt
# command      the user sends a command of ours, such as `/help`
# call         a program of the user calls a tool
# ready        the contexts have been read
# carried out  a command of ours has succeeded, and the turn ends
# refused      a command has failed, or a hook has refused the prompt
# steer        the user sends a message during the turn; the model reads it before its next step
# calls        the reply contains tool calls. Only the received calls decide this, not the stop reason that the model's
#              server sends with them: some servers send a wrong reason, and the calls would be lost
# answer       the reply contains no tool calls
# paused       the vendor has interrupted the reply; the rest of it is requested
# fail         the model call has failed and is not repeated
# retry        the model call has failed and is repeated later. Nothing of its reply was shown or run, so the repetition
#              is no different from a first call
# tick         a part of the wait has passed; the user sees how many seconds are left
# due          the wait is over
# settled      every tool call of the reply has ended
# exhausted    every tool call of the reply has ended, and the agent has no steps left (`maxSteps`)
# compact      a command requests a summary
# full         the context window is too full for the next model call, so a summary is made first
# summary done the turn goes on: with the summary, or without it if the summary failed and there is still some room
# pruned       a request was refused, and is repeated without the refused part: without old results of tools if it was
#              too long, or without an image or a document
# stop         the user stops the turn
#
# The moves:
# gather, cancel gathering, cancel model, wait, cancel wait    add the effect of the same name, see `effects`. For a
#             command, `Gather` runs the command
# keep steer  no work: `TurnDriver.steer` stores the message
# call model  call the model for the next step of the turn
# repeat      call the model again in the same step
# summarise   call the model for a summary
# decide      decide for each tool call of the reply whether it runs, needs approval or is denied
# stop calls  stop all tool calls that have not ended
# complete, failed, stopped    end the turn with this outcome
TURNS: Table[TurnStatus, TurnSignal, TurnMove] = Table(
    {
        (Status.IDLE, Signal.PROMPT): (Status.GATHERING, (Move.GATHER,)),
        (Status.IDLE, Signal.COMMAND): (Status.COMMANDED, (Move.GATHER,)),
        (Status.IDLE, Signal.CALL): (Status.SERVING, (Move.DECIDE,)),
        (Status.GATHERING, Signal.READY): (Status.STREAMING, (Move.CALL_MODEL,)),
        (Status.GATHERING, Signal.FULL): (Status.COMPACTING, (Move.SUMMARISE,)),
        (Status.GATHERING, Signal.REFUSED): (Status.IDLE, (Move.FAILED,)),
        (Status.GATHERING, Signal.STEER): (Status.GATHERING, (Move.KEEP_STEER,)),
        (Status.GATHERING, Signal.STOP): (Status.IDLE, (Move.CANCEL_GATHERING, Move.STOPPED)),
        (Status.COMMANDED, Signal.CARRIED_OUT): (Status.IDLE, (Move.COMPLETE,)),
        (Status.COMMANDED, Signal.REFUSED): (Status.IDLE, (Move.FAILED,)),
        (Status.COMMANDED, Signal.COMPACT): (Status.COMPACTING, (Move.SUMMARISE,)),
        (Status.COMMANDED, Signal.STOP): (Status.IDLE, (Move.CANCEL_GATHERING, Move.STOPPED)),
        (Status.COMPACTING, Signal.SUMMARY_DONE): (Status.STREAMING, (Move.CALL_MODEL,)),
        (Status.COMPACTING, Signal.CARRIED_OUT): (Status.IDLE, (Move.COMPLETE,)),
        (Status.COMPACTING, Signal.REFUSED): (Status.IDLE, (Move.FAILED,)),
        (Status.COMPACTING, Signal.STEER): (Status.COMPACTING, (Move.KEEP_STEER,)),
        (Status.COMPACTING, Signal.STOP): (Status.STOPPING, (Move.CANCEL_MODEL,)),
        (Status.STREAMING, Signal.CALLS): (Status.ACTING, (Move.DECIDE,)),
        (Status.STREAMING, Signal.ANSWER): (Status.IDLE, (Move.COMPLETE,)),
        (Status.STREAMING, Signal.PAUSED): (Status.STREAMING, (Move.REPEAT,)),
        (Status.STREAMING, Signal.FULL): (Status.COMPACTING, (Move.SUMMARISE,)),
        (Status.STREAMING, Signal.PRUNED): (Status.STREAMING, (Move.REPEAT,)),
        (Status.STREAMING, Signal.RETRY): (Status.WAITING, (Move.WAIT,)),
        (Status.STREAMING, Signal.FAIL): (Status.IDLE, (Move.STOP_CALLS, Move.FAILED)),
        (Status.STREAMING, Signal.STEER): (Status.STREAMING, (Move.KEEP_STEER,)),
        (Status.STREAMING, Signal.STOP): (Status.STOPPING, (Move.CANCEL_MODEL, Move.STOP_CALLS)),
        (Status.WAITING, Signal.TICK): (Status.WAITING, (Move.WAIT,)),
        (Status.WAITING, Signal.DUE): (Status.STREAMING, (Move.REPEAT,)),
        (Status.WAITING, Signal.STEER): (Status.WAITING, (Move.KEEP_STEER,)),
        (Status.WAITING, Signal.STOP): (Status.IDLE, (Move.CANCEL_WAIT, Move.STOPPED)),
        (Status.ACTING, Signal.SETTLED): (Status.STREAMING, (Move.CALL_MODEL,)),
        (Status.ACTING, Signal.FULL): (Status.COMPACTING, (Move.SUMMARISE,)),
        (Status.ACTING, Signal.EXHAUSTED): (Status.IDLE, (Move.FAILED,)),
        (Status.ACTING, Signal.STEER): (Status.ACTING, (Move.KEEP_STEER,)),
        (Status.ACTING, Signal.STOP): (Status.STOPPING, (Move.STOP_CALLS,)),
        (Status.SERVING, Signal.SETTLED): (Status.IDLE, (Move.COMPLETE,)),
        (Status.SERVING, Signal.STOP): (Status.STOPPING, (Move.STOP_CALLS,)),
        (Status.STOPPING, Signal.SETTLED): (Status.IDLE, (Move.STOPPED,)),
        (Status.STOPPING, Signal.STOP): (Status.STOPPING, ()),
    }
)
