"""The rule of "Always…": what it allows, what it does not, and how it joins and leaves the rules that are there."""

from __future__ import annotations

from typing import Any

import pytest

from jupyter_eca.engine.approval.call_targets import find_targets
from jupyter_eca.engine.approval.policy import Decision, Policy, Rule, RuleKey, Rules, decide, unite_rules
from jupyter_eca.engine.approval.policy_edits import add_rule, remove_rule
from jupyter_eca.engine.approval.proposed_rule import merge_rules, propose_rule, subtract_rule
from jupyter_eca.engine.model.request import ApprovalCoverage, ToolSpec
from jupyter_eca.protocol.content import Origin

SHELL = ToolSpec("shell_command", "", {}, approval_covers=ApprovalCoverage.COMMANDS, paths=("working_directory",))
WRITE = ToolSpec("write_file", "", {}, approval_covers=ApprovalCoverage.FOLDER, paths=("path",))
MOVE = ToolSpec("move_file", "", {}, approval_covers=ApprovalCoverage.FOLDER, paths=("source", "destination"))
JOB = ToolSpec("bg_job", "", {}, approval_covers=ApprovalCoverage.ARGUMENTS)
RUN = ToolSpec("run_code", "", {}, approval_covers=ApprovalCoverage.NOTEBOOK)
IN_FOLDER = {"command": "make", "working_directory": "a.b"}
THEIRS = ToolSpec("search", "", {}, server="away", origin=Origin.MCP)


def rule(**patterns: str | tuple[str, ...]) -> Rule:
    return Rule(args_matchers={name: (texts,) if isinstance(texts, str) else texts for name, texts in patterns.items()})


def is_allowed(tool: ToolSpec, approved: dict[str, Any], later: dict[str, Any]) -> bool:
    """Whether a later call runs once "Always…" was chosen for the first one."""
    proposed = propose_rule({}, tool, approved, find_targets(tool, approved))
    assert proposed is not None
    return decide(Policy(allow=dict([proposed])), tool, later, frozenset()).decision is Decision.ALLOW


@pytest.mark.parametrize(
    ("tool", "approved", "later", "allowed"),
    [
        (SHELL, {"command": "make a.b"}, {"command": "make a.b"}, True),
        (SHELL, {"command": "make a.b"}, {"command": "make aXb"}, False),
        (SHELL, {"command": "make a.b"}, {"command": "make a.b; rm x"}, False),
        (SHELL, {"command": "make"}, {"command": "make", "working_directory": "sub"}, False),
        (SHELL, {"command": "make", "working_directory": "a.b"}, {"command": "make", "working_directory": "a.b"}, True),
        (
            SHELL,
            {"command": "make", "working_directory": "a.b"},
            {"command": "make", "working_directory": "aXb"},
            False,
        ),
        (SHELL, {"command": "make", "working_directory": "sub"}, {"command": "make"}, False),
        (WRITE, {"path": "no.tes/a.txt"}, {"path": "no.tes/b.txt"}, True),
        (WRITE, {"path": "no.tes/a.txt"}, {"path": "noXtes/b.txt"}, False),
        (WRITE, {"path": "notes/a.txt"}, {"path": "notes/below/b.txt"}, False),
        (WRITE, {"path": "notes/a.txt"}, {"path": "b.txt"}, False),
        (WRITE, {"path": "a.txt"}, {"path": "b.txt"}, True),
        (WRITE, {"path": "a.txt"}, {"path": "notes/b.txt"}, False),
        (MOVE, {"source": "a/x", "destination": "b/x"}, {"source": "a/y", "destination": "b/z"}, True),
        (MOVE, {"source": "a/x", "destination": "b/x"}, {"source": "b/y", "destination": "a/z"}, False),
        (JOB, {"action": "kill", "id": 1}, {"action": "kill", "id": 1}, True),
        (JOB, {"action": "kill", "id": 1}, {"action": "kill", "id": 2}, False),
        (JOB, {"action": "a.b"}, {"action": "aXb"}, False),
        (RUN, {"code": "1"}, {"code": "2"}, True),
        (THEIRS, {"query": "a"}, {"query": "b"}, True),
    ],
)
def test_always_allows_what_was_approved_and_nothing_wider(
    tool: ToolSpec, approved: dict[str, Any], later: dict[str, Any], allowed: bool
) -> None:
    assert is_allowed(tool, approved, later) is allowed


def test_for_a_command_without_a_line_the_rule_allows_no_line() -> None:
    proposed = propose_rule({}, SHELL, {}, find_targets(SHELL, {}))
    assert proposed is not None
    assert proposed[1] == rule(command="", working_directory="")


@pytest.mark.parametrize(
    ("rules", "tool", "selector"),
    [
        ({}, SHELL, "eca__shell_command"),
        ({"eca__shell_command": rule(command="ls", working_directory="")}, SHELL, "eca__shell_command"),
        ({"eca__shell_command": rule(command="ls")}, SHELL, "shell_command"),
        ({"eca__shell_command": rule(command="ls"), "shell_command": rule(command="ls")}, SHELL, None),
        ({}, THEIRS, "away__search"),
        ({"away__search": rule(query="a")}, THEIRS, None),
        ({"away__search": Rule()}, THEIRS, "away__search"),
    ],
)
def test_the_rule_gets_a_name_under_which_no_other_rule_is_in_its_way(
    rules: Rules, tool: ToolSpec, selector: str | None
) -> None:
    proposed = propose_rule(rules, tool, {"command": "make"}, find_targets(tool, {"command": "make"}))
    assert (proposed and proposed[0]) == selector


@pytest.mark.parametrize(
    ("old", "added", "merged"),
    [
        (None, rule(a="1"), rule(a="1")),
        (rule(a="1"), rule(a="1"), rule(a="1")),
        (rule(a="1"), rule(a="2"), rule(a=("1", "2"))),
        (rule(a=("1", "2")), rule(a=("2", "3")), rule(a=("1", "2", "3"))),
        (rule(a="1", b="x"), rule(a="2", b="x"), rule(a=("1", "2"), b="x")),
        (rule(a="1", b="x"), rule(a="2", b="y"), None),
        (rule(a="1"), rule(b="1"), None),
        (rule(a="1"), rule(a="1", b="1"), None),
        (Rule(), rule(a="1"), None),
        (rule(a="1"), Rule(), None),
        (Rule(), Rule(), Rule()),
    ],
)
def test_two_rules_become_one_only_if_it_matches_the_calls_of_both_and_no_others(
    old: Rule | None, added: Rule, merged: Rule | None
) -> None:
    assert merge_rules(old, added) == merged


@pytest.mark.parametrize(
    ("old", "removed", "remaining"),
    [
        (rule(a="1"), rule(a="1"), None),
        (Rule(), Rule(), None),
        (rule(a=("1", "2")), rule(a="1"), rule(a="2")),
        (rule(a=("1", "2"), b="x"), rule(a="2", b="x"), rule(a="1", b="x")),
        (rule(a=("1", "2", "3"), b=("1", "2")), rule(a=("1", "3"), b=("2", "1")), rule(a="2", b=("1", "2"))),
    ],
)
def test_a_part_of_a_rule_is_taken_out_and_the_rest_stays(old: Rule, removed: Rule, remaining: Rule | None) -> None:
    assert subtract_rule(old, removed) == remaining


@pytest.mark.parametrize(
    ("old", "removed"),
    [
        (rule(a="1"), rule(a="2")),
        (rule(a="1"), rule(b="1")),
        (rule(a="1"), Rule()),
        (rule(a=("1", "2"), b=("x", "y")), rule(a="1", b="x")),
    ],
)
def test_what_is_no_part_of_a_rule_is_not_taken_out(old: Rule, removed: Rule) -> None:
    with pytest.raises(ValueError, match="rule"):
        subtract_rule(old, removed)


# --- a policy with one rule more or less ------------------------------------------------------------------------------

ACT = ToolSpec("act", "", {})
KEYS: tuple[RuleKey, ...] = ("deny", "alwaysAsk", "ask", "allow")


def decided(policy: Policy, *values: str) -> list[str]:
    return [decide(policy, ACT, {"a": value}, frozenset()).decision.value for value in values]


@pytest.mark.parametrize(
    ("key", "decision"), [("deny", "deny"), ("alwaysAsk", "ask"), ("ask", "ask"), ("allow", "allow")]
)
def test_a_rule_is_added_beside_the_one_of_its_name_and_taken_out_again(key: RuleKey, decision: str) -> None:
    policy = Policy(by_default=Decision.ALLOW) if decision == "ask" else Policy()
    default = policy.by_default.value
    one = add_rule(policy, key, "act", rule(a="1"))
    both = add_rule(one, key, "act", rule(a="2"))
    assert decided(both, "1", "2", "3") == [decision, decision, default]
    assert decided(remove_rule(both, key, "act", rule(a="1")), "1", "2", "3") == [default, decision, default]
    assert remove_rule(one, key, "act", rule(a="1")).rules_by_key == {key: {} for key in KEYS}


def test_only_the_named_rule_is_taken_out() -> None:
    policy = Policy(allow={"act": rule(a="1"), "other": rule(a="1")}, deny={"act": rule(a="9")})
    assert remove_rule(policy, "allow", "gone", rule(a="1")) == policy
    assert remove_rule(policy, "allow", "act", rule(a="2")) == policy
    assert remove_rule(policy, "allow", "act", rule(a="1")) == policy.model_copy(
        update={"allow": {"other": rule(a="1")}}
    )


def test_of_several_rules_under_one_name_the_others_stay() -> None:
    three = unite_rules(unite_rules(rule(a="1"), rule(a="2")), rule(a=("3", "4")))
    policy = remove_rule(Policy(allow={"act": three}), "allow", "act", rule(a="3"))
    assert decided(policy, "1", "2", "3", "4") == ["allow", "allow", "ask", "allow"]
