"""A page of a chat begins with the beginning of a turn, and says how many events come before it."""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from jupyter_eca.host.store.tables import Tables
from jupyter_eca.protocol.content import ProgressContent, Role, TextContent
from jupyter_eca.protocol.event import Event
from tests.support.store_places import on_both

if TYPE_CHECKING:
    from tests.support.store_places import StorePlace

# Turns follow each other. Each begins with a prompt, or has none, as those that an outside agent begins by itself.
TURNS = st.lists(st.tuples(st.booleans(), st.integers(1, 4)), min_size=1, max_size=6)
# Some events come later than the end of their turn, and some belong to no turn.
LATE = st.lists(st.integers(-1, 5), max_size=5)
# Each example has a chat of its own in one database.
NUMBERS = count()


def event(chat: str, turn: str, role: Role) -> Event:
    content = TextContent(text="words") if role is not Role.SYSTEM else ProgressContent(state="running")
    return Event(chat=chat, turn=turn, role=role, content=content, at=1)


@on_both
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(turns=TURNS, late=LATE, limit=st.integers(1, 12), before=st.none() | st.integers(1, 30))
def test_a_page_is_that_which_a_look_at_all_events_finds(
    place: StorePlace, turns: list[tuple[bool, int]], late: list[int], limit: int, before: int | None
) -> None:
    chat = f"c{next(NUMBERS)}"
    events: list[Event] = []
    for number, (has_prompt, pieces) in enumerate(turns):
        events += [event(chat, f"t{number}", Role.USER)] * has_prompt + [
            event(chat, f"t{number}", Role.ASSISTANT)
        ] * pieces
    prompted = [number for number, (has_prompt, _) in enumerate(turns) if has_prompt]
    events += [event(chat, f"t{number}" if number in prompted else "", Role.SYSTEM) for number in late]
    with place.open_connection() as db:
        tables = Tables(db, "/some/folder", "1:1")
        written = tables.write(events, {}, []).events
        before = written[0].seq - 1 + before if written and before else None
        page, earlier = tables.read_newest(chat, limit, before)
    known = [one for one in written if before is None or one.seq < before]
    # The event from which the page goes back to the beginning of its turn.
    limiting = known[-limit] if len(known) >= limit else None
    first = 0
    if limiting is not None:
        first = min((one.seq for one in written if one.turn and one.turn == limiting.turn), default=limiting.seq)
    assert [one.seq for one in page] == [one.seq for one in known if one.seq >= first]
    assert earlier == sum(one.seq < first for one in written)
