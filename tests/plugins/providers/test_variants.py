"""Variants: which a model has, and what they add to its requests."""

from __future__ import annotations

from typing import Any

import pytest

from jupyter_eca.config import Config
from jupyter_eca.errors import ConfigError, ProviderError
from jupyter_eca.plugins.providers import openai_chat
from jupyter_eca.plugins.providers.anthropic import MODELS, AnthropicProvider
from jupyter_eca.plugins.providers.catalog import Catalog
from jupyter_eca.plugins.providers.messages.request import MAX_TOKENS, build_body
from jupyter_eca.plugins.providers.ollama import OllamaProvider
from jupyter_eca.plugins.providers.variants import merge_payloads
from tests.plugins.providers.ask import asking

EFFORTS = ("low", "medium", "high", "xhigh", "max")


def catalog(**given: Any) -> Catalog:
    return Catalog({"a": AnthropicProvider(), "o": OllamaProvider()}, Config.model_validate(given))


def sent(among: Catalog, model: str, variant: str) -> dict[str, Any]:
    """The body of a request for a model in a variant."""
    chosen = among.choose(model, variant)
    return build_body(chosen.model, asking("Hi"), chosen.settings.models[chosen.model].extra_payload)


@pytest.mark.parametrize(
    ("model", "names"),
    [
        *((model, EFFORTS) for model in MODELS),
        ("claude-opus-4-7", EFFORTS),
        ("claude-opus-4.6", ("low", "medium", "high", "max")),
        ("claude-opus-4-5-20251101", ("low", "medium", "high")),
        ("claude-sonnet-4-20250514", ("low", "medium", "high")),
        ("claude-3-5-haiku-latest", ()),
        ("somebody-elses", ()),
    ],
)
def test_a_model_has_the_variants_that_it_can_be_asked_for(model: str, names: tuple[str, ...]) -> None:
    assert catalog().variants(f"anthropic/{model}") == names


def test_a_model_of_the_same_name_at_another_api_has_none() -> None:
    assert catalog().variants("ollama/claude-opus-5-5") == ()
    assert catalog().variants("nobody/claude-opus-5-5") == ()
    assert catalog().variants("") == ()


def test_an_effort_is_sent_with_thinking_that_is_shown() -> None:
    asked = sent(catalog(), "anthropic/claude-opus-5-5", "xhigh")
    assert asked["output_config"] == {"effort": "xhigh"}
    assert asked["thinking"] == {"type": "adaptive", "display": "summarized"}


@pytest.mark.parametrize("variant", ["low", "medium", "high"])
def test_an_older_model_gets_a_budget_below_the_limit_and_no_effort(variant: str) -> None:
    asked = sent(catalog(), "anthropic/claude-haiku-4-5", variant)
    assert "output_config" not in asked
    assert 1_024 <= asked["thinking"]["budget_tokens"] < asked["max_tokens"]


@pytest.mark.parametrize(("limit", "budget"), [(8_000, 4_000), (1_500, 1_024), (1_024, None), (MAX_TOKENS, 20_000)])
def test_a_budget_gives_way_to_the_limit_of_the_answer(limit: int, budget: int | None) -> None:
    models = {"claude-haiku-4-5": {"extraPayload": {"max_tokens": limit}}}
    asked = sent(catalog(providers={"anthropic": {"models": models}}), "anthropic/claude-haiku-4-5", "high")
    assert asked["max_tokens"] == limit
    assert asked.get("thinking", {}).get("budget_tokens") == budget


def test_a_model_may_have_variants_of_its_own_and_drop_built_in_ones() -> None:
    own = {"creative": {"temperature": 1}, "max": {}, "low": {"output_config": {"effort": "low"}}}
    among = catalog(providers={"anthropic": {"models": {"claude-opus-5-5": {"variants": own}}}})
    assert among.variants("anthropic/claude-opus-5-5") == ("low", "medium", "high", "xhigh", "creative")
    assert sent(among, "anthropic/claude-opus-5-5", "creative")["temperature"] == 1
    assert "thinking" not in sent(among, "anthropic/claude-opus-5-5", "low")


def test_variants_by_model_reach_every_model_their_pattern_finds_but_those_excluded() -> None:
    given = {"llama": {"variants": {"warm": {"temperature": 1}}, "excludeProviders": ["house"]}}
    house = {"api": "ollama", "url": "http://127.0.0.1:9"}
    among = catalog(variantsByModel=given, providers={"house": house})
    assert among.variants("ollama/llama3") == ("warm",)
    assert among.variants("ollama/qwen3") == ()
    assert among.variants("house/llama3") == ()


def test_variants_by_model_may_be_for_some_apis_only() -> None:
    among = catalog(variantsByModel={".": {"variants": {"warm": {"temperature": 1}}, "api": "ollama"}})
    assert among.variants("ollama/x") == ("warm",)
    assert among.variants("anthropic/x") == ()


def test_the_name_that_the_vendor_knows_decides() -> None:
    given = {"anthropic": {"models": {"fast": {"modelName": "claude-haiku-5-5"}}}}
    assert catalog(providers=given).variants("anthropic/fast") == EFFORTS


def test_an_unknown_variant_is_left_out_and_logged(caplog: pytest.LogCaptureFixture) -> None:
    among = catalog()
    assert among.choose("anthropic/claude-opus-5-5", "huge").settings.models == {}
    assert "has no variant 'huge'" in caplog.text


def test_one_chats_variant_is_not_another_ones() -> None:
    among = catalog()
    sent(among, "anthropic/claude-opus-5-5", "low")
    assert among.choose("anthropic/claude-opus-5-5").settings.models == {}


def test_a_variant_replaces_another_kind_of_thinking_and_keeps_what_is_beside_it() -> None:
    payload = {"thinking": {"type": "enabled", "budget_tokens": 5}, "output_config": {"format": 1}, "top_k": 2}
    over = {"thinking": {"type": "adaptive"}, "output_config": {"effort": "low"}}
    assert merge_payloads(payload, over) == {
        "thinking": {"type": "adaptive"},
        "output_config": {"format": 1, "effort": "low"},
        "top_k": 2,
    }


@pytest.mark.parametrize(
    ("model", "thinking"),
    [
        *((model, {"type": "adaptive", "display": "summarized"}) for model in MODELS),
        ("claude-opus-4.6", {"type": "adaptive"}),
        ("claude-haiku-4-5", {"type": "enabled", "budget_tokens": 4_000}),
        ("claude-3-5-haiku-latest", None),
    ],
)
def test_a_chat_without_a_variant_asks_a_model_to_think_at_its_own_effort(model: str, thinking: object) -> None:
    for variant in ("", "huge"):
        settings = catalog().choose(f"anthropic/{model}", variant, thinks=True).settings
        assert settings.get_payload(model) == ({} if thinking is None else {"thinking": thinking})
    assert catalog().choose(f"anthropic/{model}").settings.get_payload(model) == {}


@pytest.mark.parametrize("payload", [{"thinking": None}, {"temperature": 1}, {"tool_choice": {"type": "none"}}])
@pytest.mark.parametrize("of_model", [True, False])
def test_the_configuration_can_forbid_to_think(payload: dict[str, Any], of_model: bool) -> None:
    own = {"extraPayload": payload}
    provider = {"models": {"claude-opus-5-5": own}} if of_model else own
    chosen = catalog(providers={"anthropic": provider}).choose("anthropic/claude-opus-5-5", thinks=True)
    assert chosen.settings.get_payload("claude-opus-5-5") == payload


def test_a_variant_sets_the_level_of_gemini_and_keeps_its_thoughts() -> None:
    among = Catalog({"c": openai_chat.PROVIDER}, Config())
    assert among.variants("google/gemini-3.8-flash") == ("low", "medium", "high")
    payload = among.choose("google/gemini-3.8-flash", "low", thinks=True).settings.get_payload("gemini-3.8-flash")
    thinking = {"include_thoughts": True, "thinking_level": "low"}
    assert payload == {"extra_body": {"google": {"thinking_config": thinking}}}


def test_a_pattern_that_is_none_is_refused_with_its_place() -> None:
    with pytest.raises((ConfigError, ValueError), match="not a regular expression"):
        catalog(variantsByModel={"[": {}})


def test_a_variant_does_not_make_a_model_of_nobody() -> None:
    with pytest.raises(ProviderError, match="no provider"):
        catalog().choose("nobody/x", "low")
