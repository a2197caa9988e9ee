"""The paths that a message names."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jupyter_eca.engine.text.named_paths import find_named_paths


@pytest.mark.parametrize(
    ("message", "paths"),
    [
        ("Rename it in shop/prices.py, `shop/cart.py` and (tests/test_shop.py).", 3),
        ('File "shop/prices.py", line 3, in calc; prices.py:12 and prices.py:12:4', 2),
        ("What are prices.py's functions? ./prices.py", 1),
        ("@shop/prices.py #prices.py /etc/a.py ../a.py ~/a.py .env a/.b/c.py https://x.org/a.py x@y.org C:\\a.py", 0),
        ("```\nshop/prices.py\n``` and ```\nprices.py", 0),
        ("read / write, and/or, 3, e", 0),
    ],
)
def test_words_that_look_like_relative_paths_are_found(message: str, paths: int) -> None:
    found = find_named_paths(message)
    assert len(found) == paths
    assert all(path.endswith(".py") and not path.startswith((".", "/")) for path in found)


@given(st.text())
def test_every_message_can_be_searched_for_paths(message: str) -> None:
    assert all(path.split() == [path] for path in find_named_paths(message))


def test_a_path_directly_after_a_block_of_code_is_found() -> None:
    assert find_named_paths("```x```a.py ./b.py a.py") == ["a.py", "b.py"]
