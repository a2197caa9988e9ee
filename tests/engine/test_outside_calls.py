"""The calls of an outside agent: decided one by one, while its reply goes on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from jupyter_eca.engine import inputs
from jupyter_eca.engine.approval.policy import Policy, Rule
from jupyter_eca.engine.effects import AskUser, CallModel, CancelModel, RefuseCall, RunTool
from jupyter_eca.engine.model.request import ToolSpec
from jupyter_eca.engine.turn import TurnStatus
from jupyter_eca.errors import IllegalSignal
from jupyter_eca.protocol.content import (
    FileChangeDetails,
    RejectReason,
    ToolCallContent,
    ToolCallPrepareContent,
    ToolCallRunContent,
)
from jupyter_eca.protocol.event import Outcome
from tests.engine.talk import RAN, Talk

if TYPE_CHECKING:
    from jupyter_eca.engine.effects import Effect

CHANGE = FileChangeDetails(path="a", diff="+x", lines_added=1, lines_removed=0)
EDIT = ToolSpec("edit", "", {}, server="them", agent="them")
POLICY = Policy(
    deny={"them": Rule(args_matchers={"path": ("secret",)})},
    allow={"them__edit": Rule(args_matchers={"path": ("free",)})},
)


class OutsideTalk(Talk):
    """A chat whose agent is an outside agent."""

    def prompts(self, message: str = "Hi") -> OutsideTalk:
        self.turns += 1
        setup = inputs.Setup("acp/them", policy=POLICY, agent="them", outside=True)
        self.feed(inputs.Prompted(self.now, f"t{self.turns}", message, f"c{self.turns}", setup))
        self.gathers()
        return self

    def begins_call(self, id: str) -> OutsideTalk:
        self.feed(inputs.CallBegun(self.now, self.state.request, id, EDIT))
        return self

    def readies(self, id: str, path: str = "a", **more: Any) -> OutsideTalk:
        self.feed(inputs.CallReady(self.now, self.state.request, id, EDIT, {"path": path}, **more))
        return self

    def has(self, kind: type[Effect]) -> bool:
        return any(isinstance(effect, kind) for effect in self.effects)

    def states(self, id: str) -> list[str]:
        contents = [event.content for event in self.events if isinstance(event.content, ToolCallContent)]
        return [content.type for content in contents if content.id == id]  # pyright: ignore[reportAttributeAccessIssue]  # each has one


def test_a_call_is_asked_about_and_runs_while_the_reply_goes_on() -> None:
    talk = OutsideTalk().prompts()
    talk.begins_call("1").readies("1")
    assert talk.has(AskUser)
    talk.says("Meanwhile. ")
    talk.approves("1")
    assert talk.has(RunTool)
    talk.says("Still. ")
    talk.ran("1")
    talk.says("Done.").done()
    assert talk.states("1") == RAN
    assert talk.state.status is TurnStatus.IDLE
    assert talk.events[-1].outcome is Outcome.COMPLETED
    assert not talk.has(CallModel)


def test_two_calls_wait_and_run_independently() -> None:
    talk = OutsideTalk().prompts()
    talk.begins_call("1").readies("1").begins_call("2").readies("2")
    talk.approves("2")
    assert talk.has(RunTool)
    talk.rejects("1")
    talk.ran("2")
    assert talk.states("2")[-1] == "toolCalled"


def test_a_rejected_call_is_refused_to_the_agent_and_later_calls_still_run() -> None:
    talk = OutsideTalk().prompts()
    talk.begins_call("1").readies("1").rejects("1", "Not this one.")
    (refused,) = [effect for effect in talk.effects if isinstance(effect, RefuseCall)]
    assert refused.call == "1"
    assert "Not this one." in refused.text
    talk.begins_call("2").readies("2", "free")
    assert talk.has(RunTool)


def test_the_rules_decide_about_the_calls_of_an_agent() -> None:
    talk = OutsideTalk().prompts()
    talk.begins_call("1").readies("1", "secret")
    assert talk.states("1")[-1] == "toolCallRejected"
    assert talk.has(RefuseCall)
    assert not talk.has(AskUser)


def test_a_call_that_runs_unasked_says_so() -> None:
    talk = OutsideTalk().prompts()
    talk.begins_call("1").readies("1", "secret", is_unasked=True)
    assert talk.has(RunTool)
    run = talk.shown(ToolCallRunContent)[0]
    assert run.cause is not None
    assert run.cause.kind == "unasked"


def test_an_act_that_was_approved_already_is_not_asked_about_but_a_denied_one_stays_denied() -> None:
    talk = OutsideTalk().prompts()
    talk.begins_call("1").readies("1", is_approved=True)
    assert talk.has(RunTool)
    talk.begins_call("2").readies("2", "secret", is_approved=True)
    assert talk.states("2")[-1] == "toolCallRejected"


def test_stop_refuses_what_waits_and_cancels_what_runs() -> None:
    talk = OutsideTalk().prompts()
    talk.begins_call("1").readies("1").begins_call("2").readies("2", "free").begins_call("3").stops()
    assert talk.has(CancelModel)
    assert talk.has(RefuseCall)
    assert talk.state.status is TurnStatus.STOPPING
    talk.ran("2", error=True)
    assert talk.state.status is TurnStatus.IDLE
    assert talk.events[-1].outcome is Outcome.STOPPED


def test_what_comes_after_a_stop_changes_nothing() -> None:
    talk = OutsideTalk().prompts()
    talk.stops()
    count = len(talk.events)
    talk.begins_call("1").says("late")
    assert len(talk.events) == count


def test_no_model_of_ours_reads_the_calls_but_what_the_agent_said() -> None:
    talk = OutsideTalk().prompts("Why?")
    talk.begins_call("1").readies("1", "free")
    talk.ran("1")
    talk.says("Because.").done()
    assert [(message.role, message.text, len(message.parts)) for message in talk.state.history] == [
        ("user", "Why?", 1),
        ("assistant", "Because.", 1),
    ]


def test_a_message_that_waits_is_sent_when_the_reply_has_ended() -> None:
    talk = OutsideTalk().prompts()
    talk.says("One.").steers("More, please.").done()
    assert talk.has(CallModel)
    talk.says("Two.").done()
    assert talk.events[-1].outcome is Outcome.COMPLETED


def test_the_id_of_a_call_is_used_once_in_a_chat() -> None:
    talk = OutsideTalk().prompts()
    talk.begins_call("1").readies("1", is_unasked=True)
    with pytest.raises(IllegalSignal):
        talk.begins_call("1")


def test_a_call_that_cannot_succeed_fails_without_a_question() -> None:
    talk = OutsideTalk().prompts()
    talk.begins_call("1").readies("1", failure="It is open.")
    assert talk.states("1")[-1] == "toolCalled"
    assert not talk.has(AskUser)
    with pytest.raises(IllegalSignal):
        talk.rejects("1", reason=RejectReason.USER)


def test_a_card_shows_what_is_known_of_a_call_and_then_what_it_is() -> None:
    talk = OutsideTalk().prompts()
    guess = ToolSpec("something", "", {}, server="them", agent="them")
    talk.feed(inputs.CallBegun(talk.now, talk.state.request, "1", guess, CHANGE))
    talk.begins_call("2")
    first, second = talk.shown(ToolCallPrepareContent)
    assert (first.name, first.server, first.details) == ("something", "them", CHANGE)
    assert (first.arguments_text, first.manual_approval) == ("", False)
    assert (second.name, second.details) == ("edit", None)
    assert len(set(talk.state.indexes)) == 2
    assert max(talk.state.indexes) < 0
    talk.readies("1", "free")
    (run,) = talk.shown(ToolCallRunContent)
    (effect,) = talk.effects
    assert isinstance(effect, RunTool)
    assert (run.name, run.arguments, effect.tool, effect.arguments) == (
        "edit",
        {"path": "free"},
        EDIT,
        {"path": "free"},
    )
