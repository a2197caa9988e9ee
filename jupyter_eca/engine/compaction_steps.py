"""How a summary is asked for and taken, within a step. Each function returns the signal to give to the turn.

It must not give signals: `turn_driver` does. What is summarised, and what is left of it, is in `model/compaction`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from jupyter_eca.engine import reply
from jupyter_eca.engine.effects import CallModel
from jupyter_eca.engine.inputs import ModelFailed, ModelFinished, Streamed
from jupyter_eca.engine.model import compaction, task_plan
from jupyter_eca.engine.model.compaction import SummaryUnderWay, WindowUsage
from jupyter_eca.engine.model.delta import TextDelta, UsageDelta
from jupyter_eca.engine.model.texts import (
    NOTHING_TO_SUMMARISE,
    PRUNED,
    SUMMARISED,
    SUMMARISING,
    SUMMARY,
    SUMMARY_EMPTY,
    SUMMARY_FAILED,
)
from jupyter_eca.engine.turn import TurnSignal
from jupyter_eca.protocol.content import ProgressContent, Role, TextContent
from jupyter_eca.protocol.event import PrunedAside, SummaryAside

if TYPE_CHECKING:
    from jupyter_eca.engine.state import ChatState
    from jupyter_eca.engine.step_builder import StepBuilder

ModelInput = Streamed | ModelFinished | ModelFailed


def is_due(state: ChatState) -> bool:
    """Whether a summary must be made before the next model call."""
    return compaction.is_due(state.window, state.setup.compact_at, state.history, state.summarised_at_step, state.steps)


def begin(builder: StepBuilder, focus: str) -> TurnSignal:
    """Begin a summary because a command asks for one."""
    if not compaction.select_covered(builder.state.history):
        builder.emit(TextContent(text=NOTHING_TO_SUMMARISE), Role.SYSTEM)
        return TurnSignal.CARRIED_OUT
    builder.update(summary_under_way=SummaryUnderWay(focus=focus))
    return TurnSignal.COMPACT


def make_room(builder: StepBuilder) -> TurnSignal | None:
    """Make a request shorter that was refused as too long. Return None when nothing can be left out any more."""
    state = builder.state
    if state.said:
        return None
    if not state.pruned and compaction.prune(state.history) is not state.history:
        builder.update(pruned=True)
        builder.emit(TextContent(text=PRUNED), Role.SYSTEM, aside=PrunedAside())
        return TurnSignal.PRUNED
    if state.summarised_at_step is None and compaction.select_covered(state.history):
        # It is the same step that is tried once more.
        builder.update(summary_under_way=SummaryUnderWay(forced=True), steps=state.steps - 1)
        return TurnSignal.FULL
    return None


def request_summary(builder: StepBuilder) -> None:
    """Call the model for a summary."""
    state = builder.state
    summing = state.summary_under_way or SummaryUnderWay()
    builder.update(
        summary_under_way=summing, request=state.request + 1, calls=(), indexes=(), summarised_at_step=state.steps
    )
    builder.emit(ProgressContent(state="running", text=SUMMARISING), Role.SYSTEM)
    request = replace(builder.model_request, messages=compaction.build_summary_messages(builder.state.history, summing))
    builder.effects.append(CallModel(builder.state.request, request))


def take(builder: StepBuilder, input: ModelInput) -> TurnSignal | None:
    """Take what the model says to the request. Reasoning and calls of tools are not asked for, and dropped."""
    summing = builder.state.summary_under_way
    if summing is None:
        return None
    match input:
        case Streamed(delta=TextDelta(text=text)):
            builder.update(summary_under_way=replace(summing, text=summing.text + text))
        case Streamed(delta=UsageDelta() as usage):
            reply.count(builder, usage)
        case Streamed():
            pass
        case ModelFinished() if summing.text.strip():
            builder.update(summary_under_way=None, window=WindowUsage())
            text = SUMMARY + summing.text.strip() + task_plan.format_for_summary(builder.state.tasks)
            # Also when a command has asked for it: the model is to hear of this.
            builder.emit(TextContent(text=SUMMARISED), Role.SYSTEM, aside=SummaryAside(text=text), local=False)
            return TurnSignal.CARRIED_OUT if builder.state.local else TurnSignal.SUMMED
        case ModelFinished():
            return _fail(builder, summing, SUMMARY_EMPTY)
        case ModelFailed(message=message, final=final):
            return _fail(builder, summing, message, final=final)
    return None


def _fail(builder: StepBuilder, summing: SummaryUnderWay, why: str, *, final: bool = False) -> TurnSignal:
    """Go on without a summary where the next request may still fit. Nothing is lost."""
    builder.update(summary_under_way=None)
    builder.emit(TextContent(text=SUMMARY_FAILED.format(why)), Role.SYSTEM)
    ends = summing.forced or builder.state.local or final
    return TurnSignal.REFUSED if ends else TurnSignal.SUMMED
