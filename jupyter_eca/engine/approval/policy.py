"""Decides whether a tool call runs, needs approval or is denied, by ECA's `toolCall.approval` rules. Pure.

It must not compare patterns or write texts: its neighbours `rule_matching` and `reason` do. `approval_scope` has the
approvals that are remembered for a session.

The rules and their order are those of ECA, whose configuration files we read: first the `deny` rules, then what the
user approved for this session, then the `ask` rules, then the `allow` rules, then the default. After that:

- A call that is not denied needs approval each time, whatever the other rules say, in five cases. An `alwaysAsk` rule,
  which is a key of ours, selects it. Or it may change a protected file, which decides what may run without approval
  (`protected_paths`). Or it changes a Markdown cell that loads something as soon as it is shown. Or a rule denies some
  commands, or always asks about them, and it is not certain which commands the call runs. Or it calls git to read, and
  the repository makes git run a program (`git_reads`); trust allows this, and so does a sandbox that the user trusts.
- Trust, which the user switches on for a chat, allows all other calls that would need approval. It never allows a
  denied call.
- A command that needs approval only because no rule selects it runs without approval in a sandbox that the user trusts
  (`toolCall.sandbox`).
- An edit that needs approval only because no rule selects it runs without approval if the user reviews it afterwards
  (`review_time`). As long as such an edit is not reviewed, a call that may run the edited code needs approval, even if
  a rule or an earlier approval allows the call.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import reduce
from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field, field_validator

from jupyter_eca.engine.approval.approval_scope import ApprovalScope, get_selector, list_scopes
from jupyter_eca.engine.approval.call_parts import RUN
from jupyter_eca.engine.approval.call_targets import CallTargets, find_targets
from jupyter_eca.engine.approval.review_time import may_run_code
from jupyter_eca.engine.approval.rule_matching import COMMAND_ARGUMENT, CallToMatch
from jupyter_eca.engine.approval.shell_parser import parse_commands
from jupyter_eca.protocol.base import Model
from jupyter_eca.protocol.changes import ReviewTime
from jupyter_eca.protocol.content import Cause, RejectReason

if TYPE_CHECKING:
    from jupyter_eca.engine.approval.call_parts import CallPart
    from jupyter_eca.engine.model.request import ToolSpec


class Decision(StrEnum):
    """What to do with a tool call. The order is from the mildest to the strictest."""

    ALLOW = "allow"
    ASK = "ask"
    DENY = "deny"


@dataclass(frozen=True, slots=True)
class Verdict:
    """The decision about one call, with its reason."""

    decision: Decision
    """Whether the call runs, needs approval or is denied."""
    reason: RejectReason = RejectReason.CONFIG
    """If the call is denied: who or what denies it."""
    words: str = ""
    """If the call is denied: what the model reads besides the reason."""
    cause: Cause | None = None
    """The rule, the approval or the default that decided; None when no policy decided."""

    @property
    def needs_approval_each_time(self) -> bool:
        """Whether the call needs approval each time: no earlier approval can allow it."""
        return asks_each_time(self.cause)


def asks_each_time(cause: Cause | None) -> bool:
    """Return whether a call with this cause needs approval each time: no earlier approval can allow it. Trust has been
    considered already: where it allows a call, the cause is another one."""
    # These values of `Cause.kind` are explained there. `unseen` means that the call may run code which was changed
    # without approval and is not reviewed yet.
    return cause is not None and cause.kind in {"always", "protected", "loads", "unparsed", "unseen", "repository"}


@dataclass(frozen=True, slots=True)
class CallAdjustment:
    """The changes that hooks (programs of the user) and the preview make to a call, before the decision about it."""

    arguments: dict[str, Any] | None = None
    """The new arguments; None to keep the old ones."""
    decision: Decision | None = None
    """The decision of the hooks; None for no decision. It counts only if it is stricter than that of the rules."""
    words: str = ""
    """What the model reads when a hook denies the call."""
    failure: str = ""
    """Why the call cannot succeed, in a sentence for the model; empty if it can. Such a call needs no approval."""

    def apply_to(self, verdict: Verdict) -> Verdict:
        """Return the verdict, or the decision of the hooks if that is stricter."""
        order = tuple(Decision)
        if self.decision is None or order.index(self.decision) <= order.index(verdict.decision):
            return verdict
        return Verdict(self.decision, RejectReason.HOOK, self.words)


class Rule(Model):
    """The calls that a rule selects. Its selector is a server, `server__tool`, or the name of one of our own tools."""

    args_matchers: dict[str, tuple[str, ...]] = Field(default_factory=dict[str, tuple[str, ...]])
    """For each argument, regular expressions. One of them must match the whole value. Empty: the rule selects every
    call. Paths are compared relative to the workspace, with all links followed. Command lines are compared command by
    command: a rule that allows must match each command; a rule that asks or denies must match only one."""

    @field_validator("args_matchers")
    @classmethod
    def _check_patterns(cls, value: dict[str, tuple[str, ...]]) -> dict[str, tuple[str, ...]]:
        """Return the patterns as they are. Raises: ValueError for one that is no regular expression."""
        for pattern in (pattern for patterns in value.values() for pattern in patterns):
            try:
                re.compile(pattern)
            except (re.error, OverflowError, RecursionError) as error:
                raise ValueError(f"not a regular expression: {pattern!r}: {error}") from error
        return value

    @property
    def selects_every_call(self) -> bool:
        """Whether the rule selects every call of its tool, whatever its arguments are."""
        return not self.args_matchers

    @property
    def arguments(self) -> frozenset[str]:
        """The names of the arguments that the rule compares."""
        return frozenset(self.args_matchers)

    @property
    def owner(self) -> str | None:
        """The name of the agent to which the rule belongs; None for a rule of all agents."""
        return None

    @property
    def place(self) -> str | None:
        """The path of the notebook to which the rule belongs; None for a rule of the configuration."""
        return None

    @property
    def alternatives(self) -> tuple[Rule, ...]:
        """The simple rules of which one must match. For a simple rule, this is the rule itself."""
        return (self,)

    def find_match(self, call: CallToMatch, *, allows: bool) -> Rule | None:
        """Return the simple rule that matches the arguments of the call; None when none does.

        `allows` is True for a rule of `allow`, which must match each command of a command line. Whether the rule is for
        the tool of the call is not checked here.
        """
        matchers = self.args_matchers.items()
        return self if all(call.matches(name, patterns, allows=allows) for name, patterns in matchers) else None


class _AgentRule(Rule):
    """A rule that belongs to one agent."""

    agent: str
    """The name of the agent."""

    @property
    def owner(self) -> str | None:
        """The name of the agent."""
        return self.agent


class _NotebookRule(Rule):
    """A rule that belongs to one notebook."""

    notebook: str
    """The path of the notebook."""

    @property
    def place(self) -> str | None:
        """The path of the notebook."""
        return self.notebook


class _UnitedRule(Rule):
    """Two rules for the same tool or server, as one rule. It matches if one of them matches."""

    rules: tuple[Rule, Rule]
    """The two rules."""

    @property
    def selects_every_call(self) -> bool:
        """Whether one of the two rules selects every call of its tool."""
        return any(rule.selects_every_call for rule in self.rules)

    @property
    def alternatives(self) -> tuple[Rule, ...]:
        """The simple rules of both rules."""
        return tuple(simple for rule in self.rules for simple in rule.alternatives)

    @property
    def arguments(self) -> frozenset[str]:
        """The names of the arguments that one of the two rules compares."""
        return frozenset[str]().union(*(rule.arguments for rule in self.rules))

    def find_match(self, call: CallToMatch, *, allows: bool) -> Rule | None:
        """Return the simple rule that matches the arguments of the call; None when none of both rules does. See
        `Rule.find_match` for `allows`."""
        return next((match for rule in self.rules if (match := rule.find_match(call, allows=allows))), None)


def unite_rules(first: Rule, second: Rule) -> Rule:
    """Return a rule that matches a call if one of the two rules matches it."""
    return _UnitedRule(rules=(first, second))


RuleKey = Literal["deny", "alwaysAsk", "ask", "allow"]
"""The key of some rules in `toolCall.approval`."""

Rules = Mapping[str, Rule]
"""Rules by selector: a server, `server__tool`, or the name of one of our own tools."""


class Policy(Model):
    """Rules by selector. The first rule that selects a call decides, in this order: `deny`, `alwaysAsk`, the calls that
    you approved for the session, `ask`, `allow`, `byDefault`. A call that may change what runs without approval is
    never allowed by a rule: it is denied, or needs your approval each time."""

    deny: dict[str, Rule] = Field(default_factory=dict[str, Rule])
    """Calls that are denied. A tool that is always denied is not offered to the model."""
    always_ask: dict[str, Rule] = Field(default_factory=dict[str, Rule])
    """A key of ours: calls that need your approval each time, whatever trust, other rules and earlier approvals say."""
    ask: dict[str, Rule] = Field(default_factory=dict[str, Rule])
    """Calls that need your approval."""
    allow: dict[str, Rule] = Field(default_factory=dict[str, Rule])
    """Calls that run without your approval."""
    by_default: Decision = Decision.ASK
    """The decision about all other calls."""

    @property
    def default_owner(self) -> str | None:
        """The name of the agent whose policy has set the default; None for the default of all agents."""
        return None

    @property
    def rules_by_key(self) -> dict[RuleKey, dict[str, Rule]]:
        """All rules by their key in a configuration file, in the order in which they count."""
        return {"deny": self.deny, "alwaysAsk": self.always_ask, "ask": self.ask, "allow": self.allow}


class _MergedPolicy(Policy):
    """The policy of one agent, together with the policy of all agents."""

    defaults_agent: str | None = None
    """The name of the agent whose policy has set `by_default`; None if the policy of all agents has set it."""

    @property
    def default_owner(self) -> str | None:
        """The name of the agent whose policy has set the default; None for the default of all agents."""
        return self.defaults_agent


def merge_policies(shared: Policy, agent: Policy, name: str = "") -> Policy:
    """Return the policy of all agents together with the policy of the agent of this name.

    If both have an `ask` or an `allow` rule for the same selector, the rule of the agent counts. The `deny` and
    `alwaysAsk` rules of both count: a call that is denied for all agents stays denied, whatever an agent allows.
    """
    ask, allow = (_assign_rules(rules, name) for rules in (agent.ask, agent.allow))
    has_default = "by_default" in agent.model_fields_set
    return _MergedPolicy(
        deny=_unite_all(shared.deny, _assign_rules(agent.deny, name)),
        always_ask=_unite_all(shared.always_ask, _assign_rules(agent.always_ask, name)),
        ask={**shared.ask, **ask},
        allow={**shared.allow, **allow},
        by_default=agent.by_default if has_default else shared.by_default,
        defaults_agent=(name or None) if has_default else shared.default_owner,
    )


def unite_policies(policy: Policy, more: Policy) -> Policy:
    """Return a policy with the rules of another one besides its own. If both have a rule for the same selector, both
    count. The default stays."""
    names = ("deny", "always_ask", "ask", "allow")
    return policy.model_copy(update={name: _unite_all(getattr(policy, name), getattr(more, name)) for name in names})


def _unite_all(first: Rules, second: Rules) -> dict[str, Rule]:
    """Return all rules of both. If both have a rule for the same selector, it matches what one of the two matches."""
    both = {name: unite_rules(rule, second[name]) for name, rule in first.items() if name in second}
    return {**first, **second, **both}


def _assign_rules(rules: Rules, agent: str) -> dict[str, Rule]:
    """Return the rules as rules of the agent of this name, so that the user is told where they come from."""
    if not agent:
        return dict(rules)
    return {
        selector: reduce(
            unite_rules, [_AgentRule(args_matchers=simple.args_matchers, agent=agent) for simple in rule.alternatives]
        )
        for selector, rule in rules.items()
    }


def assign_to_notebook(policy: Policy, notebook: str) -> Policy:
    """Return the rules as rules of a notebook, so that the user is told where they come from. `notebook` is its
    path."""
    names = ("deny", "always_ask", "ask", "allow")
    return policy.model_copy(
        update={name: _assign_rules_to_notebook(getattr(policy, name), notebook) for name in names}
    )


def _assign_rules_to_notebook(rules: Rules, notebook: str) -> dict[str, Rule]:
    """Return the rules as rules of the notebook with this path. See `assign_to_notebook`."""
    return {
        selector: reduce(
            unite_rules,
            [_NotebookRule(args_matchers=simple.args_matchers, notebook=notebook) for simple in rule.alternatives],
        )
        for selector, rule in rules.items()
    }


def decide(
    policy: Policy,
    tool: ToolSpec,
    arguments: dict[str, Any],
    approved_scopes: frozenset[ApprovalScope],
    *,
    trust: bool = False,
    targets: CallTargets | None = None,
    loads: str = "",
    review: ReviewTime = ReviewTime.BEFORE,
    unseen_path: str = "",
    is_sandboxed: bool = False,
) -> Verdict:
    """Decide whether a call runs, needs approval or is denied. The cause of the verdict is the first rule that selects
    the call.

    `approved_scopes` are the scopes that the user approved for the session. `trust` is whether the user switched trust
    on for the chat. `targets` are the files that the call names; without them, the paths are used as they are written.
    `loads` is what a page would load as soon as it shows what the call changes; "" for nothing. `review` is when the
    user reviews the changes of the call, see `choose_review_time`. `unseen_path` is the path of a file or notebook that
    was changed without approval, and whose change the user has not reviewed yet; "" for none. `is_sandboxed` is whether
    the command of the call runs in a sandbox that the user trusts.
    """
    call = CallToMatch(tool, arguments, targets or find_targets(tool, arguments))
    verdict = _apply_rules(policy, call, approved_scopes)
    if verdict.decision is Decision.DENY:
        return verdict
    if cause := _find_cause(policy.always_ask, _list_call_and_parts(call)):
        return Verdict(Decision.ASK, cause=cause.model_copy(update={"kind": "always"}))
    if call.targets.protected:
        return Verdict(Decision.ASK, cause=Cause(kind="protected", path=call.targets.protected))
    if loads:
        return Verdict(Decision.ASK, cause=Cause(kind="loads", loads=loads))
    if rule := _find_inapplicable_rule(policy, call):
        return Verdict(Decision.ASK, cause=Cause(kind="unparsed", rule=rule))
    if call.targets.git_program and not (trust or is_sandboxed):
        return Verdict(Decision.ASK, cause=Cause(kind="repository", path=call.targets.git_program))
    if verdict.decision is Decision.ALLOW and unseen_path and not trust and may_run_code(tool, call.targets):
        return Verdict(Decision.ASK, cause=Cause(kind="unseen", path=unseen_path))
    if verdict.decision is not Decision.ASK or verdict.cause is None:
        return verdict
    if trust:
        return Verdict(Decision.ALLOW, cause=verdict.cause.model_copy(update={"kind": "trust"}))
    if has_definition_changed(tool, approved_scopes):
        return Verdict(Decision.ASK, cause=verdict.cause.model_copy(update={"kind": "changed"}))
    if is_sandboxed and verdict.cause.kind == "default":
        return Verdict(Decision.ALLOW, cause=Cause(kind="sandbox"))
    if review is not ReviewTime.BEFORE and verdict.cause.kind == "default":
        return Verdict(Decision.ALLOW, cause=Cause(kind="review", rule=review.value))
    return verdict


def has_definition_changed(tool: ToolSpec, remembered: frozenset[ApprovalScope]) -> bool:
    """Return whether the user approved a tool for the session, and its definition has changed since then."""
    scopes = list_scopes(tool, {}, CallTargets())
    approved = {scope.definition for scope in remembered if scope.tool == get_selector(tool)}
    return bool(approved) and any(scope.definition not in approved for scope in scopes)


def _apply_rules(policy: Policy, call: CallToMatch, remembered: frozenset[ApprovalScope]) -> Verdict:
    """Decide about a call by the rules and the remembered approvals alone. Of a call that does several things, the
    strictest decision counts."""
    if not call.targets.parts:
        return _apply_rules_to(policy, (call,), (call,), remembered)
    verdicts = [_decide_part(policy, call, part, remembered) for part in call.targets.parts]
    return max(verdicts, key=lambda verdict: (tuple(Decision).index(verdict.decision), _is_explicit(verdict)))


def _is_explicit(verdict: Verdict) -> bool:
    """Return whether a rule has decided, and not the default."""
    return verdict.cause is not None and verdict.cause.kind != "default"


def _decide_part(policy: Policy, call: CallToMatch, part: CallPart, remembered: frozenset[ApprovalScope]) -> Verdict:
    """Decide about one of the things that a call does. The rules for the tool that does only this apply, and also those
    for the tool of the call. But a rule that allows the tool of the call does not allow the call to run cells."""
    if part.tool is None:
        return Verdict(Decision.DENY, cause=Cause(kind="rule", rule="disabledTools"))
    own = CallToMatch(part.tool, part.arguments, replace(call.targets, parts=()))
    return _apply_rules_to(policy, (own, call), (own,) if part.kind == RUN else (own, call), remembered)


def _apply_rules_to(
    policy: Policy,
    calls: tuple[CallToMatch, ...],
    allowed: tuple[CallToMatch, ...],
    remembered: frozenset[ApprovalScope],
) -> Verdict:
    """Decide about a call that rules may see as several calls: `calls`. A rule that denies or asks counts if it selects
    one of `calls`. A rule that allows counts only if it selects one of `allowed`. An earlier approval is looked up for
    the first of `calls`."""
    call = calls[0]
    if cause := _find_cause(policy.deny, calls):
        return Verdict(Decision.DENY, cause=cause)
    scopes = list_scopes(call.tool, call.arguments, call.targets)
    if scopes and remembered.issuperset(scopes):
        return Verdict(Decision.ALLOW, cause=Cause(kind="remembered"))
    if cause := _find_cause(policy.ask, calls):
        return Verdict(Decision.ASK, cause=cause)
    if cause := _find_cause(policy.allow, allowed, allows=True):
        return Verdict(Decision.ALLOW, cause=cause)
    if call.tool.client_asks and policy.by_default is Decision.ASK:
        # The client that runs the tool can ask its user itself.
        return Verdict(Decision.ALLOW)
    return Verdict(policy.by_default, cause=Cause(kind="default", agent=policy.default_owner))


def _list_call_and_parts(call: CallToMatch) -> tuple[CallToMatch, ...]:
    """Return the call, and each of the things that it does as a call of the tool that does only this."""
    targets = replace(call.targets, parts=())
    return (call, *(CallToMatch(part.tool, part.arguments, targets) for part in call.targets.parts if part.tool))


def _find_inapplicable_rule(policy: Policy, call: CallToMatch) -> str | None:
    """Return the selector of a rule that denies some commands or always asks about them, if it is not certain which
    commands the call runs.

    None when there is no such rule, when the call runs no command line, or when the commands of the call are certain.
    """
    if call.line is None:
        return None
    commands = parse_commands(call.line)
    if commands is not None and not any(command.hides_program for command in commands):
        return None
    rules = (*policy.deny.items(), *policy.always_ask.items())
    strict = ((name, rule) for name, rule in rules if _selects(name, call.tool, allows=False))
    return next((name for name, rule in strict if COMMAND_ARGUMENT in rule.arguments), None)


def is_selected(policy: Policy, tool: ToolSpec, arguments: dict[str, Any], targets: CallTargets | None = None) -> bool:
    """Return whether one of the rules of a policy selects a call, or one of the things that the call does. Whether this
    rule decides about the call is not said: another rule may come first."""
    calls = _list_call_and_parts(CallToMatch(tool, arguments, targets or find_targets(tool, arguments)))
    keys = policy.rules_by_key.items()
    return any(_find_cause(rules, calls, allows=key == Decision.ALLOW) is not None for key, rules in keys)


def is_hidden(policy: Policy, tool: ToolSpec) -> bool:
    """Return whether every call of a tool would be denied. Such a tool is not offered to the model."""
    return any(
        rule.selects_every_call for selector, rule in policy.deny.items() if _selects(selector, tool, allows=False)
    )


def list_conditional_rules(policy: Policy, tool: ToolSpec) -> Iterator[tuple[RuleKey, str]]:
    """Yield the key of the policy and the selector of each rule for a tool that depends on the arguments of a call. The
    rules for the parts of the tool are such rules too, because the arguments say which parts a call has."""
    for key, rules in policy.rules_by_key.items():
        for selector, rule in rules.items():
            allows = key == Decision.ALLOW
            own = _selects(selector, tool, allows=allows) and not rule.selects_every_call
            if own or any(_selects(selector, part, allows=allows) for part in tool.parts.values()):
                yield key, selector


def _find_cause(rules: Rules, calls: tuple[CallToMatch, ...], *, allows: bool = False) -> Cause | None:
    """Return the first rule that selects one of the calls, as the cause of a verdict; None when no rule does.

    `allows` is True for the rules of `allow`, see `Rule.find_match`.
    """
    causes = (
        Cause(kind="rule", rule=selector, agent=match.owner, notebook=match.place)
        for selector, rule in rules.items()
        for call in calls
        if _selects(selector, call.tool, allows=allows) and (match := rule.find_match(call, allows=allows))
    )
    return next(causes, None)


def _selects(selector: str, tool: ToolSpec, *, allows: bool) -> bool:
    """Return whether a selector selects a tool: a server, `server__tool`, or the name of one of our own tools.

    `allows` is True for a rule of `allow`. A rule that asks or denies also selects the tools that its tool has
    replaced, so that calling one of those tools cannot avoid the rule.
    """
    if selector in {tool.server, get_selector(tool)} or (tool.server == "eca" and selector == tool.name):
        return True
    replaced_by = tool.replaced_by and not allows
    return bool(replaced_by) and selector in {tool.replaced_by, f"{tool.server}__{tool.replaced_by}"}
