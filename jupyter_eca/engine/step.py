"""`step`: one chat, from what it is and what happened to what it becomes, what it says and what must be done.

The walk follows the two tables, `turn.TURNS` and `toolcall.TOOL_CALLS`. What their moves mean is in `walk` for turns
and in `calling` for tool calls; `saying` has what a model's reply is made of.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, assert_never

from jupyter_eca.engine import compaction_steps, inputs, reply, tool_calls
from jupyter_eca.engine.effects import Effect
from jupyter_eca.engine.state import ChatState
from jupyter_eca.engine.tool_call import ToolCallSignal
from jupyter_eca.engine.turn import TURNS, TurnSignal
from jupyter_eca.engine.turn_driver import Walk
from jupyter_eca.protocol.content import Role
from jupyter_eca.protocol.event import Event

if TYPE_CHECKING:
    from jupyter_eca.engine.inputs import Input

Step = tuple[ChatState, tuple[Event, ...], tuple[Effect, ...]]


def step(state: ChatState, input: Input) -> Step:
    """Raises: IllegalSignal when the input means nothing now; the state given still stands."""
    walk = Walk(state, input.at)
    match input:
        case (
            inputs.Prompted()
            | inputs.Asked()
            | inputs.Gathered()
            | inputs.Answered()
            | inputs.Compacted()
            | inputs.Steered()
            | inputs.Trusted()
            | inputs.Ruled()
            | inputs.Marked()
            | inputs.Noted()
            | inputs.Hooked()
            | inputs.Spent()
            | inputs.Stopped()
        ):
            _user(walk, input)
        case inputs.Streamed() | inputs.ModelFinished() | inputs.ModelFailed():
            if walk.listens_to(input.request):
                _model(walk, input)
        case inputs.Waited(request=request):
            walk.waited(request)
        case inputs.ToolFinished() | inputs.Approved() | inputs.Rejected() | inputs.Reached():
            _call(walk, input)
        case _:
            assert_never(input)
    walk.show_notes()
    return walk.state, tuple(walk.events), tuple(walk.effects)


def _user(
    walk: Walk,
    input: inputs.Prompted
    | inputs.Asked
    | inputs.Gathered
    | inputs.Answered
    | inputs.Compacted
    | inputs.Steered
    | inputs.Trusted
    | inputs.Ruled
    | inputs.Marked
    | inputs.Noted
    | inputs.Hooked
    | inputs.Spent
    | inputs.Stopped,
) -> None:
    match input:
        case inputs.Prompted():
            walk.prompt(input)
        case inputs.Asked():
            walk.asked(input)
        case inputs.Gathered():
            walk.gathered(input)
        case inputs.Answered(text=text, failed=failed, unsaid=unsaid):
            walk.answered(text, failed=failed, unsaid=unsaid)
        case inputs.Compacted(focus=focus):
            compaction_steps.asked(walk, focus)
        case inputs.Steered():
            walk.steer(input)
        case inputs.Trusted(trust=trust):
            walk.state = replace(walk.state, trust=trust)
        case inputs.Ruled(policy=policy):
            tool_calls.rule(walk, policy)
        case inputs.Marked(content=content):
            walk.emit(content, Role.SYSTEM, turn="")
        case inputs.Noted():
            walk.state = replace(walk.state, unshown=(*walk.state.unshown, input))
        case inputs.Hooked(content=content):
            walk.hooked(content)
        case inputs.Spent():
            reply.add_cost(walk, input)
        case inputs.Stopped():
            walk.stop()


def _model(walk: Walk, input: inputs.Streamed | inputs.ModelFinished | inputs.ModelFailed) -> None:
    if walk.state.summing is not None:
        compaction_steps.hear(walk, input)
        return
    match input:
        case inputs.Streamed(delta=delta):
            reply.hear(walk, delta)
        case inputs.ModelFinished(details=details, adjusted=adjusted):
            tool_calls.describe(walk, details, adjusted)
            walk.reply_complete()
        case inputs.ModelFailed():
            walk.fail(input)


def _call(walk: Walk, input: inputs.ToolFinished | inputs.Approved | inputs.Rejected | inputs.Reached) -> None:
    call = walk.state.call(input.call)
    match input:
        case inputs.ToolFinished():
            tool_calls.finish(walk, call, input)
            walk.stop() if input.stops else walk.settle()
        case inputs.Reached(details=details):
            tool_calls.reach(walk, call, details)
        case inputs.Approved(remember=remember):
            tool_calls.approve(walk, call, remember=remember)
        case inputs.Rejected(reason=reason, words=words):
            tool_calls.signal(walk, call, ToolCallSignal.REJECT, reason=reason, words=words)
            walk.settle()


def accepts(state: ChatState, signal: TurnSignal) -> bool:
    """Whether a signal means anything to the chat now."""
    return TURNS.accepts(state.status, signal)
