"""Who may call what: ECA's `toolCall.approval` rules, decided from data alone.

Order (ECA 3.3): a `deny` rule, then what the user remembered for this chat, then `ask`, then `allow`, then the default.
Trust turns ask into allow at the end, and never lifts a deny. Unlike upstream, what is remembered is the tool of one
server, never a bare name that two servers could share; of a shell tool it is the commands of the line.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from pydantic import Field, field_validator

from jupyter_eca.engine.shell import approval_keys
from jupyter_eca.engine.spec import Remembers
from jupyter_eca.protocol.base import Model
from jupyter_eca.protocol.content import RejectReason

if TYPE_CHECKING:
    from jupyter_eca.engine.spec import ToolSpec


class Decision(StrEnum):
    ALLOW = "allow"
    ASK = "ask"
    DENY = "deny"


@dataclass(frozen=True, slots=True)
class Verdict:
    """What is to become of one call, whatever the rules say: it was decided when it was made first. `reason` and
    `words` are those of a denial."""

    decision: Decision
    reason: RejectReason = RejectReason.CONFIG
    words: str = ""


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

    @property
    def always(self) -> bool:
        """Whether it matches whatever the arguments are."""
        return not self.args_matchers

    def matches(self, arguments: dict[str, Any]) -> bool:
        return all(
            any(re.fullmatch(pattern, str(arguments.get(name, "")), re.DOTALL) for pattern in patterns)
            for name, patterns in self.args_matchers.items()
        )


class _Either(Rule):
    """Two rules for one selector, of which one is enough."""

    rules: tuple[Rule, Rule]

    @property
    def always(self) -> bool:
        return any(rule.always for rule in self.rules)

    def matches(self, arguments: dict[str, Any]) -> bool:
        return any(rule.matches(arguments) for rule in self.rules)


Rules = Mapping[str, Rule]
"""Keyed by selector: a server, `server__tool`, or the bare name of a native tool."""


class Policy(Model):
    deny: dict[str, Rule] = Field(default_factory=dict[str, Rule])
    ask: dict[str, Rule] = Field(default_factory=dict[str, Rule])
    allow: dict[str, Rule] = Field(default_factory=dict[str, Rule])
    by_default: Decision = Decision.ASK


def merged(over_all: Policy, agent: Policy) -> Policy:
    """An agent's rules beside those for everybody; where both ask or allow by the same selector, the agent's own. The
    order of `decide` still holds: what is denied to everybody stays denied, whatever an agent allows."""
    both = {name: _Either(rules=(rule, agent.deny[name])) for name, rule in over_all.deny.items() if name in agent.deny}
    return Policy(
        deny={**over_all.deny, **agent.deny, **both},
        ask={**over_all.ask, **agent.ask},
        allow={**over_all.allow, **agent.allow},
        by_default=agent.by_default if "by_default" in agent.model_fields_set else over_all.by_default,
    )


def key(tool: ToolSpec) -> str:
    """What a rule selects one tool of one server by."""
    own = f"{tool.server}__"
    return tool.name if tool.name.startswith(own) else f"{own}{tool.name}"


def keys(tool: ToolSpec, arguments: dict[str, Any]) -> tuple[str | None, ...]:
    """What "remember for this session" remembers of a call; None in the place of what can not be. Never empty."""
    if tool.remembers is Remembers.TOOL:
        return (key(tool),)
    return tuple(
        None if command is None else f"{key(tool)}:{command}"
        for command in approval_keys(str(arguments.get("command")))
    )


def rememberable(tool: ToolSpec, arguments: dict[str, Any]) -> frozenset[str]:
    return frozenset(key for key in keys(tool, arguments) if key is not None)


def is_remembered(tool: ToolSpec, arguments: dict[str, Any], remembered: frozenset[str]) -> bool:
    """Whether everything that the call does was remembered."""
    return all(key in remembered for key in keys(tool, arguments))


def decide(
    policy: Policy, tool: ToolSpec, arguments: dict[str, Any], remembered: frozenset[str], *, trust: bool = False
) -> Decision:
    decision = _decided(policy, tool, arguments, remembered)
    return Decision.ALLOW if trust and decision is Decision.ASK else decision


def _decided(policy: Policy, tool: ToolSpec, arguments: dict[str, Any], remembered: frozenset[str]) -> Decision:
    if _hit(policy.deny, tool, arguments):
        return Decision.DENY
    if is_remembered(tool, arguments, remembered):
        return Decision.ALLOW
    if _hit(policy.ask, tool, arguments):
        return Decision.ASK
    if _hit(policy.allow, tool, arguments):
        return Decision.ALLOW
    return policy.by_default


def hidden(policy: Policy, tool: ToolSpec) -> bool:
    """True when every call would be denied: then the model is not told of the tool at all."""
    return any(rule.always for selector, rule in policy.deny.items() if _selects(selector, tool))


def _hit(rules: Rules, tool: ToolSpec, arguments: dict[str, Any]) -> bool:
    return any(_selects(selector, tool) and rule.matches(arguments) for selector, rule in rules.items())


def _selects(selector: str, tool: ToolSpec) -> bool:
    return selector in {tool.server, key(tool)} or (tool.server == "eca" and selector == tool.name)
