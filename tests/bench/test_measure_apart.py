"""A bench is measured in a process of its own, and its figures are in the table."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.nightly
def test_a_bench_is_measured_by_its_name_and_prints_its_figures() -> None:
    root = Path(__file__).parents[2]
    done = subprocess.run(
        [sys.executable, "-m", "tests.bench", "diagnostics"], cwd=root, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "50 cells" in done.stdout
