"""Owns how items that wait to be sent to a client are joined, so that a client that reads slowly gets fewer messages.
Pure.

It must not know the session, which holds the waiting items and sends them. `projection.py` makes messages of them.
"""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, Final

from jupyter_eca.host.subscribers import Again, Notice
from jupyter_eca.protocol.chat import ChatToolCallProgressParams
from jupyter_eca.protocol.event import Event, merge_pieces

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

Item = Event | Notice | Again
"""What can wait to be sent: an event of a chat, a notice (any other notification), or the order to show a chat
again."""

# If more items than this wait to be sent, the client is disconnected. If it has only been slow, it reconnects and gets
# a replay. If it has stopped reading, all items would stay in memory for ever.
MAX_BEHIND: Final = 20_000


def add_notice(waiting: list[Item], notice: Notice) -> None:
    """Add a notice to the waiting items. The progress of a tool call replaces earlier progress of the same call."""
    if isinstance(notice.params, ChatToolCallProgressParams):
        for index in range(len(waiting) - 1, -1, -1):
            old = waiting[index]
            if not (isinstance(old, Notice) and isinstance(old.params, ChatToolCallProgressParams)):
                break
            if old.params.id == notice.params.id and old.chat == notice.chat:
                waiting[index] = notice
                return
    waiting.append(notice)


def split_runs(items: Iterable[Item]) -> Iterator[list[Item]]:
    """Yield lists of consecutive events. Any other item is yielded in a list of its own."""
    for is_event, run in groupby(items, lambda item: isinstance(item, Event)):
        if is_event:
            yield list(run)
        else:
            yield from ([item] for item in run)


def compact(items: Iterable[Item]) -> list[Item]:
    """Merge pieces of the same text in consecutive events. All other items stay where they are."""
    merged: list[Item] = []
    for run in split_runs(items):
        merged += merge_pieces(item for item in run if isinstance(item, Event)) or run
    return merged
