"""Chooses the cases of a test that every run takes. The others run with `NIGHTLY=1`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterable


def sample(cases: Iterable[Any], *, every: int) -> list[Any]:
    """Return all cases for `pytest.mark.parametrize`; the first of every so many of them runs by default."""
    return [case if number % every == 0 else _mark_nightly(case) for number, case in enumerate(cases)]


def _mark_nightly(case: Any) -> Any:
    values: tuple[Any, ...] = case if isinstance(case, tuple) else (case,)  # pyright: ignore[reportUnknownVariableType]
    return pytest.param(*values, marks=pytest.mark.nightly)
