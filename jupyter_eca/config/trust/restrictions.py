"""Owns the rule that a later layer never lifts a restriction: the `deny` and `ask` rules of all layers count. Pure.

A layer is the settings of one file: that of the user, that of a project, and so on. If two layers have a rule for the
same tool, plain merging would keep only the later rule, which may be narrower. This module must not know how a rule is
matched: `engine.approval.policy` does. Its neighbour `layers` calls it.
"""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING, Any, Final, cast

from pydantic.alias_generators import to_camel, to_snake

from jupyter_eca.engine.approval.policy import Decision, Rule, unite_rules
from jupyter_eca.protocol.changes import ReviewTime

if TYPE_CHECKING:
    from collections.abc import Sequence

    from jupyter_eca.config.schema import Config, ToolCallConfig

Json = dict[str, Any]

# The values of the key `review`, from the strictest to the mildest.
_REVIEWS: Final = tuple(ReviewTime)

# Two warnings for the user. `source` is the file or other layer with the key.
REVIEW_IGNORED: Final = (
    "{source}: the key `review` was ignored. Only your own configuration file can say that changes are made without "
    "your approval."
)

STORE_IGNORED: Final = (
    "{source}: the key `store` was ignored. Only your own configuration file and the policy can say where your chats "
    "are stored."
)


def loosens_review(settings: Json, earlier: Json) -> bool:
    """Return whether the key `review` of a layer lets more changes be made without approval than the earlier layers. A
    project or a client must not do this, even if the folder of the project is trusted."""
    review, current = settings.get("review"), earlier.get("review", ReviewTime.BEFORE)
    return review in _REVIEWS and _REVIEWS.index(review) > (_REVIEWS.index(current) if current in _REVIEWS else 0)


def keep_restrictions(config: Config, layers: Sequence[Json]) -> Config:
    """Return the merged configuration with the restrictions of all its layers."""
    agents = {
        name: agent.model_copy(
            update={"tool_call": _keep_rules(agent.tool_call, [_get(layer, "agent", name) for layer in layers])}
        )
        for name, agent in config.agent.items()
    }
    return config.model_copy(update={"tool_call": _keep_rules(config.tool_call, layers), "agent": agents})


def _keep_rules(merged: ToolCallConfig, layers: Sequence[Json]) -> ToolCallConfig:
    """Return the merged settings of tool calls with the `deny`, `alwaysAsk` and `ask` rules of all layers."""
    layer_rules = [_get(layer, "toolCall", "approval") for layer in layers]
    policy = merged.approval
    current = {to_snake(key): rules for key, rules in policy.rules_by_key.items() if key != Decision.ALLOW}
    changes: dict[str, Any] = {
        kind: {
            name: _unite([_get(written, to_camel(kind)).get(name) for written in layer_rules], rule)
            for name, rule in rules.items()
        }
        for kind, rules in current.items()
    }
    if any(written.get("byDefault") == Decision.DENY for written in layer_rules):
        changes["by_default"] = Decision.DENY
    if changes == current:
        return merged
    return merged.model_copy(update={"approval": policy.model_copy(update=changes)})


def _unite(written: Sequence[Any], merged: Rule) -> Rule:
    """Return one rule that unites the rules of all layers for the same selector.

    `written` are these rules as they are written, None for a layer without one. `merged` is the last of them.
    """
    rules = [Rule.model_validate(value) for value in written if value is not None]
    different = [rule for number, rule in enumerate(rules) if rule not in rules[:number]]
    return reduce(unite_rules, different) if len(different) > 1 else merged


def _get(value: Json, *path: str) -> Json:
    """Return the object at a path; an empty one if there is none."""
    found: Any = value
    for name in path:
        found = cast("Json", found).get(name) if isinstance(found, dict) else None
    return cast("Json", found) if isinstance(found, dict) else {}
