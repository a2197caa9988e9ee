"""The two lifecycles as graphs: nothing unreachable, nothing that cannot be stopped, nothing without an end."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest

from jupyter_eca.engine.tool_call import TERMINAL, TOOL_CALLS, ToolCallMove, ToolCallSignal, ToolCallStatus
from jupyter_eca.engine.turn import TURNS, TurnMove, TurnSignal, TurnStatus
from jupyter_eca.errors import IllegalSignal

if TYPE_CHECKING:
    from enum import StrEnum

    from jupyter_eca.engine.table import Table


@dataclass(frozen=True)
class Lifecycle:
    """`ends` are where it is over; a turn's end is also the start of the next."""

    table: Table[Any, Any, Any]
    statuses: type[StrEnum]
    signals: type[StrEnum]
    moves: type[StrEnum]
    start: StrEnum
    ends: frozenset[StrEnum]
    stop: StrEnum

    def reachable(self, start: StrEnum) -> set[StrEnum]:
        found, rows = {start}, self.table.rows
        while more := {to for (status, _), (to, _) in rows.items() if status in found} - found:
            found |= more
        return found


TURN = Lifecycle(
    TURNS, TurnStatus, TurnSignal, TurnMove, TurnStatus.IDLE, frozenset({TurnStatus.IDLE}), TurnSignal.STOP
)
TOOL_CALL = Lifecycle(
    TOOL_CALLS,
    ToolCallStatus,
    ToolCallSignal,
    ToolCallMove,
    ToolCallStatus.PREPARING,
    frozenset(TERMINAL),
    ToolCallSignal.STOP,
)
both = pytest.mark.parametrize("life", [TURN, TOOL_CALL], ids=["turn", "tool call"])


@both
def test_every_status_can_be_reached(life: Lifecycle) -> None:
    assert life.reachable(life.start) == set(life.statuses)


@both
def test_every_live_status_accepts_stop(life: Lifecycle) -> None:
    live = [status for status in life.statuses if status not in life.ends]
    assert [status for status in live if not life.table.accepts(status, life.stop)] == []


@both
def test_every_status_can_reach_an_end(life: Lifecycle) -> None:
    assert [status for status in life.statuses if not life.reachable(status) & life.ends] == []


@both
def test_every_signal_and_every_move_is_used(life: Lifecycle) -> None:
    assert {signal for _, signal in life.table.rows} == set(life.signals)
    assert {move for _, moves in life.table.rows.values() for move in moves} == set(life.moves)


@both
def test_an_unlisted_pair_is_illegal_and_all_others_are_not(life: Lifecycle) -> None:
    for status in life.statuses:
        for signal in life.signals:
            if (status, signal) in life.table.rows:
                assert life.table.look_up(status, signal) == life.table.rows[status, signal]
            else:
                assert not life.table.accepts(status, signal)
                with pytest.raises(IllegalSignal, match=f"{signal} means nothing while {status}"):
                    life.table.look_up(status, signal)


def test_a_terminal_tool_call_takes_no_signal() -> None:
    assert [row for row in TOOL_CALLS.rows if row[0] in TERMINAL] == []


def test_a_tool_call_that_ends_says_so_exactly_once() -> None:
    ending = {ToolCallMove.CALLED: ToolCallStatus.CALLED, ToolCallMove.REJECTED: ToolCallStatus.REJECTED}
    for to, moves in TOOL_CALLS.rows.values():
        assert [ending[move] for move in moves if move in ending] == ([to] if to in TERMINAL else [])


def test_a_turn_that_ends_says_so_exactly_once_and_last() -> None:
    endings = {TurnMove.COMPLETE, TurnMove.FAILED, TurnMove.STOPPED}
    for to, moves in TURNS.rows.values():
        assert [move in endings for move in moves] == [False] * (len(moves) - 1) + [to is TurnStatus.IDLE] * bool(moves)


def test_a_tool_runs_only_when_it_is_announced_and_allowed_or_approved() -> None:
    running = [pair for pair, (_, moves) in TOOL_CALLS.rows.items() if ToolCallMove.RUN in moves]
    assert running == [(ToolCallStatus.QUEUED, ToolCallSignal.START)]
    queued = [pair for pair, (to, _) in TOOL_CALLS.rows.items() if to is ToolCallStatus.QUEUED]
    assert queued == [
        (ToolCallStatus.PREPARING, ToolCallSignal.ALLOW),
        (ToolCallStatus.WAITING, ToolCallSignal.APPROVE),
    ]
