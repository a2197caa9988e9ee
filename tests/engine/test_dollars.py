"""Amounts of money as text."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Final

import pytest

from jupyter_eca.engine.model.budget import format_dollars

# The same file is read by labextension/test/render/text.test.ts.
CASES: Final[list[list[str]]] = json.loads(
    (Path(__file__).parents[1] / "fixtures" / "format" / "dollars.json").read_text()
)


@pytest.mark.parametrize(("amount", "text"), CASES)
def test_an_amount_has_two_digits_that_are_not_leading_zeros(amount: str, text: str) -> None:
    assert format_dollars(float(amount)) == text
