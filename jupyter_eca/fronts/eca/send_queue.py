"""Owns the notices that wait to be sent to a client, joined to as few messages as possible. Pure. It must not know the
session, which sends them.
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

# How many events a session may be behind before it is cut off. A client that reconnects gets a replay of what it
# missed; for a client that has stopped reading, everything would stay in memory for ever.
MAX_BEHIND: Final = 20_000


def put(behind: list[Item], notice: Notice) -> None:
    """Add a notice. The progress of a call replaces earlier progress that was not sent yet."""
    if isinstance(notice.params, ChatToolCallProgressParams):
        for at in range(len(behind) - 1, -1, -1):
            old = behind[at]
            if not (isinstance(old, Notice) and isinstance(old.params, ChatToolCallProgressParams)):
                break
            if old.params.id == notice.params.id and old.chat == notice.chat:
                behind[at] = notice
                return
    behind.append(notice)


def runs(items: Iterable[Item]) -> Iterator[list[Item]]:
    """Yield runs of consecutive events; any other item is a run of its own."""
    for is_event, run in groupby(items, lambda item: isinstance(item, Event)):
        if is_event:
            yield list(run)
        else:
            yield from ([item] for item in run)


def compact(items: Iterable[Item]) -> list[Item]:
    """Merge consecutive events; everything else stays where it is."""
    merged: list[Item] = []
    for run in runs(items):
        merged += merge_pieces(item for item in run if isinstance(item, Event)) or run
    return merged
