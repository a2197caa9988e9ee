"""Owns the rules for the items that wait to be sent to a client. If the client reads slowly, items are joined, so that
fewer messages are sent. Pure.

It must not know the session, which holds the list of waiting items and sends them. `projection.py` makes messages of
the items.
"""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING

from jupyter_eca.host.subscribers import ChatReload, Notice
from jupyter_eca.protocol.chat import ChatToolCallProgressParams
from jupyter_eca.protocol.event import Event, merge_pieces
from jupyter_eca.protocol.mcp import ToolServerUpdatedParams

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

Item = Event | Notice | ChatReload
"""What can wait to be sent: an event of a chat, a notice (any other notification), or the request of the host to show a
chat again from its beginning."""


def get_data(item: Item) -> object:
    """Return the data of an item, by whose texts the `SendLimit` measures how much waits."""
    return item.params if isinstance(item, Notice) else item


def add_notice(waiting: list[Item], notice: Notice) -> None:
    """Add a notice to the end of the waiting items. If it is the progress of a tool call or the state of a tool server,
    and an older one of the same call or server is among the last items, it takes the place of the older one."""
    wanted = _make_replacement_key(notice)
    for index in range(len(waiting) - 1, -1, -1) if wanted else ():
        old = waiting[index]
        if not isinstance(old, Notice) or (key := _make_replacement_key(old)) is None:
            break
        if key == wanted:
            waiting[index] = notice
            return
    waiting.append(notice)


def _make_replacement_key(notice: Notice) -> tuple[str | None, str] | None:
    """Return a key that equals that of the notices which this one replaces. None for a notice that replaces none."""
    match notice.params:
        case ChatToolCallProgressParams(id=id):
            return notice.chat, id
        case ToolServerUpdatedParams(name=name):
            return None, name
        case _:
            return None


def group_events(items: Iterable[Item]) -> Iterator[list[Item]]:
    """Yield the items in lists: events that follow each other are in one list, and any other item is in a list of its
    own."""
    for is_event, run in groupby(items, lambda item: isinstance(item, Event)):
        if is_event:
            yield list(run)
        else:
            yield from ([item] for item in run)


def join_events(items: Iterable[Item]) -> list[Item]:
    """Return the items, in which events that follow each other are joined if they are pieces of one text."""
    merged: list[Item] = []
    for run in group_events(items):
        # A run without an event is one other item, which stays as it is.
        merged += merge_pieces(item for item in run if isinstance(item, Event)) or run
    return merged
