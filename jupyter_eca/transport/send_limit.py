"""Owns the limit of what may wait to be sent to one client. It is the same for all fronts.

The host never waits for a client (`host/subscribers.py`), so everything that a client does not read stays in memory.
There are two steps. When the limit is reached (`should_join`), the front joins neighbouring pieces of text in its queue
into one. An answer comes in many such pieces. If too much waits even then (`must_disconnect`), the client has stopped
reading, and is disconnected. It loses nothing, because the store has all events: when it connects again, it is shown
them.

It must not know what waits: each front has its own queue, and passes the function that returns the data of an item.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Generic, TypeVar

from jupyter_eca.protocol.base import count_characters

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

T = TypeVar("T")  # an item that waits

# So many items may wait. A long chat has about as many after the pieces of text were joined.
MAX_ITEMS: Final = 20_000

# So many characters may wait, in all texts of the items together. Few items can have many characters: pictures, and
# outputs of tools. The longest message of all is a file of 32 MiB in base64.
MAX_CHARACTERS: Final = 64 * 1024 * 1024

# The texts are not counted while so few items wait. So a client that reads everything at once costs nothing.
FEW_ITEMS: Final = 16

# Why the link of a client was closed. A WebSocket can carry 123 bytes as the reason of a close.
NOT_READING: Final = "This client has stopped reading, so it was disconnected. Nothing is lost: connect again."


class SendLimit(Generic[T]):
    """Counts what waits for one client."""

    def __init__(self, get_data: Callable[[T], object]) -> None:
        """`get_data` returns the data of an item, whose texts are counted."""
        self._get_data = get_data
        self.reset()

    def reset(self) -> None:
        """Count from zero. Called when the front has taken items out of the queue. It always takes all of them."""
        self.has_counted = False  # if not, `reset` need not be called
        self._counted = 0  # how many of the items are counted
        self._characters = 0
        # Above these numbers of items and characters, the front joins pieces of text. They are raised after each
        # joining.
        self._join_above_items = MAX_ITEMS
        self._join_above_characters = MAX_CHARACTERS

    def should_join(self, items: Sequence[T]) -> bool:
        """Return whether so much waits that the front should join pieces of text. Called when items were added at the
        end."""
        if len(items) <= FEW_ITEMS:
            return False
        self.has_counted = True
        self._characters += self._count(items[self._counted :])
        self._counted = len(items)
        return self._counted > self._join_above_items or self._characters > self._join_above_characters

    def must_disconnect(self, items: Sequence[T]) -> bool:
        """Return whether too much waits even after the front has joined pieces of text. Then the front must disconnect
        the client. Called after each joining."""
        self._counted, self._characters = len(items), self._count(items)
        # Joining takes a moment, so the front does not join again before a tenth of the limit is added.
        self._join_above_items = self._counted + MAX_ITEMS // 10
        self._join_above_characters = self._characters + MAX_CHARACTERS // 10
        return self._counted > MAX_ITEMS or self._characters > MAX_CHARACTERS

    def _count(self, items: Iterable[T]) -> int:
        """Return the number of characters in the texts of items."""
        return sum(count_characters(self._get_data(item)) for item in items)
