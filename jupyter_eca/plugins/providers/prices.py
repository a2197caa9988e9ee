"""What an answer cost and how much its model can read, from genai-prices' own table. No provider; asks no host."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import replace
from typing import TYPE_CHECKING

from jupyter_eca.engine.model.delta import UsageDelta

if TYPE_CHECKING:
    from collections.abc import Iterable

    from genai_prices.types import PriceCalculation

    from jupyter_eca.config import ModelConfig
    from jupyter_eca.config.provider_schema import RatesConfig

_log = logging.getLogger(__name__)


async def add_price(provider: str, model: str, usage: UsageDelta) -> UsageDelta:
    """Return `usage` with the cost and the context limit, as far as they are known. `model` is the vendor's name for
    it."""
    found = await asyncio.to_thread(_look_up, provider, model, usage)  # the first import takes half a second
    if found is None:
        return usage
    return replace(usage, cost=float(found.total_price), context_limit=found.model.context_window or 0)


def apply_own_rates(usage: UsageDelta, model: ModelConfig) -> UsageDelta:
    """Apply the rates and limits that the user configured for a model: they know their contract."""
    if model.cost is not None and not usage.replayed:
        usage = replace(usage, cost=_sum(model.cost, usage))
    if model.limit is not None:
        context = model.limit.context or usage.context_limit
        usage = replace(usage, context_limit=context, output_limit=model.limit.output or usage.output_limit)
    return usage


def _sum(rates: RatesConfig, usage: UsageDelta) -> float:
    read = rates.input if rates.cache_read is None else rates.cache_read
    write = rates.input if rates.cache_write is None else rates.cache_write
    whole = usage.input_tokens * rates.input + usage.output_tokens * rates.output
    tokens = (whole + usage.cache_read_tokens * read + usage.cache_write_tokens * write) / 1_000_000
    return tokens + usage.web_searches * rates.web_search / 1_000


def cost(provider: str, model: str, usage: UsageDelta) -> float | None:
    """Return the cost in US dollars; None for a model without a price."""
    found = _look_up(provider, model, usage)
    return None if found is None else float(found.total_price)


async def rates(provider: str, models: Iterable[str]) -> dict[str, tuple[float, float]]:
    """Return US dollars for a million tokens read and written, for models whose price is known."""
    return await asyncio.to_thread(lambda: {model: found for model in models if (found := _rate(provider, model))})


def _rate(provider: str, model: str) -> tuple[float, float] | None:
    """Return the price of a million tokens. Long prompts may cost more, so it is computed for a short one."""
    short = 1_000
    read = cost(provider, model, UsageDelta(short, 0))
    written = cost(provider, model, UsageDelta(0, short))
    return None if read is None or written is None else (round(read * 1_000, 6), round(written * 1_000, 6))


def _look_up(provider: str, model: str, usage: UsageDelta) -> PriceCalculation | None:
    try:
        from genai_prices import Usage, calc_price

        tokens = Usage(
            # The table's input tokens are all of them; ours leave out what the cache has read or written.
            input_tokens=usage.input_tokens + usage.cache_read_tokens + usage.cache_write_tokens,
            cache_read_tokens=usage.cache_read_tokens,
            cache_write_tokens=usage.cache_write_tokens,
            output_tokens=usage.output_tokens,
            web_searches=usage.web_searches,
        )
        return calc_price(tokens, model, provider_id=provider)
    except LookupError:
        return None
    except Exception:  # noqa: BLE001  # somebody else's table: it must not cost the reader an answer
        _log.exception("the price of %s/%s cannot be worked out", provider, model)
        return None
