"""Whether a tool call runs, is asked about or is denied, and why: ECA's `toolCall.approval` rules. Pure.

Order (ECA 3.3): a `deny` rule, then what the user remembered for this chat, then `ask`, then `allow`, then the default.
Three questions come after all of these, and nothing but a denial takes them back: about a call that changes what may
run without asking (`protected_paths`), about a Markdown cell that loads something as soon as it is shown, and about a
command line where a rule denies some commands and it is not certain which ones the line runs. Trust turns every other
question into a permission at the end, and never lifts a denial.

What is remembered are the scopes of `approval_scope`. How patterns are compared is in `rule_matching`; the words for a
verdict are in `reason`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import reduce
from typing import TYPE_CHECKING, Any

from pydantic import Field, field_validator

from jupyter_eca.engine.approval.approval_scope import ApprovalScope, key, list_scopes
from jupyter_eca.engine.approval.call_targets import CallTargets, find_targets
from jupyter_eca.engine.approval.rule_matching import COMMAND, ReviewedCall
from jupyter_eca.engine.approval.shell_parser import parse_commands
from jupyter_eca.protocol.base import Model
from jupyter_eca.protocol.content import Cause, RejectReason

if TYPE_CHECKING:
    from jupyter_eca.engine.model.request import ToolSpec


class Decision(StrEnum):
    ALLOW = "allow"
    ASK = "ask"
    DENY = "deny"


@dataclass(frozen=True, slots=True)
class Verdict:
    """What is to become of one call."""

    decision: Decision
    reason: RejectReason = RejectReason.CONFIG
    """Why it is denied."""
    words: str = ""
    """What the model reads about a denial besides the reason."""
    cause: Cause | None = None
    """What decided; None where no policy was asked."""

    @property
    def is_final(self) -> bool:
        """Whether it is a question that neither trust nor an earlier approval answers."""
        return self.cause is not None and self.cause.kind in {"protected", "loads", "unparsed"}


@dataclass(frozen=True, slots=True)
class Adjusted:
    """What hooks and the preview make of a call before it is decided."""

    arguments: dict[str, Any] | None = None
    """Other arguments; None leaves them."""
    decision: Decision | None = None
    """A decision that counts where it is stricter than that of the rules."""
    words: str = ""
    """What the model reads when a hook denies the call."""
    failure: str = ""
    """Why the call must fail, in words for the model. Nobody is asked about such a call."""

    def apply_to(self, verdict: Verdict) -> Verdict:
        """Return the stricter of the verdict and the hooks' decision."""
        order = tuple(Decision)
        if self.decision is None or order.index(self.decision) <= order.index(verdict.decision):
            return verdict
        return Verdict(self.decision, RejectReason.HOOK, self.words)


class Rule(Model):
    """The calls that a rule selects. Its selector is a server, `server__tool`, or the name of one of our own tools."""

    args_matchers: dict[str, tuple[str, ...]] = Field(default_factory=dict[str, tuple[str, ...]])
    """For each argument, regular expressions. One of them must match the whole value. A path is compared as it is from
    the workspace, with its links followed. Of a command line, each command must match a rule that allows; one command
    that matches is enough for the others. Empty: every call."""

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

    @property
    def arguments(self) -> frozenset[str]:
        """The names of the arguments that it looks at."""
        return frozenset(self.args_matchers)

    @property
    def owner(self) -> str | None:
        """The agent whose own it is, None for everybody's."""
        return None

    @property
    def alternatives(self) -> tuple[Rule, ...]:
        """The simple rules of which one must match: itself, unless it was united of several."""
        return (self,)

    def find_match(self, call: ReviewedCall, *, allows: bool) -> Rule | None:
        """Return itself when it matches. `allows`: whether it is a rule that allows."""
        matchers = self.args_matchers.items()
        return self if all(call.matches(name, patterns, allows=allows) for name, patterns in matchers) else None


class _Own(Rule):
    """A rule that is an agent's own."""

    agent: str

    @property
    def owner(self) -> str | None:
        return self.agent


class _Either(Rule):
    """Two rules for one selector, of which one is enough."""

    rules: tuple[Rule, Rule]

    @property
    def always(self) -> bool:
        return any(rule.always for rule in self.rules)

    @property
    def alternatives(self) -> tuple[Rule, ...]:
        return tuple(simple for rule in self.rules for simple in rule.alternatives)

    @property
    def arguments(self) -> frozenset[str]:
        return frozenset[str]().union(*(rule.arguments for rule in self.rules))

    def find_match(self, call: ReviewedCall, *, allows: bool) -> Rule | None:
        return next((match for rule in self.rules if (match := rule.find_match(call, allows=allows))), None)


def unite_rules(first: Rule, second: Rule) -> Rule:
    """Return a rule that matches whatever one of the two matches."""
    return _Either(rules=(first, second))


Rules = Mapping[str, Rule]
"""Keyed by selector: a server, `server__tool`, or the bare name of a native tool."""


class Policy(Model):
    """Rules by selector. The first rule that selects a call decides, in this order: `deny`, what was approved for the
    session, `ask`, `allow`, `byDefault`. No rule allows a call that changes what may run without asking: such a call is
    denied or asked about each time."""

    deny: dict[str, Rule] = Field(default_factory=dict[str, Rule])
    """Calls that are denied. A tool that is always denied is not offered to the model."""
    ask: dict[str, Rule] = Field(default_factory=dict[str, Rule])
    """Calls that need your approval."""
    allow: dict[str, Rule] = Field(default_factory=dict[str, Rule])
    """Calls that run without your approval."""
    by_default: Decision = Decision.ASK
    """The decision about all other calls."""

    @property
    def default_of(self) -> str | None:
        """The agent whose own the default is."""
        return None


class _Merged(Policy):
    defaults_agent: str | None = None

    @property
    def default_of(self) -> str | None:
        return self.defaults_agent


def merge_policies(over_all: Policy, agent: Policy, name: str = "") -> Policy:
    """Return the rules for everybody together with those of the agent of that name.

    Where both ask or allow by the same selector, the agent's own rule counts. The order of `decide` still holds: what
    is denied to everybody stays denied, whatever an agent allows.
    """
    deny, ask, allow = (_own_rules(rules, name) for rules in (agent.deny, agent.ask, agent.allow))
    both = {name: unite_rules(rule, deny[name]) for name, rule in over_all.deny.items() if name in deny}
    has_default = "by_default" in agent.model_fields_set
    return _Merged(
        deny={**over_all.deny, **deny, **both},
        ask={**over_all.ask, **ask},
        allow={**over_all.allow, **allow},
        by_default=agent.by_default if has_default else over_all.by_default,
        defaults_agent=(name or None) if has_default else over_all.default_of,
    )


def _own_rules(rules: Rules, agent: str) -> dict[str, Rule]:
    if not agent:
        return dict(rules)
    return {
        name: reduce(
            unite_rules, [_Own(args_matchers=simple.args_matchers, agent=agent) for simple in rule.alternatives]
        )
        for name, rule in rules.items()
    }


def decide(
    policy: Policy,
    tool: ToolSpec,
    arguments: dict[str, Any],
    remembered: frozenset[ApprovalScope],
    *,
    trust: bool = False,
    targets: CallTargets | None = None,
    loads: str = "",
) -> Verdict:
    """Decide about a call. The cause of the verdict is the first thing that selects the call.

    `targets` are what the call names; without them, they are found by the text of the arguments alone. `loads` is what
    a page would load as soon as it shows what the call changes.
    """
    call = ReviewedCall(tool, arguments, targets or find_targets(tool, arguments))
    verdict = _apply_rules(policy, call, remembered)
    if verdict.decision is Decision.DENY:
        return verdict
    if call.targets.protected:
        return Verdict(Decision.ASK, cause=Cause(kind="protected", path=call.targets.protected))
    if loads:
        return Verdict(Decision.ASK, cause=Cause(kind="loads", loads=loads))
    if rule := _find_inapplicable_denial(policy, call):
        return Verdict(Decision.ASK, cause=Cause(kind="unparsed", rule=rule))
    if verdict.decision is not Decision.ASK or verdict.cause is None:
        return verdict
    if trust:
        return Verdict(Decision.ALLOW, cause=verdict.cause.model_copy(update={"kind": "trust"}))
    if has_changed(tool, remembered):
        return Verdict(Decision.ASK, cause=verdict.cause.model_copy(update={"kind": "changed"}))
    return verdict


def has_changed(tool: ToolSpec, remembered: frozenset[ApprovalScope]) -> bool:
    """Return whether an approval of a tool was remembered, and the tool has another definition by now."""
    now = list_scopes(tool, {}, CallTargets())
    then = {scope.definition for scope in remembered if scope.tool == key(tool)}
    return bool(then) and any(scope.definition not in then for scope in now)


def _apply_rules(policy: Policy, call: ReviewedCall, remembered: frozenset[ApprovalScope]) -> Verdict:
    if cause := _find_cause(policy.deny, call):
        return Verdict(Decision.DENY, cause=cause)
    scopes = list_scopes(call.tool, call.arguments, call.targets)
    if scopes and remembered.issuperset(scopes):
        return Verdict(Decision.ALLOW, cause=Cause(kind="remembered"))
    if cause := _find_cause(policy.ask, call):
        return Verdict(Decision.ASK, cause=cause)
    if cause := _find_cause(policy.allow, call, allows=True):
        return Verdict(Decision.ALLOW, cause=cause)
    return Verdict(policy.by_default, cause=Cause(kind="default", agent=policy.default_of))


def _find_inapplicable_denial(policy: Policy, call: ReviewedCall) -> str | None:
    """Return the rule that denies some commands, when it cannot be told which ones the line of a call runs."""
    if call.line is None:
        return None
    commands = parse_commands(call.line)
    if commands is not None and not any(command.hides_program for command in commands):
        return None
    rules = policy.deny.items()
    return next((name for name, rule in rules if _selects(name, call.tool) and COMMAND in rule.arguments), None)


def is_hidden(policy: Policy, tool: ToolSpec) -> bool:
    """Return whether every call would be denied. Then the model is not offered the tool at all."""
    return any(rule.always for selector, rule in policy.deny.items() if _selects(selector, tool))


def list_conditional_rules(policy: Policy, tool: ToolSpec) -> Iterator[tuple[Decision, str]]:
    """Yield the rules about a tool that look at its arguments."""
    for decision, rules in ((Decision.DENY, policy.deny), (Decision.ASK, policy.ask), (Decision.ALLOW, policy.allow)):
        for selector, rule in rules.items():
            if _selects(selector, tool) and not rule.always:
                yield decision, selector


def _find_cause(rules: Rules, call: ReviewedCall, *, allows: bool = False) -> Cause | None:
    causes = (
        Cause(kind="rule", rule=selector, agent=rule.owner)
        for selector, either in rules.items()
        if _selects(selector, call.tool) and (rule := either.find_match(call, allows=allows))
    )
    return next(causes, None)


def _selects(selector: str, tool: ToolSpec) -> bool:
    return selector in {tool.server, key(tool)} or (tool.server == "eca" and selector == tool.name)
