"""Faults of random seeds on real processes lose nothing. See README.md."""

from __future__ import annotations

import asyncio
import sys
from typing import TYPE_CHECKING

import pytest

from tests.faults.__main__ import explain, run_block

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="other systems have no such signals and limits")

SAMPLE, NIGHTLY, AT_ONCE = 20, 500, 20


def check(first: int, count: int, folder: Path) -> None:
    failures = asyncio.run(run_block(range(first, first + count), folder))
    assert not failures, "\n\n".join(explain(seed, error) for seed, error in failures.items())


@pytest.mark.parametrize("first", range(0, SAMPLE, 10))
def test_nothing_is_lost_doubled_stuck_or_left_after_a_fault(first: int, tmp_path: Path) -> None:
    check(first, 10, tmp_path)


@pytest.mark.nightly
@pytest.mark.parametrize("first", range(SAMPLE, SAMPLE + NIGHTLY, AT_ONCE))
def test_nothing_is_lost_doubled_stuck_or_left_after_many_faults(first: int, tmp_path: Path) -> None:
    check(first, AT_ONCE, tmp_path)
