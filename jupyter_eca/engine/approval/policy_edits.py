"""Adds a rule to a policy, as if a configuration file had been changed. Pure.

This module must not read or write files: `config/approval_rules` does. Its neighbour `policy` applies the rules.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from jupyter_eca.engine.approval.policy import Policy, unite_policies

if TYPE_CHECKING:
    from jupyter_eca.engine.approval.policy import Rule, RuleKey


def add_rule(policy: Policy, key: RuleKey, selector: str, rule: Rule) -> Policy:
    """Return the policy with one more rule. `selector` names the tools that it is for."""
    return unite_policies(policy, Policy.model_validate({key: {selector: rule}}))
