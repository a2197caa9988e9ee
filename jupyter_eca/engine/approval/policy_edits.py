"""Adds a rule to a policy and takes one out of it, as if a configuration file had been changed. Pure.

This module must not read or write files: `config/approval_rules` does. Its neighbour `policy` applies the rules.
"""

from __future__ import annotations

from contextlib import suppress
from functools import reduce
from typing import TYPE_CHECKING

from jupyter_eca.engine.approval.policy import Policy, unite_policies, unite_rules
from jupyter_eca.engine.approval.proposed_rule import subtract_rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from jupyter_eca.engine.approval.policy import Rule, RuleKey


def add_rule(policy: Policy, key: RuleKey, selector: str, rule: Rule) -> Policy:
    """Return the policy with one more rule. `selector` names the tools that the rule is for."""
    return unite_policies(policy, Policy.model_validate({key: {selector: rule}}))


def remove_rule(policy: Policy, key: RuleKey, selector: str, rule: Rule) -> Policy:
    """Return the policy without a rule. If the policy does not have the rule, it stays as it is."""
    rules = {**policy.rules_by_key[key]}
    if selector in rules:
        remaining = [*_subtract(rules.pop(selector), rule)]
        if remaining:
            rules[selector] = reduce(unite_rules, remaining)
    return policy.model_copy(update={"always_ask" if key == "alwaysAsk" else key: rules})


def _subtract(rule: Rule, removed: Rule) -> Iterator[Rule]:
    """Yield the simple rules of `rule` without `removed`."""
    for simple in rule.alternatives:
        remaining: Rule | None = simple
        with suppress(ValueError):  # `removed` is not a part of this simple rule, which stays
            remaining = subtract_rule(simple, removed)
        if remaining is not None:
            yield remaining
