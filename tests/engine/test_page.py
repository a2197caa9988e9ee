"""Pages of a chat: whatever its turns and wherever one starts, they tile it."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from jupyter_eca.engine.chat.pagination import Page, find_turn_of_message, make_page
from jupyter_eca.protocol.content import Role, TextContent
from jupyter_eca.protocol.event import Event

# The turn of each event; "" stands beside them, and may come in the middle of one.
TURNS = st.lists(st.tuples(st.integers(1, 4), st.booleans()), max_size=12)
LIMITS = st.integers(1, 9)


def chat(turns: list[tuple[int, bool]]) -> list[Event]:
    names = [
        name
        for number, (length, marked) in enumerate(turns)
        for name in (*[f"t{number}"] * length, *[""] * marked, *[f"t{number}"] * marked)
    ]
    return [
        Event(chat="c", turn=turn, role=Role.USER, content=TextContent(text="x", content_id=f"m{i}"), seq=3 * i + 5)
        for i, turn in enumerate(names)
    ]


def whole(shown: Page, events: list[Event]) -> bool:
    inside = {event.turn for event in shown.events if event.turn}
    outside = {event.turn for event in events if event not in shown.events}
    return not inside & outside


@given(TURNS, LIMITS)
def test_pages_before_the_cursor_tile_the_chat_in_whole_turns(turns: list[tuple[int, bool]], limit: int) -> None:
    events = chat(turns)
    shown = make_page(events, limit)
    tiles = shown.events
    while shown.before is not None:
        assert whole(shown, events)
        assert len(shown.events) >= limit
        shown = make_page(events, limit, before=shown.before)
        assert shown.events
        tiles = shown.events + tiles
    assert list(tiles) == events


@given(TURNS, LIMITS, st.data())
def test_pages_after_any_place_tile_the_rest(turns: list[tuple[int, bool]], limit: int, data: st.DataObject) -> None:
    events = chat(turns)
    place = data.draw(st.integers(0, len(events)))
    after: int | None = events[place - 1].seq if place else 0
    tiles: tuple[Event, ...] = ()
    while after is not None:
        shown = make_page(events, limit, after=after)
        tiles += shown.events
        after = shown.after
    assert list(tiles) == events[place:]


@given(TURNS)
def test_without_a_limit_the_page_is_the_chat(turns: list[tuple[int, bool]]) -> None:
    events = chat(turns)
    for limit in (None, 0, -1):
        assert make_page(events, limit) == Page(tuple(events), len(events), None, None)


@given(TURNS)
def test_a_message_is_found_at_the_beginning_of_its_turn(turns: list[tuple[int, bool]]) -> None:
    events = chat(turns)
    for event in events:
        at = find_turn_of_message(events, f"m{events.index(event)}")
        expected = next((i for i, other in enumerate(events) if other.turn == event.turn), None) if event.turn else None
        assert at == expected
    assert find_turn_of_message(events, "nobody's") is None
