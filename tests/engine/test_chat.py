"""Stories of one chat: what is said, what is done, and what the model is told."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from jupyter_eca.engine.approval.policy import Policy, Rule
from jupyter_eca.engine.effects import AskUser, CallModel, RunTool
from jupyter_eca.engine.model.delta import ReasoningDelta, ReasoningEnd, Remark, ToolCallDelta, UsageDelta
from jupyter_eca.engine.model.request import ChatMessage, ReasoningPart, TextPart, ToolResultPart, ToolUsePart
from jupyter_eca.engine.model.texts import NOT_JSON, NOTHING_SAID, REJECTED
from jupyter_eca.engine.tool_call import ToolCallStatus as Status
from jupyter_eca.engine.turn import TurnStatus
from jupyter_eca.protocol.content import (
    MetadataContent,
    ProgressContent,
    ReasonFinishedContent,
    RejectReason,
    Role,
    ToolCallPrepareContent,
    ToolCallRejectedContent,
    ToolCallRunContent,
)
from jupyter_eca.protocol.event import Outcome
from tests.engine.talk import ACT, FAR, LOOK, RAN, Talk, call, refused, user

if TYPE_CHECKING:
    from collections.abc import Callable

ASKED = ["toolCallPrepare", "toolCallRun"]


# Text ---------------------------------------------------------------------------------------------------------------


def test_an_answer_is_shown_as_it_comes_and_remembered_as_one() -> None:
    talk = Talk().asks("Hi").says("Hel", "lo").done()
    assert talk.kinds() == ["text", "metadata", "text", "text"]
    assert (talk.words(), talk.outcomes()) == ("Hello", [Outcome.COMPLETED])
    assert talk.state.history == (user("Hi"), ChatMessage("assistant", (TextPart("Hello"),)))
    assert talk.state.status is TurnStatus.IDLE


def test_a_reader_is_told_that_it_waits_then_that_it_goes_on_then_that_it_is_over() -> None:
    progress = Talk().asks().says("a", "b").done().shown(ProgressContent)
    assert [(p.state, p.text) for p in progress] == [
        ("running", "Waiting for the model"),
        ("running", "Generating"),
        ("finished", ""),
    ]


def test_the_outcome_is_on_the_last_event_of_its_turn() -> None:
    talk = Talk().asks().says("a").done().asks().says("b").done()
    last = {event.turn: event for event in talk.events}
    assert [event for event in talk.events if event.outcome] == list(last.values())


def test_the_model_is_asked_with_its_setup_and_all_that_was_said() -> None:
    talk = Talk().asks("Hi").says("Hello").done().asks("Bye")
    (effect,) = talk.effects
    assert isinstance(effect, CallModel)
    assert (effect.number, effect.request.model, effect.request.system) == (2, "maker/model", "Be kind.")
    assert effect.request.messages == (user("Hi"), ChatMessage("assistant", (TextPart("Hello"),)), user("Bye"))


def test_contexts_are_told_to_the_model_and_not_shown() -> None:
    talk = Talk().asks("Hi", context=" [cell 1]")
    assert talk.words(Role.USER) == "Hi"
    assert talk.asked() == (user("Hi [cell 1]"),)


def test_only_the_first_prompt_gives_the_chat_its_title() -> None:
    talk = Talk().asks("\n Why?  \nmore").says("a").done().asks("Other").says("b").done()
    assert [content.title for content in talk.shown(MetadataContent)] == ["Why?"]


def test_an_empty_answer_is_remarked() -> None:
    talk = Talk().asks().says(UsageDelta(1, 0)).done()
    assert talk.words(Role.SYSTEM) == NOTHING_SAID
    assert talk.outcomes() == [Outcome.COMPLETED]


def test_an_answer_of_empty_pieces_is_an_empty_answer() -> None:
    talk = Talk().asks().says("", "").done()
    assert talk.words(Role.SYSTEM) == NOTHING_SAID
    assert talk.state.history == (user("Hi"),)


def test_a_remark_is_shown_and_the_model_is_not_told() -> None:
    talk = Talk().asks().says("Half", Remark("It was cut off.")).done().asks("Go on")
    assert talk.words(Role.SYSTEM) == "It was cut off."
    assert talk.asked()[1] == ChatMessage("assistant", (TextPart("Half"),))


def test_a_prompt_during_an_answer_is_refused() -> None:
    talk = Talk().asks().says("a")
    assert refused(talk, lambda: talk.asks("More"))


def test_half_of_an_emoji_does_not_break_the_answer() -> None:
    talk = Talk().asks("Hi \ud83d").says("\ud83d").done()
    assert [event.model_dump_json() for event in talk.events]
    assert talk.words() == "\N{REPLACEMENT CHARACTER}"


# Reasoning ----------------------------------------------------------------------------------------------------------


def test_a_reasoning_is_shown_timed_and_sent_back_with_its_signature() -> None:
    talk = Talk().asks().says(ReasoningDelta("Hm, "), ReasoningDelta("yes."), ReasoningEnd("proof"), "Yes").done()
    assert talk.kinds() == ["text", "metadata", "reasonStarted", "reasonText", "reasonText", "reasonFinished", "text"]
    (end,) = talk.shown(ReasonFinishedContent)
    assert (talk.thoughts(), talk.words(), end.total_time_ms) == ("Hm, yes.", "Yes", 20)
    assert talk.state.history[1].parts == (ReasoningPart(end.id, "Hm, yes.", "proof"), TextPart("Yes"))


def test_text_ends_a_reasoning_that_did_not_end_itself() -> None:
    talk = Talk().asks().says(ReasoningDelta("Hm"), "Yes").done()
    assert talk.kinds()[2:] == ["reasonStarted", "reasonText", "reasonFinished", "text"]


def test_two_reasonings_of_one_answer_are_told_apart() -> None:
    talk = Talk().asks().says(ReasoningDelta("a"), ReasoningEnd("1"), ReasoningDelta("b"), ReasoningEnd("2")).done()
    parts = [part for part in talk.state.history[1].parts if isinstance(part, ReasoningPart)]
    assert [(part.text, part.signature) for part in parts] == [("a", "1"), ("b", "2")]
    assert len({part.id for part in parts}) == 2


def test_a_reasoning_without_text_keeps_its_signature() -> None:
    talk = Talk().asks().says(ReasoningDelta(""), ReasoningEnd("proof"), "Yes").done()
    assert talk.state.history[1].parts[0] == ReasoningPart(talk.shown(ReasonFinishedContent)[0].id, "", "proof")


@pytest.mark.parametrize("end", [Talk.done, Talk.fails, Talk.stops])
def test_a_reasoning_is_closed_when_the_answer_ends(end: Callable[[Talk], Talk]) -> None:
    talk = end(Talk().asks().says(ReasoningDelta("Hm")))
    assert talk.kinds().count("reasonFinished") == 1


# Tool calls ---------------------------------------------------------------------------------------------------------


def test_an_allowed_call_runs_and_its_result_goes_to_the_model() -> None:
    talk = Talk().asks().calls(call("look", arguments='{"what": "x"}'))
    assert talk.effects == (RunTool("1", LOOK, {"what": "x"}),)
    assert talk.ran("1", "It is 5.").asked()[1:] == (
        ChatMessage("assistant", (ToolUsePart("1", "look", {"what": "x"}),)),
        ChatMessage("user", (ToolResultPart("1", "It is 5."),)),
    )
    assert talk.life("1") == RAN
    assert talk.says("Five.").done().outcomes() == [Outcome.COMPLETED]


def test_arguments_come_in_pieces_and_the_summary_names_them() -> None:
    talk = Talk().asks().calls(ToolCallDelta(0, "1", "look", '{"what"'), ToolCallDelta(0, "", "", ': "x"}'))
    assert [content.arguments_text for content in talk.shown(ToolCallPrepareContent)] == ['{"what"', ': "x"}']
    (run,) = talk.shown(ToolCallRunContent)
    assert (run.arguments, run.summary, run.server) == ({"what": "x"}, "Looking at x", "eca")


def test_an_argument_that_the_summary_wants_and_the_call_lacks_is_shown_as_nothing() -> None:
    (run,) = Talk().asks().calls(call("look", arguments='{"other": 1}')).shown(ToolCallRunContent)
    assert run.summary == "Looking at"


def test_a_summary_is_one_line_whatever_a_model_writes() -> None:
    """nvim makes a line of a buffer of it, which may hold no newline: it raises, and the user is never asked."""
    (run,) = Talk().asks().calls(call("look", arguments=r'{"what": "a\n\n  b \r\nc\n"}')).shown(ToolCallRunContent)
    assert run.summary == "Looking at a ↵ b ↵ c"


def test_a_call_that_asks_waits_and_runs_when_it_is_approved() -> None:
    talk = Talk().asks().calls(call("act"))
    assert talk.effects == (AskUser("1"),)
    assert [content.manual_approval for content in talk.shown(ToolCallRunContent)] == [True]
    assert talk.approves("1").effects == (RunTool("1", ACT, {}),)
    assert talk.ran("1").life("1") == RAN


def test_a_rejected_call_tells_the_model_that_it_did_not_run_and_why() -> None:
    talk = Talk().asks().calls(call("act")).rejects("1", "Use look.")
    assert talk.asked()[-1].parts == (ToolResultPart("1", f"{REJECTED[RejectReason.USER]} Use look.", error=True),)
    assert talk.life("1") == [*ASKED, "toolCallRejected"]
    assert talk.state.status is TurnStatus.STREAMING


def test_a_call_that_nobody_can_approve_is_rejected_with_that_reason() -> None:
    talk = Talk().asks().calls(call("act")).rejects("1", reason=RejectReason.NOBODY)
    assert [content.reason for content in talk.shown(ToolCallRejectedContent)] == [RejectReason.NOBODY]


def test_a_call_that_a_rule_denies_does_not_ask_and_does_not_run() -> None:
    talk = Talk().asks().calls(call("act", arguments='{"how": "badly"}'))
    assert [content.reason for content in talk.shown(ToolCallRejectedContent)] == [RejectReason.CONFIG]
    rule = "(Forbidden by the rule `act` (`toolCall.approval.deny`).)"
    assert talk.asked()[-1].parts == (ToolResultPart("1", f"{REJECTED[RejectReason.CONFIG]} {rule}", error=True),)


DENIED = Policy(deny={"act": Rule()})


def test_a_rule_that_denies_a_call_which_waits_for_the_user_ends_it() -> None:
    talk = Talk().asks().calls(call("act"))
    talk.changes_rules(DENIED)
    assert [content.reason for content in talk.shown(ToolCallRejectedContent)] == [RejectReason.CONFIG]
    rule = "(Forbidden by the rule `act` (`toolCall.approval.deny`).)"
    assert talk.asked()[-1].parts == (ToolResultPart("1", f"{REJECTED[RejectReason.CONFIG]} {rule}", error=True),)
    assert refused(talk, lambda: talk.approves("1"))


def test_a_rule_that_denies_a_call_which_was_approved_and_waits_for_an_earlier_one_ends_it() -> None:
    talk = Talk().asks().calls(call("far", "1"), call("act", "2", index=1)).approves("1").approves("2")
    talk.changes_rules(DENIED)
    assert talk.ran("1").life("2")[-1] == "toolCallRejected"
    assert [effect.call for effect in talk.effects if isinstance(effect, RunTool)] == []


def test_a_rule_that_denies_a_call_which_runs_stops_nothing() -> None:
    talk = Talk().asks().calls(call("act")).approves("1").changes_rules(DENIED)
    assert talk.ran("1").life("1") == RAN


def test_a_call_of_a_tool_that_is_not_there_ends_with_an_error_that_names_those_that_are() -> None:
    talk = Talk().asks().calls(call("lok"))
    assert talk.life("1") == [*ASKED, "toolCalled"]
    (result,) = talk.asked()[-1].parts
    assert isinstance(result, ToolResultPart)
    assert result.error
    assert "'lok'" in result.text
    assert "look, act, far" in result.text


@pytest.mark.parametrize(
    "arguments",
    [
        "{",
        "[1]",
        "null",
        "5",
        '{"a": NaN}',
        '{"a": 1e999}',
        '{"a": "\\ud83d"}',
        '{"a": "\ud83d"}',
        '{"a": ' + "[" * 300 + "]" * 300 + "}",
    ],
)
def test_arguments_that_are_no_plain_json_object_are_not_tried(arguments: str) -> None:
    talk = Talk().asks().calls(call("look", arguments=arguments))
    assert talk.asked()[-1].parts == (ToolResultPart("1", NOT_JSON, error=True),)
    assert [event.model_dump_json() for event in talk.events]


def test_a_call_without_arguments_has_an_empty_object() -> None:
    assert Talk().asks().calls(call("look", arguments="")).effects == (RunTool("1", LOOK, {}),)


def test_calls_of_one_reply_run_side_by_side_and_the_model_waits_for_all() -> None:
    talk = Talk().asks().calls(call("look", "1"), call("look", "2", index=1))
    assert talk.effects == (RunTool("1", LOOK, {}), RunTool("2", LOOK, {}))
    assert talk.ran("2", "two").effects == ()
    results = talk.ran("1", "one").asked()[-1].parts
    assert results == (ToolResultPart("2", "two"), ToolResultPart("1", "one"))


def test_an_undecided_call_hides_none_of_the_others() -> None:
    talk = Talk().asks().calls(call("look", "1"), call("act", "2", index=1), call("far", "3", index=2))
    assert talk.effects == (AskUser("2"), AskUser("3"), RunTool("1", LOOK, {}))


def test_the_calls_of_a_reply_stay_together_when_one_ends_at_once() -> None:
    talk = Talk().asks().calls(call("look", "1"), call("lok", "2", index=1)).ran("1")
    assert [(message.role, len(message.parts)) for message in talk.asked()] == [
        ("user", 1),
        ("assistant", 2),
        ("user", 2),
    ]


def test_a_call_is_not_lost_when_the_stream_does_not_call_it_the_end_of_the_reply() -> None:
    assert Talk().asks().says("Let me see.", call("look")).done().effects == (RunTool("1", LOOK, {}),)


@pytest.mark.parametrize("id", ["", "1", "t1-1-1", "\ud83d"])
def test_repeated_missing_and_misleading_ids_are_replaced(id: str) -> None:
    talk = Talk().asks().calls(call("look", "1"), call("look", id, index=1), call("look", "", index=2))
    ran = [effect.call for effect in talk.effects if isinstance(effect, RunTool)]
    assert len(set(ran)) == 3
    for one in ran:
        assert talk.life(one) == RAN[:3]
        talk.ran(one)
    assert talk.state.status is TurnStatus.STREAMING


def test_an_id_of_an_earlier_reply_is_replaced() -> None:
    talk = Talk().asks().calls(call("look", "1")).ran("1").calls(call("look", "1"))
    (effect,) = talk.effects
    assert isinstance(effect, RunTool)
    assert effect.call != "1"


def test_an_id_of_a_call_that_was_stopped_while_it_was_written_is_replaced() -> None:
    talk = Talk().asks().says(call("look", "1")).stops().asks().says(call("look", "1"))
    assert talk.life("1") == ["toolCallPrepare", "toolCallRejected"]


def test_a_later_piece_may_repeat_or_leave_out_the_id() -> None:
    talk = (
        Talk()
        .asks()
        .calls(ToolCallDelta(0, "1", "look", "{"), ToolCallDelta(0, "1", "", ""), ToolCallDelta(0, "", "", "}"))
    )
    assert talk.effects == (RunTool("1", LOOK, {}),)


def test_a_tools_error_goes_to_the_model() -> None:
    talk = Talk().asks().calls(call("look")).ran("1", "No such thing.", error=True)
    assert talk.asked()[-1].parts == (ToolResultPart("1", "No such thing.", error=True),)


# Approval -----------------------------------------------------------------------------------------------------------


def test_a_second_approval_changes_nothing() -> None:
    talk = Talk().asks().calls(call("act")).approves("1")
    assert refused(talk, lambda: talk.approves("1"))


def test_a_rejection_after_an_approval_changes_nothing() -> None:
    talk = Talk().asks().calls(call("act")).approves("1")
    assert refused(talk, lambda: talk.rejects("1"))


def test_an_approval_after_a_stop_changes_nothing() -> None:
    talk = Talk().asks().calls(call("act")).stops()
    assert refused(talk, lambda: talk.approves("1"))


def test_an_approval_of_an_unknown_call_changes_nothing() -> None:
    talk = Talk().asks().calls(call("act"))
    assert refused(talk, lambda: talk.approves("2", remember=True))


def test_to_remember_approves_the_other_waiting_calls_of_that_tool_only() -> None:
    talk = Talk().asks().calls(call("act", "1"), call("far", "2", index=1), call("act", "3", index=2))
    assert talk.approves("1", remember=True).effects == (RunTool("1", ACT, {}),)
    assert [call.status for call in talk.state.calls] == [Status.RUNNING, Status.WAITING, Status.QUEUED]
    assert talk.approves("2").effects == ()
    assert talk.ran("1").effects == (RunTool("2", FAR, {}),)


def test_what_is_remembered_runs_unasked_in_later_turns() -> None:
    talk = Talk().asks().calls(call("act")).approves("1", remember=True).ran("1").says("Done").done()
    assert talk.asks().calls(call("act", "2"), call("far", "3", index=1)).effects == (
        AskUser("3"),
        RunTool("2", ACT, {}),
    )


def test_what_is_remembered_does_not_lift_a_denial() -> None:
    talk = Talk().asks().calls(call("act")).approves("1", remember=True).ran("1")
    talk.calls(call("act", "2", '{"how": "badly"}'))
    assert talk.life("2")[-1] == "toolCallRejected"


def test_an_approval_without_remembering_is_for_one_call() -> None:
    talk = Talk().asks().calls(call("act", "1"), call("act", "2", index=1)).approves("1")
    assert talk.effects == (RunTool("1", ACT, {}),)
