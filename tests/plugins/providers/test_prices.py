from __future__ import annotations

from jupyter_eca.engine.model.delta import UsageDelta
from jupyter_eca.plugins.providers.anthropic import MODELS
from jupyter_eca.plugins.providers.prices import cost


def test_every_built_in_model_has_a_price() -> None:
    assert all(cost("anthropic", model, UsageDelta(1000, 1000)) for model in MODELS)


def test_a_model_nobody_knows_has_no_price() -> None:
    assert cost("anthropic", "nobody-knows", UsageDelta(1000, 1000)) is None


def test_a_vendor_nobody_knows_has_no_price() -> None:
    assert cost("nobody", MODELS[0], UsageDelta(1000, 1000)) is None


def test_what_the_cache_read_is_cheaper_than_what_the_model_read() -> None:
    read, cached = UsageDelta(100_000, 1), UsageDelta(0, 1, cache_read_tokens=100_000)
    assert (cost("anthropic", MODELS[0], cached) or 0) < (cost("anthropic", MODELS[0], read) or 0) / 5
