"""Looks up the prices and the context windows of models in the table of genai-prices, and computes the cost of an
answer.

It must not send a request: the table is a part of the package. `catalog` and the providers ask for prices.
"""

from __future__ import annotations

import asyncio
import logging
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from jupyter_eca.engine.model.delta import UsageDelta

if TYPE_CHECKING:
    from collections.abc import Iterable

    from genai_prices.types import PriceCalculation

    from jupyter_eca.config import ModelConfig
    from jupyter_eca.config.provider_schema import RatesConfig

_log = logging.getLogger(__name__)

# A write that the cache keeps for an hour costs 2 times the price of input, a usual write 1.25 times: 2 / 1.25.
_HOUR_FACTOR: Final = 1.6


async def add_price(provider: str, model: str, usage: UsageDelta) -> UsageDelta:
    """Return `usage` with the cost and the context limit, as far as they are known. `model` is the vendor's name of the
    model."""
    price = await asyncio.to_thread(_look_up, provider, model, usage)  # the first import takes half a second
    if price is None:
        return usage
    return replace(usage, cost=float(price.total_price), context_limit=price.model.context_window or 0)


def apply_own_rates(usage: UsageDelta, model: ModelConfig) -> UsageDelta:
    """Return `usage` with the cost by the rates, and with the limits, that the user has configured for a model."""
    if model.cost is not None and not usage.replayed:  # a replayed answer costs nothing
        usage = replace(usage, cost=_compute_cost(model.cost, usage))
    if model.limit is not None:
        context = model.limit.context or usage.context_limit
        usage = replace(usage, context_limit=context, output_limit=model.limit.output or usage.output_limit)
    return usage


def _compute_cost(rates: RatesConfig, usage: UsageDelta) -> float:
    """Return the cost in US dollars. Rates are for a million tokens, and for a thousand web searches."""
    read = rates.input if rates.cache_read is None else rates.cache_read
    write = rates.input if rates.cache_write is None else rates.cache_write
    uncached = usage.input_tokens * rates.input + usage.output_tokens * rates.output
    written = usage.cache_write_tokens + (_HOUR_FACTOR - 1) * usage.cache_write_hour_tokens
    tokens = (uncached + usage.cache_read_tokens * read + written * write) / 1_000_000
    return tokens + usage.web_searches * rates.web_search / 1_000


def look_up_cost(provider: str, model: str, usage: UsageDelta) -> float | None:
    """Return the cost in US dollars, None for a model whose price is not known."""
    price = _look_up(provider, model, usage)
    return None if price is None else float(price.total_price)


async def list_rates(provider: str, models: Iterable[str]) -> dict[str, tuple[float, float]]:
    """Return the US dollars for a million tokens of input and of output, by model. Models without a known price are
    left out."""
    return await asyncio.to_thread(lambda: {model: rate for model in models if (rate := _find_rate(provider, model))})


def _find_rate(provider: str, model: str) -> tuple[float, float] | None:
    """Return the price of a million tokens of input and of output; None if it is not known. It is the price of a short
    prompt, because long prompts may cost more."""
    short = 1_000  # tokens
    input = look_up_cost(provider, model, UsageDelta(short, 0))
    output = look_up_cost(provider, model, UsageDelta(0, short))
    return None if input is None or output is None else (round(input * 1_000, 6), round(output * 1_000, 6))


def _look_up(provider: str, model: str, usage: UsageDelta) -> PriceCalculation | None:
    """Return what the table says about a usage, None for a model that it does not have, and when it fails."""
    try:
        from genai_prices import Usage, calc_price

        for_hour = {"cache_write_1h_tokens": usage.cache_write_hour_tokens} if usage.cache_write_hour_tokens else {}
        tokens = Usage(
            # The table counts all input tokens. Ours do not include those that the cache has read or written.
            input_tokens=usage.input_tokens + usage.cache_read_tokens + usage.cache_write_tokens,
            cache_read_tokens=usage.cache_read_tokens,
            cache_write_tokens=usage.cache_write_tokens,
            output_tokens=usage.output_tokens,
            web_searches=usage.web_searches,
            **for_hour,
        )
        return calc_price(tokens, model, provider_id=provider)
    except LookupError:
        return None
    except Exception:  # noqa: BLE001  # the boundary to another package: an error in its table must not lose the answer
        _log.exception("the price of %s/%s cannot be worked out", provider, model)
        return None
