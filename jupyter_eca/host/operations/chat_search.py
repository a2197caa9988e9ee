"""Owns the search for chats by their titles and messages.

It must not know how messages are stored: `host.store.message_index` does. `engine.text.excerpts` chooses the sentence
that is shown of a message.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from jupyter_eca.engine.text.excerpts import find_excerpt, split_query

if TYPE_CHECKING:
    from collections.abc import Sequence

    from jupyter_eca.host.store import ChatRow, Store
    from jupyter_eca.host.store.tables import Tables


async def find_chats(store: Store, rows: Sequence[ChatRow], query: str) -> dict[str, str]:
    """Return the chats among `rows` whose title or messages contain all words of a query, by id. The value is the
    sentence that was found in the newest such message; "" if only the title has the words.

    Raises: NotSaved when the database cannot be used.
    """
    words = split_query(query)
    if not words:
        return {row.id: "" for row in rows}
    # One chat at a time, so that the store can commit the events of running turns in between.
    for chat in await store.do(lambda tables: tables.messages.list_stale()):
        await store.do(partial(_index, chat))
    excerpts = await store.do(partial(_find_excerpts, words))
    titles = {row.id for row in rows if all(word in (row.title or "").casefold() for word in words)}
    return {row.id: excerpts.get(row.id, "") for row in rows if row.id in titles or row.id in excerpts}


def _index(chat: str, tables: Tables) -> None:
    """Index the new messages of a chat."""
    tables.messages.index(chat)


def _find_excerpts(words: Sequence[str], tables: Tables) -> dict[str, str]:
    """Return an excerpt of the newest message of each chat that has the words, by the id of the chat."""
    excerpts: dict[str, str] = {}
    for message in tables.messages.find(words):
        if message.chat not in excerpts:
            excerpt = find_excerpt(tables.messages.read_text(message), words)
            if excerpt is not None:
                excerpts[message.chat] = excerpt
    return excerpts
