"""How a turn of a chat ends: by a stop, by a failure, and with what it cost."""

from __future__ import annotations

from jupyter_eca.engine.chat.recovery import restore
from jupyter_eca.engine.effects import CancelModel, CancelTool
from jupyter_eca.engine.inputs import CommandEnded, ModelFailed, NoteAdded, RefusalReason
from jupyter_eca.engine.model.delta import UsageDelta
from jupyter_eca.engine.model.request import ChatMessage, TextPart
from jupyter_eca.engine.model.texts import STOPPED_CALL, UNANSWERED_FAILED, UNANSWERED_STOPPED
from jupyter_eca.errors import FailureKind
from jupyter_eca.protocol.content import (
    RejectReason,
    Role,
    TextContent,
    ToolCalledContent,
    ToolCallRejectedContent,
    TurnFailure,
    UsageContent,
)
from jupyter_eca.protocol.event import Outcome
from tests.engine.talk import RAN, Talk, call, refused, user

# Stop ---------------------------------------------------------------------------------------------------------------


def test_a_stop_before_the_first_word_ends_the_turn_at_once() -> None:
    talk = Talk().asks().stops()
    assert talk.effects == (CancelModel(1),)
    assert (talk.outcomes(), talk.words(Role.SYSTEM)) == ([Outcome.STOPPED], "Stopped.")
    assert talk.asks("Again").asked() == (user("Hi", UNANSWERED_STOPPED, "Again"),)


def test_a_stop_keeps_what_was_said() -> None:
    talk = Talk().asks().says("Half an").stops().asks("Go on")
    assert talk.asked() == (user("Hi"), ChatMessage("assistant", (TextPart("Half an"),)), user("Go on"))


def test_a_stop_rejects_a_call_that_is_still_written_and_the_model_never_made_it() -> None:
    talk = Talk().asks().says("Let me", call("look", arguments="{")).stops()
    assert talk.life("1") == ["toolCallPrepare", "toolCallRejected"]
    assert talk.state.history[-1].parts == (TextPart("Let me"),)


def test_a_stop_rejects_a_call_that_waits() -> None:
    talk = Talk().asks().calls(call("act")).stops()
    assert [content.reason for content in talk.shown(ToolCallRejectedContent)] == [RejectReason.STOP]
    assert talk.outcomes() == [Outcome.STOPPED]


def test_a_stop_cancels_a_running_call_and_waits_for_its_end() -> None:
    talk = Talk().asks().calls(call("look")).stops()
    assert (talk.effects, talk.outcomes()) == ((CancelTool("1"),), [])
    talk.ran("1", "half done")
    assert talk.outcomes() == [Outcome.STOPPED]
    (called,) = talk.shown(ToolCalledContent)
    assert (called.error, called.outputs[0].text) == (True, f"{STOPPED_CALL}\nhalf done")
    assert talk.life("1") == RAN


def test_a_second_stop_changes_nothing() -> None:
    talk = Talk().asks().calls(call("look")).stops()
    before = talk.state
    assert talk.stops().effects == ()
    assert talk.state == before


def test_a_stop_without_a_turn_is_refused() -> None:
    talk = Talk()
    assert refused(talk, talk.stops)


def test_a_prompt_while_a_stop_winds_down_is_refused() -> None:
    talk = Talk().asks().calls(call("look")).stops()
    assert refused(talk, talk.asks)


def test_what_a_cancelled_request_still_says_is_ignored() -> None:
    talk = Talk().asks().says("a").stops()
    shown = len(talk.events)
    talk.says("b", call("look")).done().fails()
    assert (len(talk.events), talk.effects) == (shown, ())


def test_what_the_request_of_an_earlier_turn_says_is_ignored() -> None:
    talk = Talk().asks().stops().asks()
    before = talk.state
    talk.feed(ModelFailed(talk.now, 1, "cancelled"))
    assert talk.state is before


# Failure ------------------------------------------------------------------------------------------------------------


def test_a_failure_in_mid_answer_keeps_what_was_said_and_says_what_to_do() -> None:
    talk = Talk().asks().says("Half an").fails("It broke. Ask again.")
    assert (talk.words(), talk.words(Role.SYSTEM)) == ("Half an", "It broke. Ask again.")
    assert talk.outcomes() == [Outcome.FAILED]
    assert talk.asks("Again").asked()[1] == ChatMessage("assistant", (TextPart("Half an"),))


def test_a_failure_closes_the_call_that_was_being_written() -> None:
    talk = Talk().asks().says(call("look", arguments="{")).fails()
    assert talk.life("1") == ["toolCallPrepare", "toolCallRejected"]
    assert talk.state.history == (user("Hi", UNANSWERED_FAILED),)


def test_notes_that_went_with_a_refused_request_go_with_the_next_one_also_after_a_restart() -> None:
    talk = Talk().asks().says("Hello").done()
    talk.feed(NoteAdded(talk.now, "Job 1 has ended.", "(Job 1 has ended.)"))
    talk.asks("Bad").feed(ModelFailed(talk.now, talk.state.request, "Refused.", refusal_reason=RefusalReason.CONTENT))
    assert talk.state.notes == restore("chat", talk.events, talk.now).state.notes == ("(Job 1 has ended.)",)
    assert talk.asks("Good").asked()[-1] == user("Good\n\n(Job 1 has ended.)")
    talk.says("Yes").done()
    assert talk.state.notes == restore("chat", talk.events, talk.now).state.notes == ()


# Usage --------------------------------------------------------------------------------------------------------------


def test_usage_counts_the_cache_as_input_and_adds_up_the_cost() -> None:
    talk = Talk().asks().says("a", UsageDelta(10, 5, 3, 2, cost=0.25, context_limit=100, output_limit=50)).done()
    talk.asks().says("b", UsageDelta(20, 5, cost=0.5)).done()
    first, second = talk.shown(UsageContent)
    assert (first.message_input_tokens, first.message_output_tokens, first.session_tokens) == (15, 5, 20)
    assert (first.limit is not None, second.limit) == (True, None)
    assert (first.session_cost, second.last_message_cost, second.session_cost) == ("0.2500", "0.5000", "0.7500")


def test_a_cost_that_is_unknown_once_makes_the_sum_unknown() -> None:
    talk = Talk().asks().says(UsageDelta(1, 1)).done().asks().says(UsageDelta(1, 1, cost=0.5)).done()
    assert [(u.last_message_cost, u.session_cost) for u in talk.shown(UsageContent)] == [(None, None), ("0.5000", None)]


def test_the_text_of_a_failure_has_a_mark_that_says_why_the_turn_failed() -> None:
    talk = Talk().asks("Hi")
    talk.feed(ModelFailed(9, talk.state.request, "No key.", kind=FailureKind.AUTH))
    failure = TurnFailure(kind=FailureKind.AUTH, model="maker/model")
    assert [text.failure for text in talk.shown(TextContent)] == [None, failure]


def test_an_error_before_the_model_is_asked_has_the_mark_and_a_refusal_has_not() -> None:
    broken = Talk().begins("Hi").feed(CommandEnded(9, "Broken.", failed=True, kind=FailureKind.OTHER))
    refusal = Talk().begins("Hi").feed(CommandEnded(9, "A hook refuses it.", failed=True))
    marks = [[text.failure for text in talk.shown(TextContent)][-1] for talk in (broken, refusal)]
    assert marks == [TurnFailure(kind=FailureKind.OTHER), None]
