"""No ratio is more than a fifth worse than it was. Times are not compared: see `baseline.py`."""

from __future__ import annotations

import pytest

from tests.bench import baseline


def test_a_ratio_that_is_more_than_a_fifth_worse_or_gone_is_found() -> None:
    known = {"same": 1.0, "a little worse": 1.0, "worse": 1.0, "gone": 1.0}
    now = {"same": 1.0, "a little worse": 1.19, "worse": 1.21, "new": 9.0}
    assert baseline.find_worse(known, now) == {"worse": 1.21, "gone": float("inf")}


def test_each_bench_of_the_baseline_has_ratios() -> None:
    assert baseline.read().keys() == set(baseline.BENCHES)
    assert all(baseline.read().values())


@pytest.mark.nightly
@pytest.mark.asyncio
@pytest.mark.parametrize("bench", baseline.BENCHES)
async def test_no_ratio_is_worse_than_it_was(bench: str) -> None:
    worse = await baseline.check(bench)
    assert not worse, f"{worse}, but {baseline.read()[bench]} before"
