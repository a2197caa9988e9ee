"""Owns the limit of what may wait to be sent to one client. It is the same for all fronts.

The host never waits for a client (`host/subscribers.py`), so everything that a client does not read stays in memory. A
client that has stopped reading is disconnected at the limit. It loses nothing, because the store has all events: when
it connects again, it is shown them.

It must not know what waits: each front has its own queue, and passes the function that returns the data of an item.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Generic, TypeVar

from jupyter_eca.protocol.base import count_characters

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

T = TypeVar("T")  # an item that waits

# So many items may wait. A long chat has about as many after pieces of texts were joined.
MAX_ITEMS: Final = 20_000

# So many characters may wait, in all texts of the items together. Few items can have many of them: pictures, and
# outputs of tools. The longest message of all is a file of 32 MiB in base64.
MAX_CHARACTERS: Final = 64 * 1024 * 1024

# The texts are not counted while so few items wait. So a client that reads everything at once costs nothing.
FEW_ITEMS: Final = 16

# Why the link of a client was closed. A WebSocket can carry 123 bytes.
NOT_READING: Final = "This client has stopped reading, so it was disconnected. Nothing is lost: connect again."


class SendLimit(Generic[T]):
    """Counts what waits for one client."""

    def __init__(self, get_data: Callable[[T], object]) -> None:
        """`get_data` returns the data of an item, whose texts are counted."""
        self._get_data = get_data
        self.reset()

    def reset(self) -> None:
        """Count from zero, because all items were taken out of the queue."""
        self._counted = 0  # how many of the items are counted
        self._characters = 0
        self._items_to_join = MAX_ITEMS
        self._characters_to_join = MAX_CHARACTERS

    def is_reached(self, items: Sequence[T]) -> bool:
        """Return whether so much waits that pieces of texts should be joined. Called when items were added at the
        end."""
        if len(items) <= FEW_ITEMS:
            return False
        self._characters += self._count(items[self._counted :])
        self._counted = len(items)
        return self._counted > self._items_to_join or self._characters > self._characters_to_join

    def is_exceeded(self, items: Sequence[T]) -> bool:
        """Return whether too much waits, although pieces of texts were joined. Then the client must be disconnected."""
        self._counted, self._characters = len(items), self._count(items)
        # To join the items takes a moment, so it is not done again for each new item.
        self._items_to_join = self._counted + MAX_ITEMS // 10
        self._characters_to_join = self._characters + MAX_CHARACTERS // 10
        return self._counted > MAX_ITEMS or self._characters > MAX_CHARACTERS

    def _count(self, items: Iterable[T]) -> int:
        """Return the number of characters in the texts of items."""
        return sum(count_characters(self._get_data(item)) for item in items)
