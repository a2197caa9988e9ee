"""The text that `%eca cost` shows for each group of requests."""

from __future__ import annotations

import pytest

from jupyter_eca.apps.kernel.commands import describe_cost
from jupyter_eca.protocol.costs import Cost


@pytest.mark.parametrize(
    ("cost", "text"),
    [
        (Cost(requests=2, cost=0.02), "0.020 USD (0 tokens in, 0 tokens out)"),
        (
            Cost(requests=4, cost=0.02, unpriced=3),
            "0.020 USD, and 3 requests of unknown price (0 tokens in, 0 tokens out)",
        ),
        (Cost(requests=2, unpriced=1), "0.00 USD, and 1 request of unknown price (0 tokens in, 0 tokens out)"),
        (Cost(requests=3, unpriced=3), "3 requests of unknown price (0 tokens in, 0 tokens out)"),
    ],
)
def test_requests_of_unknown_price_are_counted_apart(cost: Cost, text: str) -> None:
    assert describe_cost(cost) == text
