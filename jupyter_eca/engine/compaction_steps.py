"""What a walk does to make a conversation shorter. What the model is asked then, and what is left: `compacting`."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from jupyter_eca.engine import reply
from jupyter_eca.engine.effects import CallModel
from jupyter_eca.engine.inputs import ModelFailed, ModelFinished, Streamed
from jupyter_eca.engine.model import compaction, task_plan
from jupyter_eca.engine.model.compaction import Summing, Window
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
from jupyter_eca.engine.turn import TURNS, TurnSignal
from jupyter_eca.protocol.content import ProgressContent, Role, TextContent

if TYPE_CHECKING:
    from jupyter_eca.engine.state import ChatState
    from jupyter_eca.engine.turn_driver import Walk


def is_due(state: ChatState) -> bool:
    return compaction.is_due(state.window, state.setup.compact_at, state.history, state.summed, state.steps)


def asked(walk: Walk, focus: str) -> None:
    """By a command."""
    TURNS.take(walk.state.status, TurnSignal.COMPACT)
    if not compaction.covered(walk.state.history):
        walk.answered(NOTHING_TO_SUMMARISE, failed=False)
        return
    walk.state = replace(walk.state, summing=Summing(focus=focus))
    walk.signal(TurnSignal.COMPACT)


def make_room(walk: Walk) -> bool:
    """After a request that was refused as too long. False when nothing can be left out any more."""
    state = walk.state
    if state.said:
        return False
    if not state.pruned and compaction.pruned(state.history) is not state.history:
        walk.state = replace(state, pruned=True)
        walk.emit(TextContent(text=PRUNED), Role.SYSTEM, aside=PRUNED)
        walk.signal(TurnSignal.PRUNED)
        return True
    if state.summed is None and compaction.covered(state.history):
        # It is the same step that is tried once more.
        walk.state = replace(state, summing=Summing(forced=True), steps=state.steps - 1)
        walk.signal(TurnSignal.FULL)
        return True
    return False


def ask(walk: Walk) -> None:
    summing = walk.state.summing or Summing()
    walk.state = replace(
        walk.state, summing=summing, request=walk.state.request + 1, calls=(), indexes=(), summed=walk.state.steps
    )
    walk.emit(ProgressContent(state="running", text=SUMMARISING), Role.SYSTEM)
    request = replace(walk.request, messages=compaction.asking(walk.state.history, summing))
    walk.effects.append(CallModel(walk.state.request, request))


def hear(walk: Walk, input: Streamed | ModelFinished | ModelFailed) -> None:
    """What the model says to it. Reasoning and calls of tools are not asked for, and dropped."""
    summing = walk.state.summing
    if summing is None:
        return
    match input:
        case Streamed(delta=TextDelta(text=text)):
            walk.state = replace(walk.state, summing=replace(summing, text=summing.text + text))
        case Streamed(delta=UsageDelta() as usage):
            reply.count(walk, usage)
        case Streamed():
            pass
        case ModelFinished() if summing.text.strip():
            walk.state = replace(walk.state, summing=None, window=Window())
            aside = SUMMARY + summing.text.strip() + task_plan.summarised(walk.state.tasks)
            # Also when a command has asked for it: the model is to hear of this.
            walk.emit(TextContent(text=SUMMARISED), Role.SYSTEM, aside=aside, local=False)
            walk.signal(TurnSignal.CARRIED_OUT if walk.state.local else TurnSignal.SUMMED)
        case ModelFinished():
            _fail(walk, summing, SUMMARY_EMPTY)
        case ModelFailed(message=message, final=final):
            _fail(walk, summing, message, final=final)


def _fail(walk: Walk, summing: Summing, why: str, *, final: bool = False) -> None:
    """Nothing is lost. Where the next request may still fit it is made without a summary."""
    walk.state = replace(walk.state, summing=None)
    walk.emit(TextContent(text=SUMMARY_FAILED.format(why)), Role.SYSTEM)
    ends = summing.forced or walk.state.local or final
    walk.signal(TurnSignal.REFUSED if ends else TurnSignal.SUMMED)
