from __future__ import annotations

import pytest

from jupyter_eca.config import ModelConfig
from jupyter_eca.engine.model.delta import UsageDelta
from jupyter_eca.plugins.providers.anthropic import MODELS
from jupyter_eca.plugins.providers.prices import apply_own_rates, look_up_cost


def test_every_built_in_model_has_a_price() -> None:
    assert all(look_up_cost("anthropic", model, UsageDelta(1000, 1000)) for model in MODELS)


def test_a_model_nobody_knows_has_no_price() -> None:
    assert look_up_cost("anthropic", "nobody-knows", UsageDelta(1000, 1000)) is None


def test_a_vendor_nobody_knows_has_no_price() -> None:
    assert look_up_cost("nobody", MODELS[0], UsageDelta(1000, 1000)) is None


def test_what_the_cache_read_is_cheaper_than_what_the_model_read() -> None:
    read, cached = UsageDelta(100_000, 1), UsageDelta(0, 1, cache_read_tokens=100_000)
    assert (look_up_cost("anthropic", MODELS[0], cached) or 0) < (look_up_cost("anthropic", MODELS[0], read) or 0) / 5


def test_what_the_cache_keeps_for_an_hour_costs_twice_the_price_of_a_token_that_is_read() -> None:
    read, written = UsageDelta(100_000, 0), UsageDelta(0, 0, cache_write_tokens=100_000)
    for_hour = UsageDelta(0, 0, cache_write_tokens=100_000, cache_write_hour_tokens=100_000)
    price = look_up_cost("anthropic", MODELS[0], read) or 0
    assert price > 0
    assert look_up_cost("anthropic", MODELS[0], written) == pytest.approx(1.25 * price)
    assert look_up_cost("anthropic", MODELS[0], for_hour) == pytest.approx(2 * price)


def test_a_rate_for_writing_that_the_user_has_set_is_that_of_five_minutes() -> None:
    model = ModelConfig.model_validate({"cost": {"input": 1, "output": 1, "cacheWrite": 1.25}})
    usage = UsageDelta(0, 0, cache_write_tokens=1_000_000, cache_write_hour_tokens=400_000)
    assert apply_own_rates(usage, model).cost == pytest.approx(0.6 * 1.25 + 0.4 * 2)
