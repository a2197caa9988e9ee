"""What the decision about a call depends on: all of it comes with the call, with the turn or from earlier calls."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from jupyter_eca.engine import inputs
from jupyter_eca.engine.approval.call_targets import CallTargets
from jupyter_eca.engine.approval.policy import CallAdjustment, Decision, Policy, Rule, Verdict
from jupyter_eca.engine.effects import AskUser, RunTool
from jupyter_eca.engine.model.request import ApprovalCoverage, ToolSpec
from jupyter_eca.protocol.changes import ReviewTime
from jupyter_eca.protocol.content import (
    Cause,
    FileChangeDetails,
    RejectReason,
    SandboxState,
    ShellCommandDetails,
    ToolCalledContent,
    ToolCallPrepareContent,
    ToolCallRejectedContent,
    ToolCallRunContent,
)
from tests.engine.talk import POLICY, TOOLS, Talk, call

if TYPE_CHECKING:
    from jupyter_eca.engine.model.delta import ToolCallDelta

ASKED, RUNS = "asked", "runs"
CHANGE = FileChangeDetails(path="a.py", diff="+x", lines_added=1, lines_removed=0)
LOADING = CHANGE.model_copy(update={"loads": "`x.png` from example.org"})
ALLOWED = Policy(allow={"act": Rule(), "look": Rule()})
PROTECTED = CallTargets(protected=".eca/config.json")
GIT = CallTargets(git_program="diff.external")


def in_sandbox(state: SandboxState) -> ShellCommandDetails:
    return ShellCommandDetails(commands=(), sandbox=state)


def prompt(policy: Policy = POLICY, **setup: Any) -> Talk:
    talk = Talk()
    setup.setdefault("tools", TOOLS)
    settings = inputs.Setup("maker/model", policy=policy, **setup)
    return talk.feed(inputs.Prompted(talk.now, "t1", "Hi", "c1", settings)).gathers()


def finish(talk: Talk, *calls: ToolCallDelta, **finished: Any) -> Talk:
    talk.says(*calls)
    return talk.feed(inputs.ModelFinished(talk.now, talk.state.request, **finished))


def outcome(talk: Talk, id: str = "1") -> tuple[str, str | None]:
    """Whether a call is asked about or runs, and the kind of the cause that is shown."""
    (run,) = [content for content in talk.shown(ToolCallRunContent) if content.id == id]
    asked = any(isinstance(effect, AskUser) and effect.call == id for effect in talk.effects)
    runs = any(isinstance(effect, RunTool) and effect.call == id for effect in talk.effects)
    assert asked == run.manual_approval
    assert asked != runs
    return ASKED if asked else RUNS, run.cause and run.cause.kind


@pytest.mark.parametrize(
    ("tool", "policy", "setup", "finished", "expected"),
    [
        ("far", POLICY, {}, {}, (ASKED, "default")),
        ("look", POLICY, {}, {}, (RUNS, "rule")),
        ("far", POLICY, {"trust": True}, {}, (RUNS, "trust")),
        ("look", POLICY, {}, {"targets": {"1": PROTECTED}}, (ASKED, "protected")),
        ("far", POLICY, {"trust": True}, {"targets": {"1": PROTECTED}}, (ASKED, "protected")),
        ("act", ALLOWED, {}, {"targets": {"1": GIT}}, (ASKED, "repository")),
        ("act", ALLOWED, {"trust": True}, {"targets": {"1": GIT}}, (RUNS, "rule")),
        ("act", ALLOWED, {}, {"details": {"1": LOADING}}, (ASKED, "loads")),
        ("act", ALLOWED, {}, {"details": {"1": CHANGE}}, (RUNS, "rule")),
        ("look", ALLOWED, {}, {"details": {"1": LOADING}}, (RUNS, "rule")),
        ("act", ALLOWED, {}, {"unseen_path": "a.py"}, (ASKED, "unseen")),
        ("act", ALLOWED, {"trust": True}, {"unseen_path": "a.py"}, (RUNS, "rule")),
        ("look", ALLOWED, {}, {"unseen_path": "a.py"}, (RUNS, "rule")),
        ("act", POLICY, {}, {"details": {"1": in_sandbox(SandboxState.TRUSTED)}}, (RUNS, "sandbox")),
        ("act", POLICY, {}, {"details": {"1": in_sandbox(SandboxState.INSIDE)}}, (ASKED, "default")),
        ("act", POLICY, {}, {"reviews": {"1": ReviewTime.AFTER}}, (RUNS, "review")),
        ("act", POLICY, {}, {"reviews": {"1": ReviewTime.NEVER}}, (RUNS, "review")),
        ("act", POLICY, {}, {"reviews": {"2": ReviewTime.AFTER}}, (ASKED, "default")),
        ("look", POLICY, {}, {"adjustments": {"1": CallAdjustment(decision=Decision.ASK)}}, (ASKED, None)),
        ("far", POLICY, {}, {"adjustments": {"1": CallAdjustment(decision=Decision.ALLOW)}}, (ASKED, "default")),
        ("far", POLICY, {"verdicts": {"1": Verdict(Decision.ALLOW)}}, {}, (RUNS, None)),
        ("far", POLICY, {"verdicts": {"2": Verdict(Decision.ALLOW)}}, {}, (ASKED, "default")),
        ("look", POLICY, {"plan_mode": True}, {}, (RUNS, "rule")),
    ],
)
def test_a_call_runs_or_is_asked_about_for_this_reason(
    tool: str, policy: Policy, setup: dict[str, Any], finished: dict[str, Any], expected: tuple[str, str | None]
) -> None:
    assert outcome(finish(prompt(policy, **setup), call(tool), **finished)) == expected


@pytest.mark.parametrize(
    ("tool", "setup", "finished", "reason"),
    [
        ("far", {"plan_mode": True}, {}, RejectReason.PLAN),
        ("far", {"plan_mode": True, "trust": True}, {}, RejectReason.PLAN),
        ("look", {}, {"adjustments": {"1": CallAdjustment(decision=Decision.DENY, words="No.")}}, RejectReason.HOOK),
        ("look", {"verdicts": {"1": Verdict(Decision.DENY, RejectReason.USER)}}, {}, RejectReason.USER),
    ],
)
def test_a_call_is_rejected_for_this_reason(
    tool: str, setup: dict[str, Any], finished: dict[str, Any], reason: RejectReason
) -> None:
    talk = finish(prompt(**setup), call(tool), **finished)
    (rejected,) = talk.shown(ToolCallRejectedContent)
    assert (rejected.reason, rejected.cause) == (reason, None)
    assert not any(isinstance(effect, RunTool | AskUser) for effect in talk.effects)


def test_a_denied_call_stays_denied_in_plan_mode_and_although_it_would_fail() -> None:
    failing = {"1": CallAdjustment(failure="There is no such file.")}
    for planning, more in ((True, {}), (False, {"adjustments": failing})):
        talk = finish(prompt(plan_mode=planning), call("act", arguments='{"how": "badly"}'), **more)
        (rejected,) = talk.shown(ToolCallRejectedContent)
        assert rejected.reason is RejectReason.CONFIG
        assert rejected.cause is not None
        assert rejected.cause.kind == "rule"


@pytest.mark.parametrize("tool", ["look", "far"])
def test_a_call_that_cannot_succeed_ends_without_a_question(tool: str) -> None:
    talk = finish(prompt(), call(tool), adjustments={"1": CallAdjustment(failure="There is no such file.")})
    (called,) = talk.shown(ToolCalledContent)
    assert (called.error, called.outputs[0].text) == (True, "There is no such file.")


def test_a_hook_may_replace_the_arguments_of_a_call_and_the_rules_see_the_new_ones() -> None:
    new = {"1": CallAdjustment({"how": "badly"}), "2": CallAdjustment({})}
    talk = finish(prompt(ALLOWED), call("act", arguments='{"how": "well"}'), adjustments=new)
    assert [effect.arguments for effect in talk.effects if isinstance(effect, RunTool)] == [{"how": "badly"}]
    talk = finish(prompt(POLICY), call("act", arguments='{"how": "well"}'), adjustments=new)
    assert [content.arguments for content in talk.shown(ToolCallRejectedContent)] == [{"how": "badly"}]


def test_a_change_that_is_reviewed_later_makes_the_calls_after_it_ask_and_those_before_it_not() -> None:
    calls = [call("act", id, index=index) for index, id in enumerate("123")]
    policy = Policy(allow={"act": Rule(args_matchers={"free": ("yes",)})})
    free = {id: CallAdjustment({"free": "yes"}) for id in "13"}
    talk = finish(prompt(policy), *calls, details={"2": CHANGE}, reviews={"2": ReviewTime.AFTER}, adjustments=free)
    causes = {content.id: content.cause for content in talk.shown(ToolCallRunContent)}
    assert [cause and (cause.kind, cause.path) for cause in causes.values()] == [
        ("rule", None),
        ("review", None),
        ("unseen", "a.py"),
    ]


def test_a_change_that_a_rule_allowed_makes_no_later_call_ask() -> None:
    calls = [call("act", id, index=index) for index, id in enumerate("12")]
    talk = finish(prompt(ALLOWED), *calls, details={"1": CHANGE})
    assert [content.cause and content.cause.kind for content in talk.shown(ToolCallRunContent)] == ["rule", "rule"]


@pytest.mark.parametrize(("line", "expected"), [("grep x a.py", (RUNS, "rule")), ("python a.py", (ASKED, "unseen"))])
def test_a_command_that_only_reads_may_run_while_a_change_is_not_reviewed(
    line: str, expected: tuple[str, str | None]
) -> None:
    shell = ToolSpec("shell", "", {}, approval_covers=ApprovalCoverage.COMMANDS)
    talk = prompt(Policy(allow={"shell": Rule()}), tools=(shell,))
    arguments = json.dumps({"command": line})
    assert outcome(finish(talk, call("shell", arguments=arguments), unseen_path="a.py")) == expected


def test_an_approval_for_the_session_does_not_hold_outside_of_the_sandbox_and_is_not_given_there() -> None:
    talk = finish(prompt(), call("act", "1")).approves("1", remember=True).ran("1")
    outside = in_sandbox(SandboxState.OUTSIDE)
    assert outcome(finish(talk, call("act", "2")), "2") == (RUNS, "remembered")
    assert outcome(finish(talk.ran("2"), call("act", "3"), details={"3": outside}), "3") == (ASKED, "default")
    talk = finish(prompt(), call("act", "1"), details={"1": outside}).approves("1", remember=True).ran("1")
    assert outcome(finish(talk, call("act", "2")), "2") == (ASKED, "default")


def test_an_approval_for_the_session_holds_for_the_same_command_and_no_other() -> None:
    tools = (ToolSpec("shell", "", {}, approval_covers=ApprovalCoverage.COMMANDS),)
    lines = [json.dumps({"command": line}) for line in ("make test", "make test", "rm notes.txt")]
    talk = finish(prompt(tools=tools), call("shell", "1", lines[0])).approves("1", remember=True).ran("1")
    assert outcome(finish(talk, call("shell", "2", lines[1])), "2") == (RUNS, "remembered")
    assert outcome(finish(talk.ran("2"), call("shell", "3", lines[2])), "3") == (ASKED, "default")


def test_a_call_that_needs_approval_each_time_is_never_approved_for_the_session() -> None:
    talk = finish(prompt(), call("act", "1"), targets={"1": PROTECTED}).approves("1", remember=True).ran("1")
    assert talk.state.approved_scopes == frozenset()
    assert outcome(finish(talk, call("act", "2")), "2") == (ASKED, "default")


def test_a_waiting_call_that_a_new_rule_denies_is_rejected_and_names_the_rule() -> None:
    talk = finish(prompt(), call("far"))
    talk.feed(inputs.PolicyChanged(talk.now, Policy(deny={"away": Rule()})))
    (rejected,) = talk.shown(ToolCallRejectedContent)
    assert (rejected.reason, rejected.cause) == (RejectReason.CONFIG, Cause(kind="rule", rule="away"))


NO_RULES = Policy()
WITHDRAWN = {
    "the rule is gone": inputs.PolicyChanged(0, Policy(allow={"act": Rule(args_matchers={"how": ("well",)})})),
    "a rule asks": inputs.PolicyChanged(0, Policy(ask={"act": Rule()}, allow={"act": Rule()})),
    "trust is off": inputs.TrustChanged(0, trust=False),
}


@pytest.mark.parametrize("withdrawn", WITHDRAWN)
def test_a_queued_call_that_nothing_allows_any_more_needs_approval(withdrawn: str) -> None:
    trusts = withdrawn == "trust is off"
    talk = prompt(NO_RULES if trusts else ALLOWED, trust=trusts)
    finish(talk, call("act", "1"), call("act", "2", index=1), call("look", "3", index=2))
    talk.feed(WITHDRAWN[withdrawn])
    asked = [effect.call for effect in talk.effects if isinstance(effect, AskUser)]
    assert asked == ["2", "3"]
    runs = [content for content in talk.shown(ToolCallRunContent) if content.id == "2"]
    assert [(content.manual_approval, content.waits_for) for content in runs] == [(False, "1"), (True, "1")]
    talk.ran("1")
    assert not any(isinstance(effect, RunTool) for effect in talk.effects)
    talk.approves("2")
    assert [effect.call for effect in talk.effects if isinstance(effect, RunTool)] == ["2"]


def test_a_queued_call_that_the_user_has_approved_runs_after_its_rule_is_withdrawn() -> None:
    talk = finish(prompt(), call("act", "1"), call("far", "2", index=1)).approves("2")
    talk.changes_rules(NO_RULES).approves("1").ran("1")
    assert [effect.call for effect in talk.effects if isinstance(effect, RunTool)] == ["2"]


def test_a_call_that_an_approval_for_the_session_has_queued_stays_queued_when_rules_change() -> None:
    talk = finish(prompt(), call("act", "1"), call("act", "2", index=1)).approves("1", remember=True)
    talk.changes_rules(NO_RULES)
    assert talk.effects == ()
    talk.ran("1")
    assert [effect.call for effect in talk.effects if isinstance(effect, RunTool)] == ["2"]


def test_while_a_call_is_written_its_card_says_whether_it_will_probably_ask() -> None:
    talk = prompt().says(*(call(name, name, "{", index) for index, name in enumerate(("look", "far", "none"))))
    shown = [(content.name, content.manual_approval) for content in talk.shown(ToolCallPrepareContent)]
    assert shown == [("look", False), ("far", True), ("none", False)]
