"""Where a turn goes from each status, with which work and which outcome: the rows of `turn.TURNS`, from outside."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from jupyter_eca.engine.effects import (
    CallModel,
    CancelGathering,
    CancelModel,
    CancelTool,
    CancelWait,
    Gather,
    RunTool,
    Wait,
)
from jupyter_eca.engine.model.delta import UsageDelta
from jupyter_eca.engine.model.retry import Failure
from jupyter_eca.engine.turn import TurnStatus as Status
from jupyter_eca.errors import FailureKind
from jupyter_eca.protocol.event import Outcome
from tests.engine.talk import LOOK, Talk, call

if TYPE_CHECKING:
    from collections.abc import Callable

    from jupyter_eca.engine.effects import Effect

BUSY = Failure(FailureKind.OVERLOADED, retry_after=1)
FULL = UsageDelta(760, 0, context_limit=1_000)


def gathering() -> Talk:
    return Talk().begins("Hi")


def commanded() -> Talk:
    return Talk().begins("/help", local=True)


def compacting_in_a_command() -> Talk:
    return Talk().asks("Hi").says("Hello").done().begins("/compact", local=True).compacts()


def compacting() -> Talk:
    return Talk().asks("x" * 3_000).says("Long.", FULL).done().asks("And now?")


def streaming() -> Talk:
    return Talk().asks("Hi")


def waiting() -> Talk:
    return Talk().asks("Hi").fails(failure=BUSY)


def acting() -> Talk:
    return Talk().asks("Hi").calls(call("look"))


def serving() -> Talk:
    return Talk().is_called(LOOK)


def stopping() -> Talk:
    return acting().stops()


Row = tuple["Callable[[], Talk]", "Callable[[Talk], Talk]", Status, list[type["Effect"]], "Outcome | None"]
ROWS: list[Row] = [
    (Talk, lambda talk: talk.begins("Hi"), Status.GATHERING, [Gather], None),
    (Talk, lambda talk: talk.begins("/help", local=True), Status.COMMANDED, [Gather], None),
    (Talk, lambda talk: talk.is_called(LOOK), Status.SERVING, [RunTool], None),
    (gathering, lambda talk: talk.gathers(), Status.STREAMING, [CallModel], None),
    (gathering, lambda talk: talk.answers("No.", failed=True), Status.IDLE, [], Outcome.FAILED),
    (gathering, lambda talk: talk.steers("Rather so"), Status.GATHERING, [], None),
    (gathering, lambda talk: talk.stops(), Status.IDLE, [CancelGathering], Outcome.STOPPED),
    (commanded, lambda talk: talk.answers(), Status.IDLE, [], Outcome.COMPLETED),
    (commanded, lambda talk: talk.answers(failed=True), Status.IDLE, [], Outcome.FAILED),
    (commanded, lambda talk: talk.stops(), Status.IDLE, [CancelGathering], Outcome.STOPPED),
    (commanded, lambda talk: talk.compacts(), Status.IDLE, [], Outcome.COMPLETED),
    (compacting, lambda talk: talk.says("Short.").done(), Status.STREAMING, [CallModel], None),
    (compacting, lambda talk: talk.steers("Rather so"), Status.COMPACTING, [], None),
    (compacting, lambda talk: talk.stops(), Status.IDLE, [CancelModel], Outcome.STOPPED),
    (compacting_in_a_command, lambda talk: talk.says("Short.").done(), Status.IDLE, [], Outcome.COMPLETED),
    (compacting_in_a_command, lambda talk: talk.fails(), Status.IDLE, [], Outcome.FAILED),
    (streaming, lambda talk: talk.says("Hello").done(), Status.IDLE, [], Outcome.COMPLETED),
    (streaming, lambda talk: talk.calls(call("look")), Status.ACTING, [RunTool], None),
    (streaming, lambda talk: talk.fails(failure=BUSY), Status.WAITING, [Wait], None),
    (streaming, lambda talk: talk.fails(), Status.IDLE, [], Outcome.FAILED),
    (streaming, lambda talk: talk.steers("Rather so"), Status.STREAMING, [], None),
    (streaming, lambda talk: talk.stops(), Status.IDLE, [CancelModel], Outcome.STOPPED),
    (waiting, lambda talk: talk.waits(), Status.STREAMING, [CallModel], None),
    (waiting, lambda talk: talk.steers("Rather so"), Status.WAITING, [], None),
    (waiting, lambda talk: talk.stops(), Status.IDLE, [CancelWait], Outcome.STOPPED),
    (acting, lambda talk: talk.ran("1"), Status.STREAMING, [CallModel], None),
    (acting, lambda talk: talk.steers("Rather so"), Status.ACTING, [], None),
    (acting, lambda talk: talk.stops(), Status.STOPPING, [CancelTool], None),
    (serving, lambda talk: talk.ran("x1"), Status.IDLE, [], Outcome.COMPLETED),
    (serving, lambda talk: talk.stops(), Status.STOPPING, [CancelTool], None),
    (stopping, lambda talk: talk.stops(), Status.STOPPING, [], None),
    (stopping, lambda talk: talk.ran("1"), Status.IDLE, [], Outcome.STOPPED),
]


@pytest.mark.parametrize(("before", "happens", "status", "effects", "outcome"), ROWS)
def test_a_turn_goes_on_with_this_work_or_ends_like_this(
    before: Callable[[], Talk],
    happens: Callable[[Talk], Talk],
    status: Status,
    effects: list[type[Effect]],
    outcome: Outcome | None,
) -> None:
    talk = before()
    ended = len(talk.outcomes())
    happens(talk)
    assert (talk.state.status, list(map(type, talk.effects))) == (status, effects)
    assert talk.outcomes()[ended:] == ([] if outcome is None else [outcome])
