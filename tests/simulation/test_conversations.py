"""Conversations of random seeds keep all rules, and a broken rule is noticed.

10,000 conversations by default; with NIGHTLY=1 1,000,000 more. `seeds.json` has the seeds that have failed once, and
why.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from jupyter_eca.engine import tool_calls
from jupyter_eca.engine.tool_call import TOOL_CALLS, ToolCall, ToolCallMove, ToolCallSignal, ToolCallStatus
from jupyter_eca.engine.turn import TURNS, TurnMove, TurnSignal, TurnStatus
from tests.simulation.__main__ import find_failures
from tests.simulation.conversation import Conversation

SEEDS: dict[str, str] = json.loads(Path(__file__).with_name("seeds.json").read_text("utf-8"))


SAMPLE, NIGHTLY = 10_000, 1_000_000
# Blocks, which several processes share.
BLOCK, NIGHTLY_BLOCK = 1_000, 10_000


@pytest.mark.parametrize("first", range(0, SAMPLE, BLOCK))
def test_conversations_of_many_seeds_keep_all_rules(first: int) -> None:
    assert find_failures(first, BLOCK) == []


@pytest.mark.nightly
@pytest.mark.parametrize("first", range(SAMPLE, SAMPLE + NIGHTLY, NIGHTLY_BLOCK))
def test_conversations_of_very_many_seeds_keep_all_rules(first: int) -> None:
    assert find_failures(first, NIGHTLY_BLOCK) == []


@pytest.mark.parametrize("seed", SEEDS)
def test_a_seed_that_has_failed_once_keeps_all_rules(seed: str) -> None:
    Conversation(int(seed)).run()


def test_the_same_seed_gives_the_same_conversation() -> None:
    first, second = Conversation(7), Conversation(7)
    first.run()
    second.run()
    assert first.trace == second.trace
    assert first.disk.rows == second.disk.rows


def test_a_call_that_runs_without_a_question_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    row = (ToolCallStatus.QUEUED, (ToolCallMove.ANNOUNCE,))
    monkeypatch.setitem(TOOL_CALLS.rows, (ToolCallStatus.PREPARING, ToolCallSignal.ASK), row)
    assert find_failures(0, 100)


def test_a_change_in_plan_mode_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ToolCall, "is_allowed_when_planning", True)
    assert find_failures(340, 50)


def test_a_call_that_ends_twice_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    row = (ToolCallStatus.REJECTED, (ToolCallMove.REJECTED, ToolCallMove.REJECTED))
    monkeypatch.setitem(TOOL_CALLS.rows, (ToolCallStatus.WAITING, ToolCallSignal.REJECT), row)
    assert find_failures(0, 100)


def test_a_stop_that_cancels_nothing_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    row = (TurnStatus.STOPPING, (TurnMove.STOP_CALLS,))
    monkeypatch.setitem(TURNS.rows, (TurnStatus.STREAMING, TurnSignal.STOP), row)
    assert find_failures(0, 100)


def test_changes_that_run_side_by_side_or_after_a_failure_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    def find_blocker(*_: object) -> None:
        return None

    monkeypatch.setattr(tool_calls.call_order, "find_blocker", find_blocker)
    assert find_failures(0, 100)
