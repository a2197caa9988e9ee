"""The README's moving picture can be made again from the page as it is."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.browser
@pytest.mark.nightly
def test_the_picture_can_be_made_from_the_page_as_it_is(tmp_path: Path) -> None:
    file = tmp_path / "tour.webp"
    # In a process of its own, as by hand: a process has one browser, and the other tests share this one's.
    subprocess.run(
        [sys.executable, "-m", "tests.docs.make_readme_picture", file], cwd=Path(__file__).parents[3], check=True
    )
    assert file.stat().st_size > 10_000
