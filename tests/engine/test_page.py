"""Pages of a chat: whatever its turns and wherever one starts, they tile it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jupyter_eca.engine.chat.pagination import Page, find_turn_of_message, make_page
from jupyter_eca.protocol.content import MetadataContent, Role, TextContent
from jupyter_eca.protocol.event import Event, SummaryAside

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


def make_events(turns: str, *, summaries: tuple[int, ...] = ()) -> list[Event]:
    """An event for each letter, which names its turn; `-` for none. The first has the number 10, the next 20, and so
    on."""
    return [
        Event(
            chat="c",
            turn="" if turn == "-" else turn,
            role=Role.USER,
            content=TextContent(text="x", content_id=f"m{number}"),
            seq=10 * number,
            aside=SummaryAside(text="x") if number in summaries else None,
        )
        for number, turn in enumerate(turns, 1)
    ]


# The numbers of the events of a page, and its two cursors.
Shown = tuple[list[int], int | None, int | None]


def show(page: Page) -> Shown:
    return [event.seq // 10 for event in page.events], page.before, page.after


PAGES: list[tuple[str, dict[str, int], Shown]] = [
    ("abcd", {}, ([1, 2, 3, 4], None, None)),
    ("abcd", {"limit": 2}, ([3, 4], 30, None)),
    ("abcd", {"limit": 4}, ([1, 2, 3, 4], None, None)),
    ("aabbb", {"limit": 1}, ([3, 4, 5], 30, None)),
    ("aab-b", {"limit": 1}, ([3, 4, 5], 30, None)),
    ("aab-", {"limit": 1}, ([4], 40, None)),
    ("abcd", {"before": 30}, ([1, 2], None, 20)),
    ("abcd", {"before": 31}, ([1, 2, 3], None, 30)),
    ("abcd", {"before": 30, "limit": 1}, ([2], 20, 20)),
    ("abcd", {"before": 10}, ([], None, None)),
    ("abcd", {"after": 20}, ([3, 4], 30, None)),
    ("abcd", {"after": 19}, ([2, 3, 4], 20, None)),
    ("abcd", {"after": 10, "limit": 2}, ([2, 3], 20, 30)),
    ("abbbd", {"after": 10, "limit": 2}, ([2, 3, 4], 20, 40)),
    ("abcd", {"after": 40}, ([], None, None)),
    ("abcd", {"after": 10, "before": 40}, ([2, 3], 20, 30)),
    ("abcd", {"after": 10, "before": 40, "limit": 3}, ([2, 3], 20, 30)),
    ("-ab", {"limit": 2}, ([2, 3], 20, None)),
    ("abcd", {"before": 99}, ([1, 2, 3, 4], None, None)),
    ("", {"limit": 2}, ([], None, None)),
]


@pytest.mark.parametrize(("turns", "cursors", "expected"), PAGES)
def test_a_page_has_whole_turns_and_says_where_the_pages_around_it_begin(
    turns: str, cursors: dict[str, int], expected: Shown
) -> None:
    page = make_page(make_events(turns), **cursors)
    assert (show(page), page.total) == (expected, len(turns))


def test_every_page_names_the_last_summary_of_the_chat() -> None:
    events = make_events("abcd", summaries=(2, 3))
    assert [make_page(events, limit=1).summary, make_page(events, before=20).summary] == [30, 30]
    assert make_page(make_events("abcd")).summary is None


def test_of_a_message_without_a_turn_there_is_no_beginning() -> None:
    title = Event(chat="c", turn="", role=Role.SYSTEM, content=MetadataContent(title="A"))
    assert find_turn_of_message([title, *make_events("ab")], "m2") == 2
    events = make_events("a-bb")
    assert [find_turn_of_message(events, f"m{number}") for number in (1, 2, 3, 4, 5)] == [0, None, 2, 2, None]
