"""What is remembered of each chat does not grow without end."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jupyter_eca.host import newest_items
from jupyter_eca.host.newest_items import NewestItems

if TYPE_CHECKING:
    import pytest


def test_the_item_that_was_set_longest_ago_is_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(newest_items, "MAX_ITEMS", 3)
    items = NewestItems[str, int]()
    for number, key in enumerate("abcad"):
        items[key] = number
    assert dict(items) == {"c": 2, "a": 3, "d": 4}
