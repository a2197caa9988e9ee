"""What is shown and told of a call besides its decision: who decided, what was left out, and why it failed."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from jupyter_eca.engine import inputs
from jupyter_eca.engine.approval.approval_scope import list_scopes
from jupyter_eca.engine.approval.call_targets import CallTargets
from jupyter_eca.engine.approval.policy import CallAdjustment, Decision, Policy, Rule, Verdict
from jupyter_eca.engine.approval.reason import describe_cause
from jupyter_eca.engine.effects import RunTool
from jupyter_eca.engine.model.proposals import NOTEBOOK_CHANGE_TOOL, describe_proposal
from jupyter_eca.engine.model.request import ImagePart, ToolSpec, ToolUsePart
from jupyter_eca.engine.model.texts import PARTS_LEFT_OUT, REJECTED, TOOL_CHANGED
from jupyter_eca.engine.tool_call import ToolCallStatus
from jupyter_eca.engine.tool_calls import predict_decision
from jupyter_eca.errors import IllegalSignal
from jupyter_eca.protocol.content import (
    Cause,
    ChangePart,
    FileChangeDetails,
    ImageContent,
    MovePart,
    RejectReason,
    Role,
    Task,
    TaskDetails,
    TaskSummary,
    TextContent,
    ToolCalledContent,
    ToolCallPrepareContent,
    ToolCallRejectedContent,
    ToolCallRunContent,
    ToolCallRunningContent,
)
from jupyter_eca.protocol.event import FetchedRuleAside, Person, RejectionAside
from tests.engine.talk import ACT, FAR, LOOK, POLICY, TOOLS, Talk, call

if TYPE_CHECKING:
    from jupyter_eca.engine.tool_call import ToolCall

ADA = Person(username="ada", name="Ada")
EDIT = ToolSpec("edit", "", {}, server="them", agent="them")
SETUP = inputs.Setup("maker/model", tools=TOOLS, policy=POLICY)
PARTS = (
    ChangePart(start=0, end=1, text="\nkept\n"),
    ChangePart(start=2, end=3, text="\n    x = 1\n"),
    ChangePart(start=4, end=5, text="X = X\n", cell_id="c1"),
    ChangePart(start=6, end=7, text="\n", cell_id="c2"),
    MovePart(kind="move", cell_id="c3"),
)
CHANGE = FileChangeDetails(path="a.py", diff="-a\n+b", lines_added=1, lines_removed=1, parts=PARTS)

TASKS = TaskDetails(
    tasks=(Task(id="1", subject="Load"),),
    in_progress_task_ids=(),
    summary=TaskSummary(done=0, in_progress=0, pending=1, total=1),
)


def written(talk: Talk, *names: str, **finished: Any) -> Talk:
    talk.says(*(call(name, str(at), index=at) for at, name in enumerate(names, start=1)))
    return talk.feed(inputs.ModelFinished(talk.now, talk.state.request, **finished))


def prompt(**setup: Any) -> Talk:
    talk = Talk()
    return talk.feed(inputs.Prompted(talk.now, "t1", "Hi", "c1", replace(SETUP, **setup))).gathers()


def agent(tool: ToolSpec = EDIT, arguments: dict[str, Any] | None = None, **ready: Any) -> Talk:
    """An outside agent that makes one call."""
    setup = inputs.Setup("acp/them", policy=Policy(deny={"them": Rule(args_matchers={"path": ("no",)})}), outside=True)
    talk = Talk().feed(inputs.Prompted(1, "t1", "Hi", "c1", setup)).gathers().feed(inputs.CallBegun(2, 1, "1", tool))
    return talk.feed(inputs.CallReady(3, 1, "1", tool, arguments or {}, **ready))


def the_call(talk: Talk, id: str = "1") -> ToolCall:
    return talk.state.get_call(id)


def rejections(talk: Talk) -> list[RejectionAside]:
    return [event.aside for event in talk.events if isinstance(event.aside, RejectionAside)]


def results(talk: Talk) -> list[str]:
    return [content.outputs[0].text for content in talk.shown(ToolCalledContent)]


# What a user leaves out


def test_the_model_is_told_which_parts_of_its_change_the_user_left_out() -> None:
    narrowed = CHANGE.model_copy(update={"left_out": (1, 2, 3, 4)})
    talk = written(prompt(), "act", details={"1": CHANGE})
    talk.feed(inputs.Approved(talk.now, "1", narrowed=narrowed, by=ADA)).ran("1", "Written.")
    parts = (
        "    x = 1\n---\nin the cell [c1]:\nX = X\n---\nin the cell [c2]:\n(a deletion)\n---\nthe move of the cell [c3]"
    )
    assert results(talk) == [f"{PARTS_LEFT_OUT.format(count=4, all=5, parts=parts)}\n\nWritten."]


def test_a_change_that_failed_says_nothing_of_what_was_left_out() -> None:
    talk = written(prompt(), "act", details={"1": CHANGE})
    talk.feed(inputs.Approved(talk.now, "1", narrowed=CHANGE.model_copy(update={"left_out": (1,)})))
    assert results(talk.ran("1", "It broke.", error=True)) == ["It broke."]


def test_a_change_of_which_nothing_was_left_out_keeps_its_preview() -> None:
    talk = written(prompt(), "act", details={"1": CHANGE}).approves("1")
    assert the_call(talk).details == CHANGE
    assert results(talk.ran("1", "Written.")) == ["Written."]


def test_nothing_runs_after_a_change_of_which_a_part_was_left_out() -> None:
    talk = written(prompt(), "act", "look", details={"1": CHANGE})
    talk.feed(inputs.Approved(talk.now, "1", narrowed=CHANGE.model_copy(update={"left_out": (1,)}))).ran("1")
    assert [content.reason for content in talk.shown(ToolCallRejectedContent)] == [RejectReason.ORDER]


# Who and what decided


def test_whoever_approves_or_rejects_is_named_until_the_call_ends() -> None:
    talk = written(prompt(), "far", "act")
    talk.feed(inputs.Approved(talk.now, "1", by=ADA)).feed(inputs.CallProgressed(talk.now, "1", CHANGE)).ran("1")
    talk.feed(inputs.Rejected(talk.now, "2", by=ADA))
    kinds = ToolCallRunningContent | ToolCalledContent | ToolCallRejectedContent
    assert [(event.content.type, event.by) for event in talk.events if isinstance(event.content, kinds)] == [
        ("toolCallRunning", ADA),
        ("toolCallRunning", ADA),
        ("toolCalled", ADA),
        ("toolCallRejected", ADA),
    ]


def test_a_call_counts_as_approved_only_if_the_user_approved_this_one() -> None:
    talk = written(prompt(), "far", "far").approves("1", remember=True)
    assert [(item.status, item.approved) for item in talk.state.calls] == [
        (ToolCallStatus.RUNNING, True),
        (ToolCallStatus.QUEUED, False),
    ]
    assert the_call(talk, "2").cause == Cause(kind="remembered")


def test_a_tool_that_its_server_has_changed_is_asked_about_again_and_the_user_is_told() -> None:
    talk = written(prompt(), "far").approves("1", remember=True).ran("1").says("Done.").done()
    changed = replace(FAR, description="Do something worse.")
    setup = replace(SETUP, tools=(LOOK, ACT, changed))
    talk.feed(inputs.Prompted(talk.now, "t2", "Again", "c2", setup)).gathers()
    before = len(talk.events)
    talk = written(talk, "far")
    (run,) = [event.content for event in talk.events[before:] if isinstance(event.content, ToolCallRunContent)]
    assert run.cause is not None
    assert (run.cause.kind, run.manual_approval) == ("changed", True)
    texts = [
        (event.role, event.content.text) for event in talk.events[before:] if isinstance(event.content, TextContent)
    ]
    assert texts == [(Role.SYSTEM, TOOL_CHANGED.format(tool="far", server="away"))]


def test_no_other_question_is_followed_by_a_text() -> None:
    talk = written(prompt(), "far")
    assert talk.words(Role.SYSTEM) == ""


@pytest.mark.parametrize(
    ("name", "arguments", "decision"),
    [
        ("look", {}, "allow"),
        ("far", {}, "ask"),
        ("act", {"how": "badly"}, "deny"),
        ("act", {}, "ask"),
        ("no", {}, "deny"),
    ],
)
def test_what_the_rules_would_decide_is_known_before_the_call_is_complete(
    name: str, arguments: dict[str, Any], decision: str
) -> None:
    talk = prompt().says(call(name))
    assert predict_decision(talk.state, the_call(talk), arguments) is Decision(decision)
    replayed = prompt(verdicts={"1": Verdict(Decision.ALLOW)}).says(call(name))
    known = Decision.DENY if name == "no" else Decision.ALLOW
    assert predict_decision(replayed.state, the_call(replayed), arguments) is known


def test_what_the_rules_would_decide_counts_what_the_user_has_approved_for_the_session() -> None:
    talk = written(prompt(), "far").approves("1", remember=True).ran("1").says(call("far", "2"))
    assert predict_decision(talk.state, the_call(talk, "2"), {}) is Decision.ALLOW
    talk = prompt(policy=Policy(allow={"act": Rule()})).says(call("act"))
    assert predict_decision(talk.state, the_call(talk), {}) is Decision.ALLOW


# Calls that do not run


@pytest.mark.parametrize("tool", ["far", "act", NOTEBOOK_CHANGE_TOOL])
def test_a_proposal_tells_the_model_what_was_shown_and_names_no_rule(tool: str) -> None:
    free = Policy(allow={"act": Rule(), "away": Rule()})
    tools = (*TOOLS, ToolSpec(NOTEBOOK_CHANGE_TOOL, "", {}))
    talk = written(prompt(plan_mode=True, policy=free, tools=tools), tool, details={"1": CHANGE})
    words = describe_proposal("1", tool, CHANGE)
    assert words
    assert rejections(talk) == [
        RejectionAside(text=f"{REJECTED[RejectReason.PLAN]} {words}".strip(), words=words.strip())
    ]
    assert [content.cause for content in talk.shown(ToolCallRunContent)] == [None]


def test_a_call_that_cannot_succeed_shows_its_preview_and_is_a_change_that_failed() -> None:
    failing = {"1": CallAdjustment(failure="The file has changed.")}
    talk = written(prompt(), "act", "look", details={"1": CHANGE}, adjustments=failing)
    (called,) = talk.shown(ToolCalledContent)
    assert (called.error, called.details) == (True, CHANGE)
    assert [(content.id, content.reason) for content in talk.shown(ToolCallRejectedContent)] == [
        ("2", RejectReason.ORDER)
    ]


def test_a_call_of_an_unknown_tool_shows_what_the_model_wrote() -> None:
    talk = prompt().calls(call("none", arguments='{"a": 1}'))
    assert [content.arguments for content in talk.shown(ToolCalledContent)] == [{"a": 1}]
    talk = written(prompt(), "act", "none")
    assert [content.waits_for for content in talk.shown(ToolCallRunContent)] == [None, None]


def test_a_result_is_known_as_a_rule_only_if_it_was_fetched() -> None:
    for rule, error, aside in (("r", False, FetchedRuleAside(id="r")), ("r", True, None), ("", False, None)):
        talk = written(prompt(), "look")
        talk.feed(inputs.ToolFinished(talk.now, "1", "The text.", error, fetched_rule=rule))
        assert [event.aside for event in talk.events if isinstance(event.content, ToolCalledContent)] == [aside]


def test_progress_replaces_the_details_of_its_call_alone_and_comes_too_late_for_one_that_has_ended() -> None:
    talk = written(prompt(), "look", "look")
    talk.feed(inputs.CallProgressed(talk.now, "2", CHANGE))
    assert [item.details for item in talk.state.calls] == [None, CHANGE]
    talk.ran("1")
    with pytest.raises(IllegalSignal):
        talk.feed(inputs.CallProgressed(talk.now, "1", CHANGE))


def test_a_signature_goes_with_its_call_whichever_piece_brings_it() -> None:
    pieces = [replace(call("look", arguments="{"), signature="proof"), call("", "", "}")]
    for order in (pieces, [replace(pieces[0], signature=""), replace(pieces[1], signature="proof")]):
        talk = prompt().says(*order)
        assert the_call(talk).signature == "proof"
        assert [content.arguments_text for content in talk.shown(ToolCallPrepareContent)] == ["{", "}"]
        assert talk.done().state.history[1].parts == (ToolUsePart("1", "look", {}, "proof"),)
    talk = prompt().calls(call("look"))
    assert [event.aside for event in talk.events if isinstance(event.content, ToolCallRunContent)] == [None]


def test_calls_without_ids_get_ids_that_no_call_of_the_chat_has_ever_had() -> None:
    talk = prompt()
    talk.state = replace(talk.state, call_ids=frozenset({"t1-1-1", "t1-1-2", "t1-1-2-2"}))
    talk.says(*(call("look", "", index=index) for index in range(3)))
    assert [item.id for item in talk.state.calls] == ["t1-1-0", "t1-1-1-2", "t1-1-2-3"]


def test_pieces_of_several_calls_may_come_in_any_order() -> None:
    talk = prompt().says(*(call("look", id, "{", index) for index, id in enumerate("123")))
    talk.says(*(call("", "", f'"what": "{index}"}}', index) for index in (1, 0, 2)))
    assert [(item.id, item.arguments_text) for item in talk.state.calls] == [
        *(("1", '{"what": "0"}'), ("2", '{"what": "1"}'), ("3", '{"what": "2"}'))
    ]


def test_a_call_that_is_replayed_does_not_seem_to_ask() -> None:
    talk = prompt(verdicts={"1": Verdict(Decision.ALLOW)}).says(call("far", "1"), call("far", "2", index=1))
    assert [content.manual_approval for content in talk.shown(ToolCallPrepareContent)] == [False, True]


def test_a_result_says_how_long_its_call_has_run() -> None:
    talk = written(prompt(), "look", "far")
    talk.now += 5_000
    begun = talk.now
    talk.approves("2").ran("1")
    talk.now = begun + 7_000
    talk.ran("2")
    assert [content.total_time_ms for content in talk.shown(ToolCalledContent)] == [5_020, 6_990]
    failed = prompt().calls(call("none"))
    assert [content.total_time_ms for content in failed.shown(ToolCalledContent)] == [0]


def test_a_question_says_what_its_approval_for_the_session_would_cover_and_only_a_question() -> None:
    talk = written(prompt(), "far", "look")
    far, look = talk.shown(ToolCallRunContent)
    assert far.remembers == tuple(scope.as_text() for scope in list_scopes(FAR, {}, CallTargets()))
    assert look.remembers is None


def test_a_rejection_by_the_user_names_no_rule() -> None:
    talk = written(prompt(policy=Policy(ask={"away": Rule()})), "far").rejects("1", "Not so.")
    assert [content.cause for content in talk.shown(ToolCallRejectedContent)] == [None]


def test_the_model_reads_no_more_about_a_stopped_call_than_that_it_was_stopped() -> None:
    talk = written(prompt(), "far").stops()
    assert rejections(talk) == [RejectionAside(text=REJECTED[RejectReason.STOP], words="")]


def test_whoever_approves_a_call_that_must_wait_is_named_at_once() -> None:
    talk = written(prompt(), "look", "far")
    talk.feed(inputs.Approved(talk.now, "2", by=ADA))
    runs = [event.by for event in talk.events if isinstance(event.content, ToolCallRunContent)]
    assert runs == [None, None, ADA]


def test_a_list_of_tasks_replaces_that_of_the_chat_unless_its_call_failed() -> None:
    for error in (False, True):
        talk = written(prompt(), "look")
        talk.feed(inputs.ToolFinished(talk.now, "1", "Planned.", error, TASKS))
        assert talk.state.tasks == (() if error else TASKS.tasks)


# Outside agents


def test_a_call_that_an_agent_makes_unasked_names_the_agent_if_it_is_known() -> None:
    nameless = replace(EDIT, agent="")
    assert the_call(agent(is_unasked=True)).cause == Cause(kind="unasked", agent="them")
    assert the_call(agent(is_unasked=True, tool=nameless)).cause is None


def test_the_agent_is_told_which_rule_forbids_its_call() -> None:
    talk = agent(arguments={"path": "no"})
    cause = Cause(kind="rule", rule="them")
    assert [content.cause for content in talk.shown(ToolCallRejectedContent)] == [cause]
    words = f"({describe_cause(Decision.DENY, cause)}.)"
    assert rejections(talk) == [RejectionAside(text=f"{REJECTED[RejectReason.CONFIG]} {words}", words=words)]


def test_the_agent_is_told_what_a_hook_says_against_its_call() -> None:
    talk = agent(adjustment=CallAdjustment(decision=Decision.DENY, words="Not today."))
    rejected = [event for event in talk.events if isinstance(event.content, ToolCallRejectedContent)]
    assert [event.local for event in rejected] == [True]
    assert [content.reason for content in talk.shown(ToolCallRejectedContent)] == [RejectReason.HOOK]
    assert [aside.words for aside in rejections(talk)] == ["Not today."]


def test_a_call_that_was_approved_in_the_agents_words_counts_as_approved() -> None:
    talk = agent(is_approved=True)
    assert the_call(talk).approved
    assert [effect.call for effect in talk.effects if isinstance(effect, RunTool)] == ["1"]


def test_a_question_about_the_call_of_an_agent_says_why_it_is_asked() -> None:
    talk = agent()
    assert the_call(talk).cause == Cause(kind="default")
    assert not the_call(talk).approved


def test_no_model_of_ours_reads_the_pictures_of_an_agents_calls() -> None:
    talk = agent(is_unasked=True)
    talk.feed(inputs.ToolFinished(talk.now, "1", "Drawn.", images=(ImagePart("image/png", "cA=="),)))
    assert [event.local for event in talk.events if isinstance(event.content, ImageContent)] == [True]
