"""A page of a chat begins with the beginning of a turn, and says how many events come before it."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import given
from hypothesis import strategies as st

from jupyter_eca.host.store.schema import connect
from jupyter_eca.host.store.tables import Tables
from jupyter_eca.protocol.content import ProgressContent, Role, TextContent
from jupyter_eca.protocol.event import Event

# Turns follow each other. Each begins with a prompt, or has none, as those that an outside agent begins by itself.
TURNS = st.lists(st.tuples(st.booleans(), st.integers(1, 4)), min_size=1, max_size=6)
# Some events come later than the end of their turn, and some belong to no turn.
LATE = st.lists(st.integers(-1, 5), max_size=5)


def event(turn: str, role: Role) -> Event:
    content = TextContent(text="words") if role is not Role.SYSTEM else ProgressContent(state="running")
    return Event(chat="c", turn=turn, role=role, content=content, at=1)


@given(turns=TURNS, late=LATE, limit=st.integers(1, 12), before=st.none() | st.integers(1, 30))
def test_a_page_is_that_which_a_look_at_all_events_finds(
    turns: list[tuple[bool, int]], late: list[int], limit: int, before: int | None
) -> None:
    events: list[Event] = []
    for number, (has_prompt, pieces) in enumerate(turns):
        events += [event(f"t{number}", Role.USER)] * has_prompt + [event(f"t{number}", Role.ASSISTANT)] * pieces
    prompted = [number for number, (has_prompt, _) in enumerate(turns) if has_prompt]
    events += [event(f"t{number}" if number in prompted else "", Role.SYSTEM) for number in late]
    with TemporaryDirectory() as folder:
        db = connect(Path(folder) / "chats.db")
        tables = Tables(db, "/some/folder", "1:1")
        written = tables.write(events, {}, []).events
        page, earlier = tables.read_newest("c", limit, before)
        db.close()
    known = [one for one in written if before is None or one.seq < before]
    # The event from which the page goes back to the beginning of its turn.
    limiting = known[-limit] if len(known) >= limit else None
    first = 0
    if limiting is not None:
        first = min((one.seq for one in written if one.turn and one.turn == limiting.turn), default=limiting.seq)
    assert [one.seq for one in page] == [one.seq for one in known if one.seq >= first]
    assert earlier == sum(one.seq < first for one in written)
