"""Owns the part of a step that replaces a long conversation by a summary: it requests the summary and receives it.

A summary is written by the model itself, in a request of its own before the next step of the turn.

This module must not give signals to the turn. Its functions return the signal that comes next, and `turn_driver` gives
it. Each function writes its events and effects into a `StepBuilder`, which collects the result of the step. The
neighbour `model/compaction` decides which messages are summarised and which remain.
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
from jupyter_eca.errors import FailureKind
from jupyter_eca.protocol.content import ProgressContent, Role, TextContent, TurnFailure
from jupyter_eca.protocol.event import PrunedAside, SummaryAside

if TYPE_CHECKING:
    from jupyter_eca.engine.step_builder import StepBuilder

# The inputs from the model call that writes the summary.
ModelInput = Streamed | ModelFinished | ModelFailed


def begin_summary(builder: StepBuilder, focus: str) -> TurnSignal:
    """Begin a summary that a command requests. Return the signal for the turn. `focus` is what the summary must contain
    above all, in the user's words; "" for nothing."""
    if not compaction.select_messages_to_summarise(builder.state.history):
        builder.emit(TextContent(text=NOTHING_TO_SUMMARISE), Role.SYSTEM)
        return TurnSignal.CARRIED_OUT
    builder.update(summary_under_way=SummaryUnderWay(focus=focus))
    return TurnSignal.COMPACT


def shorten_request(builder: StepBuilder) -> TurnSignal | None:
    """Shorten a request that was refused as too long. Return the signal for the turn.

    First, old results of tools are left out. If that is not enough, a summary is made. Returns None when both were done
    already in this turn, or when a part of the reply was shown already.
    """
    state = builder.state
    if state.reply_begun:
        return None
    if not state.pruned and compaction.prune(state.history) is not state.history:
        builder.update(pruned=True)
        builder.emit(TextContent(text=PRUNED), Role.SYSTEM, aside=PrunedAside())
        return TurnSignal.PRUNED
    if state.summarised_at_step is None and compaction.select_messages_to_summarise(state.history):
        # The refused call is made again after the summary. It must not count as two steps.
        builder.update(summary_under_way=SummaryUnderWay(forced=True), steps=state.steps - 1)
        return TurnSignal.FULL
    return None


def request_summary(builder: StepBuilder) -> None:
    """Ask the model to write a summary."""
    state = builder.state
    summary = state.summary_under_way or SummaryUnderWay()
    builder.update(
        summary_under_way=summary, request=state.request + 1, calls=(), indexes=(), summarised_at_step=state.steps
    )
    builder.emit(ProgressContent(state="running", text=SUMMARISING), Role.SYSTEM)
    request = replace(builder.model_request, messages=compaction.build_summary_messages(builder.state.history, summary))
    builder.effects.append(CallModel(builder.state.request, request))


def handle_model_input(builder: StepBuilder, input: ModelInput) -> TurnSignal | None:
    """Handle an input from the model that writes the summary. Return the signal for the turn; None for no signal.

    Reasoning and tool calls are dropped, because the request does not ask for them.
    """
    summary = builder.state.summary_under_way
    if summary is None:
        return None
    match input:
        case Streamed(delta=TextDelta(text=text)):
            builder.update(summary_under_way=replace(summary, text=summary.text + text))
        case Streamed(delta=UsageDelta() as usage):
            reply.add_usage(builder, usage)
        case Streamed():
            pass
        case ModelFinished() if summary.text.strip():
            builder.update(summary_under_way=None, window=WindowUsage())
            text = SUMMARY + summary.text.strip() + task_plan.format_for_summary(builder.state.tasks)
            # `local=False`, even in the turn of a command: no model reads a local event, and it must read the summary.
            builder.emit(TextContent(text=SUMMARISED), Role.SYSTEM, aside=SummaryAside(text=text), local=False)
            return TurnSignal.CARRIED_OUT if builder.state.local else TurnSignal.SUMMARY_DONE
        case ModelFinished():
            return _abandon_summary(builder, summary, SUMMARY_EMPTY)
        case ModelFailed(message=message, final=final, kind=kind):
            return _abandon_summary(builder, summary, message, final=final, kind=kind)
    return None


def _abandon_summary(
    builder: StepBuilder,
    summary: SummaryUnderWay,
    reason: str,
    *,
    final: bool = False,
    kind: FailureKind = FailureKind.OTHER,
) -> TurnSignal:
    """Show why there is no summary. Return the signal that ends the turn, or that continues it without a
    summary.

    The turn continues if the next request may still fit into the context window. The conversation stays as it was.
    `final` is whether every other request of the turn would fail too.
    """
    builder.update(summary_under_way=None)
    ends = summary.forced or builder.state.local or final
    failure = TurnFailure(kind=kind, model=builder.state.setup.model) if ends else None
    builder.emit(TextContent(text=SUMMARY_FAILED.format(reason), failure=failure), Role.SYSTEM)
    return TurnSignal.REFUSED if ends else TurnSignal.SUMMARY_DONE
