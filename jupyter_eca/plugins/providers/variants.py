"""Variants: named additions to a model's requests, mostly how hard it thinks. Data, and how it is laid over. Pure.

What the built-in ones send is what the models accept, and no more: `effort` with adaptive thinking from 4.6 on (`xhigh`
from Opus 4.7 on; those return their thoughts only when asked to), a budget of tokens before.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from collections.abc import Mapping

    from jupyter_eca.config import Config, ModelConfig
    from jupyter_eca.config.provider_schema import Payload

Variants = dict[str, dict[str, Any]]


def _efforts(*names: str, **thinking: str) -> Variants:
    return {name: {"output_config": {"effort": name}, "thinking": {"type": "adaptive", **thinking}} for name in names}


def _budgets(**tokens: int) -> Variants:
    return {name: {"thinking": {"type": "enabled", "budget_tokens": count}} for name, count in tokens.items()}


def _openai(**payload: Any) -> Variants:
    """Return the variants, each with the name of an effort in place of `...`."""

    def fill(value: Any, effort: str) -> Any:
        if isinstance(value, dict):
            return {name: fill(one, effort) for name, one in cast("dict[str, Any]", value).items()}
        return effort if value is ... else value

    return {effort: fill(payload, effort) for effort in ("low", "medium", "high")}


# The efforts that every one of OpenAI's models that thinks has.
_THINKS = r"^(?:openai/)?(?:o\d|gpt-(?:[5-9]|oss)(?!.*-chat))"

# API, pattern in the model's name (with any of `-._` between its parts), variants. The budgets are below the 32,000
# tokens that an answer may have (`messages/request.py`), with room for the answer.
_BUILT_IN: tuple[tuple[str, str, Variants], ...] = (
    (
        "anthropic",
        r"opus-4-[78]|(?:opus|sonnet|haiku|fable|mythos)-5",
        _efforts("low", "medium", "high", "xhigh", "max", display="summarized"),
    ),
    ("anthropic", r"(?:opus|sonnet)-4-6", _efforts("low", "medium", "high", "max")),
    (
        "anthropic",
        r"(?:opus|sonnet|haiku)-4-5|opus-4-1|(?:opus|sonnet)-4(?:-0|-20\d{6}|$)",
        _budgets(low=4_000, medium=10_000, high=20_000),
    ),
    ("openai-responses", _THINKS, _openai(reasoning={"effort": ..., "summary": "auto"})),
    ("openai-chat", _THINKS, _openai(reasoning_effort=...)),
)


def variants(provider: str, api: str, model: str, chosen: ModelConfig, config: Config) -> Variants:
    """Return the variants by name: the built-in ones, then those of `variantsByModel`, then the model's own. An empty
    one removes a variant."""
    vendors_name = chosen.model_name or model
    found: Variants = {}
    for wanted, pattern, built_in in _BUILT_IN:
        if wanted == api and re.search(pattern, re.sub(r"[._]", "-", vendors_name)):
            found |= built_in
    for pattern, given in config.variants_by_model.items():
        applies = provider not in given.exclude_providers and (not given.api or api in given.api)
        if applies and re.search(pattern, vendors_name):
            found |= given.variants
    return {name: payload for name, payload in {**found, **chosen.variants}.items() if payload}


def merge_payloads(payload: Mapping[str, Any], over: Mapping[str, Any]) -> Payload:
    """Merge objects, except those with a `type`: half of one kind and half of another would be refused."""
    made = dict(payload)
    for name, value in over.items():
        old = made.get(name)
        if isinstance(old, dict) and isinstance(value, dict) and "type" not in value:
            made[name] = merge_payloads(cast("dict[str, Any]", old), cast("dict[str, Any]", value))
        else:
            made[name] = value
    return made
