"""The rules: which one wins, what it selects, what its patterns match."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from typing import Any

import pytest
from pydantic import ValidationError

from jupyter_eca.engine.approval.policy import (
    Decision,
    Policy,
    Rule,
    decide,
    is_hidden,
    key,
    list_rememberable,
    merge_policies,
)
from jupyter_eca.engine.model.request import Remembers, ToolSpec
from jupyter_eca.protocol.content import Origin

OURS = ToolSpec("shell", "", {})
THEIRS = ToolSpec("shell_2", "", {}, server="away", origin=Origin.MCP)
NAMESAKE = ToolSpec("shell", "", {}, server="away", origin=Origin.MCP)
NOTHING: frozenset[str] = frozenset()


def rules(**matchers: str) -> dict[str, Rule]:
    return {"shell": Rule(args_matchers={name: (pattern,) for name, pattern in matchers.items()})}


def allowed(arguments: dict[str, Any], **matchers: str) -> bool:
    """Whether a rule with these patterns matches."""
    return decide(Policy(allow=rules(**matchers)), OURS, arguments, NOTHING).decision is Decision.ALLOW


@pytest.mark.parametrize(("deny", "remembered", "ask", "allow"), list(product([True, False], repeat=4)))
def test_deny_wins_over_remembered_over_ask_over_allow_over_the_default(
    deny: bool, remembered: bool, ask: bool, allow: bool
) -> None:
    rule = rules()
    for by_default in Decision:
        policy = Policy(
            deny=rule if deny else {}, ask=rule if ask else {}, allow=rule if allow else {}, by_default=by_default
        )
        expected = (
            (deny, Decision.DENY),
            (remembered, Decision.ALLOW),
            (ask, Decision.ASK),
            (allow, Decision.ALLOW),
            (True, by_default),
        )
        first = next(decision for applies, decision in expected if applies)
        assert decide(policy, OURS, {}, frozenset({key(OURS)} if remembered else ())).decision is first


def test_without_rules_everything_asks() -> None:
    assert decide(Policy(), OURS, {}, NOTHING).decision is Decision.ASK


@pytest.mark.parametrize(
    ("selector", "tool", "selected"),
    [
        ("eca", OURS, True),
        ("eca__shell", OURS, True),
        ("shell", OURS, True),
        ("shel", OURS, False),
        ("SHELL", OURS, False),
        ("eca__", OURS, False),
        ("away", THEIRS, True),
        ("away__shell_2", THEIRS, True),
        ("shell_2", THEIRS, False),
        ("shell", NAMESAKE, False),
        ("eca", NAMESAKE, False),
        ("eca__shell", NAMESAKE, False),
    ],
)
def test_a_selector_is_a_server_or_a_tool_of_a_server_or_a_native_name(
    selector: str, tool: ToolSpec, selected: bool
) -> None:
    assert (decide(Policy(deny={selector: Rule()}), tool, {}, NOTHING).decision is Decision.DENY) is selected


def test_what_is_remembered_of_one_server_is_not_of_another() -> None:
    assert decide(Policy(), NAMESAKE, {}, frozenset({key(OURS)})).decision is Decision.ASK


def test_a_pattern_must_match_the_whole_argument() -> None:
    assert allowed({"command": "ls"}, command="ls")
    assert not allowed({"command": "ls; rm -rf /"}, command="ls")
    assert not allowed({"command": "false || ls"}, command="ls")


def test_a_dot_matches_line_ends_so_that_a_denied_command_cannot_hide_behind_one() -> None:
    assert allowed({"command": "x\nrm -rf /\n"}, command=".*rm.*")
    assert not allowed({"command": "ls\n"}, command="ls")


def test_every_named_argument_must_match() -> None:
    assert allowed({"a": "1", "b": "2"}, a="1", b="2")
    assert not allowed({"a": "1", "b": "3"}, a="1", b="2")


def test_one_of_several_patterns_is_enough() -> None:
    policy = Policy(allow={"shell": Rule(args_matchers={"a": ("1", "2")})})
    assert [decide(policy, OURS, {"a": a}, NOTHING).decision.value for a in "123"] == ["allow", "allow", "ask"]


def test_an_argument_that_is_missing_is_empty() -> None:
    assert allowed({}, command="")
    assert not allowed({}, command=".+")


@pytest.mark.parametrize(
    ("value", "pattern"), [(5, "5"), (True, "True"), (None, "None"), (["rm", "-rf"], r".*\brm\b.*")]
)
def test_an_argument_of_another_type_is_matched_as_text(value: object, pattern: str) -> None:
    assert allowed({"command": value}, command=pattern)


def test_other_arguments_do_not_matter() -> None:
    assert allowed({"a": "1", "b": object()}, a="1")


@pytest.mark.parametrize("pattern", ["[", "(?P<a>", "*", "a{99999999999}", "(" * 2000 + ")" * 2000])
def test_a_pattern_that_is_none_is_named(pattern: str) -> None:
    with pytest.raises(ValidationError) as caught:
        Rule.model_validate({"argsMatchers": {"command": [pattern]}})
    (error,) = caught.value.errors()
    assert error["loc"] == ("argsMatchers",)
    assert repr(pattern) in error["msg"]


def test_a_tool_that_is_always_denied_is_hidden() -> None:
    assert is_hidden(Policy(deny={"away": Rule()}), THEIRS)
    assert not is_hidden(Policy(deny={"away": Rule()}), OURS)


def test_a_tool_that_is_denied_for_some_arguments_is_not_hidden() -> None:
    assert not is_hidden(Policy(deny=rules(command="rm.*")), OURS)


def test_a_tool_that_only_the_default_denies_is_not_hidden_from_what_was_allowed() -> None:
    assert not is_hidden(Policy(by_default=Decision.DENY, allow=rules()), OURS)


# --- what is remembered -----------------------------------------------------------------------------------------------

SHELL = ToolSpec("shell_command", "", {}, remembers=Remembers.COMMANDS)


def after(*lines: str) -> frozenset[str]:
    """What is remembered once these were approved for the session."""
    return frozenset(key for line in lines for key in list_rememberable(SHELL, {"command": line}))


@pytest.mark.parametrize(
    ("line", "decision"),
    [
        ("git log --oneline", Decision.ALLOW),
        ("git log && ls", Decision.ALLOW),
        ("git push", Decision.ASK),
        ("git log && git push", Decision.ASK),
        ("git log > file", Decision.ASK),
        ("ls $(git push)", Decision.ASK),
        ("", Decision.ASK),
    ],
)
def test_a_line_is_allowed_when_every_command_of_it_was_remembered(line: str, decision: Decision) -> None:
    assert decide(Policy(), SHELL, {"command": line}, after("git log", "ls -la")).decision is decision


def test_what_can_not_be_remembered_is_asked_about_again() -> None:
    line = "sudo ls; git log"
    assert decide(Policy(), SHELL, {"command": line}, after(line)).decision is Decision.ASK
    assert decide(Policy(), SHELL, {"command": "git log"}, after(line)).decision is Decision.ALLOW


def test_a_command_line_of_another_server_is_not_what_was_remembered() -> None:
    theirs = replace(SHELL, server="away", origin=Origin.MCP)
    assert decide(Policy(), theirs, {"command": "git log"}, after("git log")).decision is Decision.ASK


@pytest.mark.parametrize("arguments", [{}, {"command": None}, {"command": 5}, {"command": ["git", "log"]}])
def test_a_command_that_is_no_text_is_asked_about(arguments: dict[str, Any]) -> None:
    assert decide(Policy(), SHELL, arguments, after("git log")).decision is Decision.ASK


# --- trust, and agents ------------------------------------------------------------------------------------------------


def test_trust_turns_ask_into_allow_and_lifts_no_deny() -> None:
    assert decide(Policy(), OURS, {}, NOTHING, trust=True).decision is Decision.ALLOW
    assert decide(Policy(ask=rules()), OURS, {}, NOTHING, trust=True).decision is Decision.ALLOW
    assert decide(Policy(deny=rules()), OURS, {}, NOTHING, trust=True).decision is Decision.DENY
    assert decide(Policy(by_default=Decision.DENY), OURS, {}, NOTHING, trust=True).decision is Decision.DENY


def test_an_agent_adds_its_rules_to_those_for_everybody() -> None:
    both = merge_policies(Policy(deny=rules(command="rm.*")), Policy(allow=rules(), by_default=Decision.DENY))
    assert decide(both, OURS, {"command": "ls"}, NOTHING).decision is Decision.ALLOW
    assert decide(both, OURS, {"command": "rm x"}, NOTHING).decision is Decision.DENY
    assert decide(both, THEIRS, {}, NOTHING).decision is Decision.DENY


def test_an_agent_that_says_no_default_keeps_the_one_for_everybody() -> None:
    assert merge_policies(Policy(by_default=Decision.DENY), Policy()).by_default is Decision.DENY
    assert merge_policies(Policy(by_default=Decision.DENY), Policy(by_default=Decision.ASK)).by_default is Decision.ASK


def test_of_two_denials_of_one_tool_each_counts() -> None:
    both = merge_policies(Policy(deny=rules(command="rm.*")), Policy(deny=rules(command="mv.*")))
    decided = [decide(both, OURS, {"command": line}, NOTHING).decision.value for line in ("rm x", "mv x y", "ls")]
    assert decided == ["deny", "deny", "ask"]
    assert not is_hidden(both, OURS)
    assert is_hidden(merge_policies(both, Policy(deny=rules())), OURS)


def test_an_agent_asks_and_allows_by_its_own_rule_for_the_same_selector() -> None:
    both = merge_policies(Policy(allow=rules()), Policy(allow=rules(command="ls")))
    assert [decide(both, OURS, {"command": line}, NOTHING).decision.value for line in ("ls", "rm")] == ["allow", "ask"]
