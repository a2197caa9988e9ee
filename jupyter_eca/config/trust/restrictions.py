"""Owns the rule that a restriction of one layer is not lifted by a later one: all rules that deny or ask hold together.

Where two layers have a rule for the same tool, merging would leave only the later, perhaps narrower one. It must not
know how a rule is matched: `engine.approval.policy` does. Pure.
"""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING, Any, cast

from jupyter_eca.engine.approval.policy import Decision, Rule, unite_rules

if TYPE_CHECKING:
    from collections.abc import Sequence

    from jupyter_eca.config.schema import Config, ToolCallConfig

Json = dict[str, Any]


def keep_restrictions(config: Config, layers: Sequence[Json]) -> Config:
    """Return the merged configuration with the restrictions of all layers. `layers` are what was merged."""
    agents = {
        name: agent.model_copy(
            update={"tool_call": _keep(agent.tool_call, [_at(layer, "agent", name) for layer in layers])}
        )
        for name, agent in config.agent.items()
    }
    return config.model_copy(update={"tool_call": _keep(config.tool_call, layers), "agent": agents})


def _keep(merged: ToolCallConfig, layers: Sequence[Json]) -> ToolCallConfig:
    policies = [_at(layer, "toolCall", "approval") for layer in layers]
    policy = merged.approval
    changes: dict[str, Any] = {
        kind: {name: _unite([_at(layer, kind).get(name) for layer in policies], rule) for name, rule in rules.items()}
        for kind, rules in (("deny", policy.deny), ("ask", policy.ask))
    }
    if any(layer.get("byDefault") == Decision.DENY for layer in policies):
        changes["by_default"] = Decision.DENY
    if changes == {"deny": policy.deny, "ask": policy.ask}:
        return merged
    return merged.model_copy(update={"approval": policy.model_copy(update=changes)})


def _unite(written: Sequence[Any], merged: Rule) -> Rule:
    rules = [Rule.model_validate(value) for value in written if value is not None]
    different = [rule for number, rule in enumerate(rules) if rule not in rules[:number]]
    return reduce(unite_rules, different) if len(different) > 1 else merged


def _at(value: Json, *path: str) -> Json:
    """Return the object at a path; empty if there is none."""
    found: Any = value
    for name in path:
        found = cast("Json", found).get(name) if isinstance(found, dict) else None
    return cast("Json", found) if isinstance(found, dict) else {}
