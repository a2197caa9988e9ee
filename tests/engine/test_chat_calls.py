"""A program of the user's own calls a tool in a chat: the same approval, no model."""

from __future__ import annotations

import pytest

from jupyter_eca.engine.effects import AskUser, CancelTool, RunTool
from jupyter_eca.engine.model.request import TextPart, ToolResultPart
from jupyter_eca.engine.turn import TurnStatus
from jupyter_eca.errors import IllegalSignal
from jupyter_eca.protocol.content import RejectReason, ToolCalledContent, ToolCallRejectedContent
from jupyter_eca.protocol.event import Outcome
from tests.engine.talk import ACT, FAR, LOOK, Talk


def test_a_call_that_the_rules_allow_runs_and_is_the_whole_turn() -> None:
    talk = Talk().is_called(LOOK, '{"what": "x"}')
    (run,) = talk.effects
    assert isinstance(run, RunTool)
    assert (run.tool, run.arguments) == (LOOK, {"what": "x"})
    talk.ran(run.call, "It is 1.")
    assert talk.effects == ()
    assert (talk.outcomes(), talk.state.status) == ([Outcome.COMPLETED], TurnStatus.IDLE)
    (called,) = talk.shown(ToolCalledContent)
    assert (called.outputs[0].text, called.summary) == ("It is 1.", "Looking at x")


def test_a_call_that_the_rules_do_not_name_waits_for_an_answer() -> None:
    talk = Talk().is_called(FAR)
    assert [type(effect) for effect in talk.effects] == [AskUser]
    talk.approves(talk.state.calls[0].id)
    assert [type(effect) for effect in talk.effects] == [RunTool]


def test_a_call_that_is_forbidden_or_rejected_ends_the_turn_unrun() -> None:
    talk = Talk().is_called(ACT, '{"how": "badly"}')
    assert talk.effects == ()
    talk.is_called(FAR)
    talk.rejects(talk.state.calls[0].id)
    assert [one.reason for one in talk.shown(ToolCallRejectedContent)] == [RejectReason.CONFIG, RejectReason.USER]
    assert talk.outcomes() == [Outcome.COMPLETED] * 2


def test_arguments_that_are_no_object_fail_the_call() -> None:
    talk = Talk().is_called(LOOK, "[]")
    (called,) = talk.shown(ToolCalledContent)
    assert (called.error, talk.outcomes()) == (True, [Outcome.COMPLETED])


def test_a_stop_cancels_the_call() -> None:
    talk = Talk().is_called(LOOK)
    call = talk.state.calls[0].id
    assert talk.stops().effects == (CancelTool(call),)
    assert talk.ran(call, "").outcomes() == [Outcome.STOPPED]


def test_a_chat_that_answers_takes_no_call_and_one_that_is_called_no_prompt() -> None:
    with pytest.raises(IllegalSignal):
        Talk().asks().is_called(LOOK)
    with pytest.raises(IllegalSignal):
        Talk().is_called(LOOK).begins()


def test_a_model_that_is_asked_later_knows_what_was_called() -> None:
    talk = Talk().is_called(LOOK, message="Claude Code calls look")
    messages = talk.ran(talk.state.calls[0].id).asks("And now?").asked()
    assert [message.role for message in messages] == ["user", "assistant", "user"]
    assert messages[0].text == "Claude Code calls look"
    result, question = messages[2].parts
    assert isinstance(result, ToolResultPart)
    assert question == TextPart("And now?")
