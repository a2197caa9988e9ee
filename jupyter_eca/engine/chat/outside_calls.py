"""Owns the part of a step that begins the tool calls of an outside agent and decides about them, during its reply.

An outside agent is another program that answers in the place of a model of ours. It calls tools during its reply, and
continues the reply when they have ended. So each of its calls is decided at once. The calls of a model are decided
together, when its reply is complete. This module must not give signals to the turn: `turn_driver` does. Its neighbour
`engine/tool_calls` carries out all that calls have in common.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from jupyter_eca.engine import reply, tool_calls
from jupyter_eca.engine.tool_call import NO_ADJUSTMENT, ToolCall
from jupyter_eca.errors import IllegalSignal
from jupyter_eca.protocol.content import ToolCallPrepareContent

if TYPE_CHECKING:
    from jupyter_eca.engine.inputs import CallBegun, CallReady
    from jupyter_eca.engine.step_builder import StepBuilder


def begin_call(builder: StepBuilder, begun: CallBegun) -> None:
    """Add a call to the reply under way, and show that it is being prepared.

    Raises: IllegalSignal when the chat has a call of this id already.
    """
    state = builder.state
    if begun.call in state.call_ids:
        raise IllegalSignal(f"the chat has a tool call {begun.call} already")
    reply.begin_reply(builder)
    reply.close_reasoning(builder)
    call = ToolCall(begun.call, begun.tool.name, begun.tool, details=begun.details, outside=True)
    # The calls of a model have indexes from 0 on. A negative index cannot be mistaken for one of those.
    indexes = (*state.indexes, -1 - len(state.indexes))
    builder.update(calls=(*state.calls, call), indexes=indexes, call_ids=state.call_ids | {call.id})
    builder.emit(ToolCallPrepareContent(**call.build_common_fields(), arguments_text="", manual_approval=False))


def decide_call(builder: StepBuilder, ready: CallReady) -> None:
    """Decide about a call whose arguments are complete, and start it if it may run."""
    call = replace(
        builder.state.get_call(ready.call),
        tool=ready.tool,
        name=ready.tool.name,
        arguments=ready.arguments,
        details=ready.details,
        targets=ready.targets,
        unseen_path=ready.unseen_path,
        adjustment=ready.adjustment or NO_ADJUSTMENT,
    )
    tool_calls.decide_outside_call(builder, call, ready)
    tool_calls.start_ready_calls(builder)
