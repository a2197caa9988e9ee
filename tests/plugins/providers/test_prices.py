from __future__ import annotations

from jupyter_eca.engine.model.delta import UsageDelta
from jupyter_eca.plugins.providers.anthropic import MODELS
from jupyter_eca.plugins.providers.prices import look_up_cost


def test_every_built_in_model_has_a_price() -> None:
    assert all(look_up_cost("anthropic", model, UsageDelta(1000, 1000)) for model in MODELS)


def test_a_model_nobody_knows_has_no_price() -> None:
    assert look_up_cost("anthropic", "nobody-knows", UsageDelta(1000, 1000)) is None


def test_a_vendor_nobody_knows_has_no_price() -> None:
    assert look_up_cost("nobody", MODELS[0], UsageDelta(1000, 1000)) is None


def test_what_the_cache_read_is_cheaper_than_what_the_model_read() -> None:
    read, cached = UsageDelta(100_000, 1), UsageDelta(0, 1, cache_read_tokens=100_000)
    assert (look_up_cost("anthropic", MODELS[0], cached) or 0) < (look_up_cost("anthropic", MODELS[0], read) or 0) / 5
