"""Owns `NewestItems`: a dict that does not grow without end, for what is remembered of each chat."""

from __future__ import annotations

from typing import Final, TypeVar

K = TypeVar("K")
V = TypeVar("V")

MAX_ITEMS: Final = 1_000
"""The most items: more chats than a user has in months, and less than a megabyte."""


class NewestItems(dict[K, V]):
    """A dict that keeps only the items that were set last. It is for facts that can be missed, because a restart of the
    server loses them too."""

    def __setitem__(self, key: K, value: V) -> None:
        self.pop(key, None)
        super().__setitem__(key, value)
        if len(self) > MAX_ITEMS:
            del self[next(iter(self))]
