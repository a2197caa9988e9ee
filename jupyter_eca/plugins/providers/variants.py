"""Owns the variants of models: named additions to a request, which mostly say how hard the model thinks. Pure.

A built-in variant sends only what its models accept. Claude models from 4.6 on take an `effort` with adaptive thinking,
in which the model decides how much it thinks. Opus 4.7 and newer models also take the effort `xhigh`, and return their
thoughts only if the request asks for them. Older models take a budget of tokens.

Without a variant, a chat asks a Claude model to think and to show its thoughts. From 4.6 on, the model decides how much
it thinks; an older model gets the smallest of our budgets. Models of other vendors think without being asked. `presets`
has what Google's models need to show their thoughts.

This module must not know who has chosen a variant: `catalog` applies it.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from collections.abc import Mapping

    from jupyter_eca.config import Config, ModelConfig
    from jupyter_eca.config.provider_schema import Payload

Variants = dict[str, dict[str, Any]]
"""What each variant adds to a request, by the name of the variant."""


def _make_effort_variants(*names: str, **thinking: str) -> Variants:
    """Return a variant of Claude for each effort. `thinking` are further fields of the object `thinking`."""
    return {name: {"output_config": {"effort": name}, "thinking": {"type": "adaptive", **thinking}} for name in names}


def _make_budget_variants(**tokens: int) -> Variants:
    """Return a variant of Claude for each budget. The keywords are the names of the variants."""
    return {name: {"thinking": {"type": "enabled", "budget_tokens": count}} for name, count in tokens.items()}


def _make_variants(**payload: Any) -> Variants:
    """Return a variant for each effort: the payload, with the name of the effort in place of `...`. For example
    `reasoning_effort=...` gives `{"low": {"reasoning_effort": "low"}, "medium": ..., "high": ...}`."""

    def fill(value: Any, effort: str) -> Any:
        """Return a value with the name of an effort in place of each `...` in it."""
        if isinstance(value, dict):
            return {name: fill(item, effort) for name, item in cast("dict[str, Any]", value).items()}
        return effort if value is ... else value

    return {effort: fill(payload, effort) for effort in ("low", "medium", "high")}


# Gemini's level of thinking, with the thoughts in the answer.
_GOOGLE = {"google": {"thinking_config": {"thinking_level": ..., "include_thoughts": True}}}

# The names of OpenAI's models that think.
_THINKING_MODELS = r"^(?:openai/)?(?:o\d|gpt-(?:[5-9]|oss)(?!.*-chat))"

# The names of Claude models, by what they accept: Opus 4.7 and all newer models, the models 4.6, and the models 4.0 to
# 4.5. In a name, `.` and `_` count as `-`.
_FROM_OPUS_4_7 = r"opus-4-[78]|(?:opus|sonnet|haiku|fable|mythos)-5"
_CLAUDE_4_6 = r"(?:opus|sonnet)-4-6"
_CLAUDE_4 = r"(?:opus|sonnet|haiku)-4-5|opus-4-1|(?:opus|sonnet)-4(?:-0|-20\d{6}|$)"

# For each row: the API, a pattern in the model's name, and the variants. The budgets are below the 32,000 tokens that
# an answer may have (`messages/request.py`), so that there is room for the answer.
_BUILT_IN: tuple[tuple[str, str, Variants], ...] = (
    ("anthropic", _FROM_OPUS_4_7, _make_effort_variants("low", "medium", "high", "xhigh", "max", display="summarized")),
    ("anthropic", _CLAUDE_4_6, _make_effort_variants("low", "medium", "high", "max")),
    ("anthropic", _CLAUDE_4, _make_budget_variants(low=4_000, medium=10_000, high=20_000)),
    ("openai-responses", _THINKING_MODELS, _make_variants(reasoning={"effort": ..., "summary": "auto"})),
    ("openai-chat", _THINKING_MODELS, _make_variants(reasoning_effort=...)),
    ("openai-chat", r"^(?:models/)?gemini-(?:[3-9]|\d\d)-", _make_variants(extra_body=_GOOGLE)),
)

# For each row: the API, a pattern in the model's name, and what a chat sends without a variant. OpenAI's models think
# anyway. Their summaries are not asked for, because OpenAI refuses the request of an organization that it has not
# verified; a variant asks for them.
_DEFAULTS: tuple[tuple[str, str, Payload], ...] = (
    ("anthropic", _FROM_OPUS_4_7, {"thinking": {"type": "adaptive", "display": "summarized"}}),
    ("anthropic", _CLAUDE_4_6, {"thinking": {"type": "adaptive"}}),
    ("anthropic", _CLAUDE_4, {"thinking": {"type": "enabled", "budget_tokens": 4_000}}),
)

# The clouds with a plug of their own, and the API of the vendor whose requests they accept.
_CLOUDS = {"azure": "openai-responses", "bedrock": "anthropic", "vertex": "anthropic"}

# The names of the plugs whose models may have a row in `_DEFAULTS`: those of the APIs in it, and those of the clouds
# that accept the same requests. For all other plugs, `find_default_thinking` need not be called.
_ASKED_APIS = {api for api, _, _ in _DEFAULTS}
PLUGS_WITH_DEFAULT_THINKING = frozenset(_ASKED_APIS | {cloud for cloud, api in _CLOUDS.items() if api in _ASKED_APIS})

# Fields of a request that Anthropic refuses together with thinking. A configuration that sets one of them turns
# thinking off.
_REFUSED_WITH_THINKING = frozenset({"temperature", "top_k", "top_p", "tool_choice"})


def find_variants(provider: str, api: str, model: str, settings: ModelConfig, config: Config) -> Variants:
    """Return the variants of a model by name. `settings` is the configuration of the model.

    Later variants replace earlier ones of the same name: first the built-in variants, then those of the key
    `variantsByModel`, and then those of `settings`. An empty payload removes a variant.
    """
    vendors_name = settings.model_name or model
    found: Variants = {}
    for built_in_api, pattern, built_in in _BUILT_IN:
        if built_in_api == _find_vendors_api(api) and re.search(pattern, re.sub(r"[._]", "-", vendors_name)):
            found |= built_in
    for pattern, configured in config.variants_by_model.items():
        applies = provider not in configured.exclude_providers and (not configured.api or api in configured.api)
        if applies and re.search(pattern, vendors_name):
            found |= configured.variants
    return {name: payload for name, payload in {**found, **settings.variants}.items() if payload}


def find_default_thinking(api: str, model: str, configured: Mapping[str, Any]) -> Payload:
    """Return what a chat adds to a request so that the model thinks; empty for a model that is not asked to think.
    `configured` is the payload of the configuration. It can turn thinking off: `"extraPayload": {"thinking": null}`."""
    if configured.keys() & (_REFUSED_WITH_THINKING | {"thinking"}):
        return {}
    name, api = re.sub(r"[._]", "-", model), _find_vendors_api(api)
    found = (payload for row_api, pattern, payload in _DEFAULTS if row_api == api and re.search(pattern, name))
    return next(found, dict[str, Any]())


def _find_vendors_api(api: str) -> str:
    """Return the API of the vendor whose models a cloud offers; for all others, the API itself."""
    return _CLOUDS.get(api, api)


def merge_payloads(payload: Mapping[str, Any], over: Mapping[str, Any]) -> Payload:
    """Return a payload that is overridden by the fields of `over`. Objects are merged. Only an object with a `type`
    replaces the old one as a whole, because a server would refuse a mixture of two types."""
    merged = dict(payload)
    for name, value in over.items():
        old = merged.get(name)
        if isinstance(old, dict) and isinstance(value, dict) and "type" not in value:
            merged[name] = merge_payloads(cast("dict[str, Any]", old), cast("dict[str, Any]", value))
        else:
            merged[name] = value
    return merged
