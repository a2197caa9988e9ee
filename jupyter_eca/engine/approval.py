"""Who may call what: ECA's `toolCall.approval` rules, decided from data alone.

Order (ECA 3.3): a `deny` rule, then what the user remembered for this chat, then `ask`, then `allow`, then the default.
Unlike upstream, what is remembered is the tool of one server, never a bare name that two servers could share.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from pydantic import Field, field_validator

from jupyter_eca.protocol.base import Model

if TYPE_CHECKING:
    from jupyter_eca.engine.spec import ToolSpec


class Decision(StrEnum):
    ALLOW = "allow"
    ASK = "ask"
    DENY = "deny"


class Rule(Model):
    """`args_matchers`: argument name to regular expressions, one of which must match the whole value."""

    args_matchers: dict[str, tuple[str, ...]] = Field(default_factory=dict[str, tuple[str, ...]])

    @field_validator("args_matchers")
    @classmethod
    def _compile(cls, value: dict[str, tuple[str, ...]]) -> dict[str, tuple[str, ...]]:
        for pattern in (p for patterns in value.values() for p in patterns):
            try:
                re.compile(pattern)
            except (re.error, OverflowError, RecursionError) as error:
                raise ValueError(f"not a regular expression: {pattern!r}: {error}") from error
        return value

    def matches(self, arguments: dict[str, Any]) -> bool:
        return all(
            any(re.fullmatch(pattern, str(arguments.get(name, "")), re.DOTALL) for pattern in patterns)
            for name, patterns in self.args_matchers.items()
        )


Rules = Mapping[str, Rule]
"""Keyed by selector: a server, `server__tool`, or the bare name of a native tool."""


class Policy(Model):
    deny: dict[str, Rule] = Field(default_factory=dict[str, Rule])
    ask: dict[str, Rule] = Field(default_factory=dict[str, Rule])
    allow: dict[str, Rule] = Field(default_factory=dict[str, Rule])
    by_default: Decision = Decision.ASK


def key(tool: ToolSpec) -> str:
    """What "remember for this session" remembers."""
    return f"{tool.server}__{tool.name}"


def decide(policy: Policy, tool: ToolSpec, arguments: dict[str, Any], remembered: frozenset[str]) -> Decision:
    if _hit(policy.deny, tool, arguments):
        return Decision.DENY
    if key(tool) in remembered:
        return Decision.ALLOW
    if _hit(policy.ask, tool, arguments):
        return Decision.ASK
    if _hit(policy.allow, tool, arguments):
        return Decision.ALLOW
    return policy.by_default


def hidden(policy: Policy, tool: ToolSpec) -> bool:
    """True when every call would be denied: then the model is not told of the tool at all."""
    return any(not rule.args_matchers for selector, rule in policy.deny.items() if _selects(selector, tool))


def _hit(rules: Rules, tool: ToolSpec, arguments: dict[str, Any]) -> bool:
    return any(_selects(selector, tool) and rule.matches(arguments) for selector, rule in rules.items())


def _selects(selector: str, tool: ToolSpec) -> bool:
    return selector in {tool.server, key(tool)} or (tool.server == "eca" and selector == tool.name)
