"""A window on a chat's events, in whole turns: a tool call is never shown without its beginning. Pure.

It must not know where the events come from: the store in `host/store` reads them.
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
    """Some events of a chat, and where the others are."""

    events: tuple[Event, ...]
    """The events of the page."""
    total: int
    """How many events the chat has."""
    before: int | None
    """The cursor of the page before it; None where there is nothing more."""
    after: int | None
    """The cursor of the page after it; None where there is nothing more."""
    summary: int | None = None
    """The sequence number of the chat's last summary of itself."""


def make_page(
    events: Sequence[Event], limit: int | None = None, before: int | None = None, after: int | None = None
) -> Page:
    """Return the newest events, at most `limit`, extended to the ends of their turns. With `before` or `after`, return
    those before or after a sequence number.
    """
    first, last = 0, len(events)
    if before is not None:
        last = next((i for i, event in enumerate(events) if event.seq >= before), last)
    if after is not None:
        first = next((i for i, event in enumerate(events) if event.seq > after), last)
    if limit and limit > 0 and last - first > limit:
        if after is None:
            first = last - limit
        else:
            last = first + limit
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
    """Return the sequence number of the last event that stands for all before it, None when there is none."""
    return next((event.seq for event in reversed(events) if isinstance(event.aside, SummaryAside)), None)


def _is_within_turn(events: Sequence[Event], at: int) -> bool:
    """Return whether a turn has begun before that place and goes on there. Another title may stand in between."""
    turn = next((event.turn for event in events[at:] if event.turn), None)
    before = next((event.turn for event in reversed(events[:at]) if event.turn), None)
    return turn is not None and turn == before


def find_turn_of_message(events: Sequence[Event], content_id: str) -> int | None:
    """Return the index where the turn begins that has the user's message; None when there is no such message."""
    turn = next((e.turn for e in events if getattr(e.content, "content_id", None) == content_id and e.turn), None)
    return None if turn is None else next(i for i, event in enumerate(events) if event.turn == turn)
