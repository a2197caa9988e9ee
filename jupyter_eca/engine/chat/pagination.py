"""Owns the pages of a chat: it selects the events that a client sees at once. Pure.

A page consists of whole turns, so a tool call is never shown without its beginning. This module must not know where the
events come from: its neighbour `host/store` reads them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from jupyter_eca.protocol.event import SummaryAside

if TYPE_CHECKING:
    from collections.abc import Sequence

    from jupyter_eca.protocol.event import Event


@dataclass(frozen=True, slots=True)
class Page:
    """Some events of a chat, and the cursors of the pages around them. A cursor is the sequence number of an event."""

    events: tuple[Event, ...]
    """The events of the page."""
    total: int
    """How many events the chat has."""
    before: int | None
    """The cursor of the page before this one; None when there are no earlier events."""
    after: int | None
    """The cursor of the page after this one; None when there are no later events."""
    summary: int | None = None
    """The sequence number of the last summary that replaced the conversation for the model; None when there is none."""


def make_page(
    events: Sequence[Event], limit: int | None = None, before: int | None = None, after: int | None = None
) -> Page:
    """Return the newest events: at most `limit` of them, and the rest of the turns that would be cut in two.

    `before` and `after` are sequence numbers. With `before`, return the newest events before it; with `after`, the
    oldest events after it. None or 0 as `limit` means no limit.
    """
    first, last = 0, len(events)
    if before is not None:
        last = next((index for index, event in enumerate(events) if event.seq >= before), last)
    if after is not None:
        first = next((index for index, event in enumerate(events) if event.seq > after), last)
    if limit and limit > 0 and last - first > limit:
        if after is None:
            first = last - limit
        else:
            last = first + limit
    # Complete the turns at both ends of the page.
    if after is None:
        while 0 < first < last and _is_within_turn(events, first):
            first -= 1
    if before is None:
        while first < last < len(events) and _is_within_turn(events, last):
            last += 1
    page = tuple(events[first:last])
    return Page(
        page,
        len(events),
        page[0].seq if page and first > 0 else None,
        page[-1].seq if page and last < len(events) else None,
        find_last_summary(events),
    )


def find_last_summary(events: Sequence[Event]) -> int | None:
    """Return the sequence number of the last summary, which replaced all events before it for the model; None when
    there is none."""
    return next((event.seq for event in reversed(events) if isinstance(event.aside, SummaryAside)), None)


def _is_within_turn(events: Sequence[Event], index: int) -> bool:
    """Return whether a turn has begun before this index and continues after it.

    Events without a turn, such as a new title, may be in between.
    """
    turn = next((event.turn for event in events[index:] if event.turn), None)
    before = next((event.turn for event in reversed(events[:index]) if event.turn), None)
    return turn is not None and turn == before


def find_turn_of_message(events: Sequence[Event], content_id: str) -> int | None:
    """Return the index of the first event of the turn that has this message of the user; None when there is none."""
    of_message = (event for event in events if getattr(event.content, "content_id", None) == content_id)
    turn = next((event.turn for event in of_message if event.turn), None)
    return None if turn is None else next(index for index, event in enumerate(events) if event.turn == turn)
