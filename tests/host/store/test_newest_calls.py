"""The newest calls of chats are found among all events, on both databases."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jupyter_eca.host.store.tables import Tables
from jupyter_eca.protocol.content import Content, Role, TextContent, ToolCalledContent, ToolCallRunContent
from jupyter_eca.protocol.event import Event
from tests.support.store_places import on_both

if TYPE_CHECKING:
    from tests.support.store_places import StorePlace


def event(chat: str, content: Content) -> Event:
    return Event(chat=chat, turn="t", role=Role.ASSISTANT, content=content, at=1)


def announce(id: str) -> ToolCallRunContent:
    return ToolCallRunContent(
        id=id, name="grep", server="eca", arguments={"text": '"type":"toolCallRun"'}, manual_approval=False
    )


@on_both
def test_the_newest_calls_of_the_chats_come_first_without_words_that_only_look_like_a_call(place: StorePlace) -> None:
    quoted = TextContent(text='{"id":"x","type":"toolCallRun"}')
    with place.open_connection() as db:
        tables = Tables(db, "/some/folder", "1:1")
        ended = ToolCalledContent(id="one", name="grep", server="eca", arguments={}, error=False, outputs=())
        events = [
            event("a", announce("one")),
            event("a", quoted),
            event("b", announce("of another chat")),
            event("a", ended),
            event("c", announce("two")),
        ]
        tables.write(events, {}, [])
        found = tables.list_newest_calls(["a", "c"], 10, 100)
        assert [(one.chat, one.content) for one in found] == [
            ("c", announce("two")),
            ("a", ended),
            ("a", announce("one")),
        ]
        assert tables.list_newest_calls(["a", "c"], 1, 100) == found[:1]
        assert tables.list_newest_calls(["a", "c"], 10, 2) == found[:2]
        assert tables.list_newest_calls([], 10, 100) == []
