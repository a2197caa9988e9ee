"""Faults of random seeds on real processes lose nothing. See README.md."""

from __future__ import annotations

import asyncio
import sys
from typing import TYPE_CHECKING

import pytest

from tests.faults.__main__ import JUPYTER, PROCESS, Series, explain, run_block
from tests.support.samples import sample

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="other systems have no such signals and limits")

SAMPLE, NIGHTLY, AT_ONCE = 20, 500, 20
# Of a Jupyter server, which takes longer to start.
JUPYTER_SAMPLE, JUPYTER_NIGHTLY = 4, 120


def check(first: int, count: int, folder: Path, series: Series = PROCESS) -> None:
    failures = asyncio.run(run_block(series, range(first, first + count), folder))
    assert not failures, "\n\n".join(explain(series, seed, error) for seed, error in failures.items())


# The first half of each block of ten, which differ in what happens to their machines.
@pytest.mark.parametrize("first", sample(range(0, SAMPLE, 5), every=2))
def test_nothing_is_lost_doubled_stuck_or_left_after_a_fault(first: int, tmp_path: Path) -> None:
    check(first, 5, tmp_path)


@pytest.mark.nightly
@pytest.mark.parametrize("first", range(SAMPLE, SAMPLE + NIGHTLY, AT_ONCE))
def test_nothing_is_lost_doubled_stuck_or_left_after_many_faults(first: int, tmp_path: Path) -> None:
    check(first, AT_ONCE, tmp_path)


def test_nothing_is_lost_doubled_stuck_or_left_when_jupyter_or_a_kernel_is_killed(tmp_path: Path) -> None:
    check(0, JUPYTER_SAMPLE, tmp_path, JUPYTER)


@pytest.mark.nightly
@pytest.mark.parametrize("first", range(JUPYTER_SAMPLE, JUPYTER_SAMPLE + JUPYTER_NIGHTLY, AT_ONCE))
def test_nothing_is_lost_doubled_stuck_or_left_when_jupyter_or_a_kernel_is_killed_often(
    first: int, tmp_path: Path
) -> None:
    check(first, AT_ONCE, tmp_path, JUPYTER)
