"""What the arguments of a tool of others name, in words."""

from __future__ import annotations

from typing import Any

import pytest

from jupyter_eca.engine.approval.call_targets import find_targets
from jupyter_eca.engine.approval.policy import CallAdjustment, Decision, Policy, Rule, Verdict, decide, unite_rules
from jupyter_eca.engine.model.request import ApprovalCoverage, ToolSpec
from jupyter_eca.protocol.content import Origin, RejectReason

THEIRS = ToolSpec("theirs", "", {}, server="away", origin=Origin.MCP)
LONGEST = "a" * 4_095


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"path": "/a"}, "path in /"),
        ({"path": "/a/b"}, "path in /a/"),
        ({"path": "a\nb"}, 'path "a\\nb"'),
        ({"path": f"{LONGEST}b"}, "path in the top folder"),
        ({"path": f"{LONGEST}bc"}, f'path "{LONGEST}bc"'),
        ({"path": "ä b/c"}, 'path in "ä b/"'),
        ({"url": "example.org/a"}, 'url "example.org/a"'),
        ({"note": "https://x.org b"}, "any note with https://x.org"),
        ({"x": "~"}, "x in the top folder"),
        ({"x": "."}, "x in the top folder"),
        ({"x": ".."}, "x in the top folder"),
        ({"x": "a\\b"}, "x in the top folder"),
        ({"x": f"/{LONGEST}"}, "x in /"),
        ({"x": "a b/c"}, 'x "a b/c"'),
        ({"ä b": 1}, 'any "ä b"'),
        ({"to": "ä"}, 'to "ä"'),
        ({"command": {"b": 1, "a": 2}}, 'command {"a": 2, "b": 1}'),
    ],
)
def test_an_argument_is_named_by_its_folder_its_address_or_its_exact_value(
    arguments: dict[str, Any], words: str
) -> None:
    assert find_targets(THEIRS, arguments).named == (words,)


def test_a_hook_that_decides_as_the_rules_do_is_not_the_reason() -> None:
    denied = Verdict(Decision.DENY, words="by a rule")
    assert CallAdjustment(decision=Decision.DENY, words="by a hook").apply_to(denied) is denied
    hooked = CallAdjustment(decision=Decision.DENY, words="by a hook").apply_to(Verdict(Decision.ALLOW))
    assert (hooked.decision, hooked.reason, hooked.words) == (Decision.DENY, RejectReason.HOOK, "by a hook")


@pytest.mark.parametrize(
    ("line", "decision"), [("git log; wc x", "allow"), ("git log; rm x", "ask"), ("git log", "allow")]
)
def test_each_command_of_a_line_must_match_one_of_two_united_rules(line: str, decision: str) -> None:
    shell = ToolSpec("shell_command", "", {}, approval_covers=ApprovalCoverage.COMMANDS)
    patterns = (("git.*", "wc.*"), ("make",))
    first, second = (Rule(args_matchers={"command": commands}) for commands in patterns)
    policy = Policy(allow={"shell_command": unite_rules(first, second)})
    assert decide(policy, shell, {"command": line}, frozenset()).decision.value == decision


@pytest.mark.parametrize("line", ["rm 'a b' c", "/bin/rm a\\ b c", "'rm' \"a b\" c", "ls; rm > x 'a b' c"])
def test_a_denied_command_is_denied_however_it_is_written(line: str) -> None:
    shell = ToolSpec("shell_command", "", {}, approval_covers=ApprovalCoverage.COMMANDS)
    policy = Policy(deny={"shell_command": Rule(args_matchers={"command": ("rm a b c",)})}, by_default=Decision.ALLOW)
    assert decide(policy, shell, {"command": line}, frozenset()).decision is Decision.DENY
