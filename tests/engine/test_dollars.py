"""Amounts of money as text."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Final

import pytest

from jupyter_eca.engine.model.budget import format_cost, format_dollars

# The same file is read by labextension/test/render/text.test.ts.
CASES: Final[list[list[str]]] = json.loads(
    (Path(__file__).parents[1] / "fixtures" / "format" / "dollars.json").read_text()
)


@pytest.mark.parametrize(("amount", "text"), CASES)
def test_an_amount_has_two_digits_that_are_not_leading_zeros(amount: str, text: str) -> None:
    assert format_dollars(float(amount)) == text


@pytest.mark.parametrize(
    ("amount", "text"),
    [(0.0, "0.0000"), (1.23456, "1.2346"), (0.0034, "0.0034"), (0.00034, "0.00034"), (0.0000123, "0.000012")],
)
def test_a_small_cost_is_not_sent_as_zero(amount: float, text: str) -> None:
    assert format_cost(amount) == text
