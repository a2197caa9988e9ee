"""Which protected path the code of a cell names."""

from __future__ import annotations

import pytest

from jupyter_eca.engine.approval.code_targets import find_protected_in_code
from jupyter_eca.engine.approval.path_resolver import BY_TEXT
from tests.support.steps import grows_with_its_text


@pytest.mark.parametrize("piece", ['\\"', "'", '"a', "['", "!["])
def test_code_of_twice_the_length_takes_about_twice_the_steps(piece: str) -> None:
    assert grows_with_its_text(lambda text: find_protected_in_code(f"x = {text}", ("",), BY_TEXT), piece, count=30)
