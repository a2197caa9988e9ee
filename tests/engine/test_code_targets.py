"""Which protected path the code of a cell names."""

from __future__ import annotations

import time

import pytest

from jupyter_eca.engine.approval.code_targets import find_protected_in_code
from jupyter_eca.engine.approval.path_resolver import BY_TEXT


@pytest.mark.parametrize("piece", ['\\"', "'", '"a', "['", "!["])
def test_long_code_takes_no_time(piece: str) -> None:
    begun = time.monotonic()
    find_protected_in_code(f"x = {piece * (40_000 // len(piece))}", ("",), BY_TEXT)
    assert time.monotonic() - begun < 5
