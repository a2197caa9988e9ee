"""Owns the index of messages, by which chats are found: the SQL statements of the tables `messages`, `indexed_chats`
and `message_index`.

An answer is stored piece by piece while it streams, so nothing is indexed then. The messages that are new since the
last search are indexed when the user searches again: `list_stale` names the chats with new messages, and
`host.operations.chat_search` calls `index` for one chat after the other. So the store can commit events between two
chats.

`messages` has the whole text of each prompt and each part of an answer, with upper and lower case folded. Its FTS5
index has trigrams, that is all groups of three characters. So it finds any part of a word in any script, as a search of
the table itself does. Both searches use the same `LIKE`. An SQLite without FTS5 or without trigrams (before 3.34)
searches the table, which takes longer. Therefore no migration makes the index: the first process that can do so
makes it.

This module must not know threads, see `store`, nor what is shown of a message.
"""

from __future__ import annotations

import json
import sqlite3
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from typing import TYPE_CHECKING, Final, TypeAlias

from jupyter_eca.host.store.connection import transaction
from jupyter_eca.protocol.content import Role

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from jupyter_eca.host.store.connection import DatabaseConnection

TOKENIZER: Final = "trigram"

_Row: TypeAlias = "tuple[int, str, str, int, str | None]"
"""The number, turn and role of an event, whether a turn ends with it, and its text if it is a part of a message."""

# Without `detail`, the index has no positions of the trigrams, and is about as large as the text. `LIKE` does not need
# them, because it compares the text of each row that the trigrams find.
_CREATE: Final = (
    "CREATE VIRTUAL TABLE IF NOT EXISTS message_index"
    " USING fts5(text, content='messages', content_rowid='id', tokenize='{tokenizer}', detail='none')"
)

# `message_index_docsize` is FTS5's own table, with a row for each message that is in the index.
_FILL: Final = (
    "INSERT INTO message_index (rowid, text) SELECT id, text FROM messages"
    " WHERE id > (SELECT coalesce(max(id), 0) FROM message_index_docsize)"
)

_REBUILD: Final = "INSERT INTO message_index (message_index) VALUES ('rebuild')"

# Only texts that people read and write are found: no thoughts, and no arguments and results of tools. Of the texts of
# the system, only questions to the user are found, with their answers.
_SELECT_TEXTS: Final = """
    SELECT seq, turn, role, outcome IS NOT NULL,
        CASE WHEN {is_text} AND turn != '' AND (role IN (?, ?) OR {is_question}) THEN {text} END
    FROM events WHERE chat = ? AND seq > ? ORDER BY seq
"""

_SELECT_STALE: Final = """
    SELECT id FROM chats LEFT JOIN indexed_chats ON chat = id
    WHERE workspace = ? AND parent IS NULL AND coalesce(seq, 0) < (SELECT max(seq) FROM events WHERE chat = id)
"""


@dataclass(frozen=True, slots=True)
class FoundMessage:
    """A prompt, or a part of an answer between two other events."""

    chat: str
    """The id of its chat."""
    first: int
    """The sequence number of its first event."""
    last: int
    """The sequence number of its last event."""


class MessageIndex:
    """Indexes and finds the messages of the chats of a workspace. Chats of subagents are not listed, so they are not
    found either."""

    def __init__(self, db: DatabaseConnection, workspace: str) -> None:
        """`workspace` is the folder that identifies the workspace, see `Store`. Deleting needs none: "" is enough."""
        self._db = db
        dialect = db.dialect
        self._select_texts = _SELECT_TEXTS.format(
            is_text=dialect.has_type("text"), is_question=dialect.is_question, text=dialect.text
        )
        self._workspace = workspace

    def list_stale(self) -> list[str]:
        """Return the ids of the chats that have events which were not indexed yet."""
        return [chat for (chat,) in self._db.execute(_SELECT_STALE, (self._workspace,))]

    def index(self, chat: str) -> None:
        """Index the new messages of a chat. The messages of a running turn are indexed again at the next call."""
        row = self._db.execute("SELECT seq FROM indexed_chats WHERE chat = ?", (chat,)).fetchone()
        indexed = row[0] if row else 0
        events = self._db.execute(self._select_texts, (Role.USER, Role.ASSISTANT, chat, indexed)).fetchall()
        if self._db.dialect.has_json_text:
            events = [(*event, content and _read_text(content)) for *event, content in events]
        if not events:
            return
        messages = list(_join_pieces(events))
        # `_has_index` may create the FTS5 index. This is done before the transaction, whose rollback would remove it.
        has_index = self._has_index
        with transaction(self._db):
            self._delete(chat, indexed)
            self._db.executemany(
                "INSERT INTO messages (chat, first, last, text) VALUES (?, ?, ?, ?)",
                [(chat, *message) for message in messages],
            )
            self._db.execute(
                "INSERT INTO indexed_chats (chat, seq) VALUES (?, ?)"
                " ON CONFLICT (chat) DO UPDATE SET seq = excluded.seq",
                (chat, _get_last_before_running_turn(events)),
            )
            if has_index:
                self._db.execute(_FILL)

    def find(self, words: Sequence[str]) -> list[FoundMessage]:
        """Return the newest message of each chat that contains all words.

        `words` are case-folded. `%` and `_` in them also match other characters. So with such words, all messages that
        may contain them are returned, the newest first, and the caller compares again. PostgreSQL always returns all.
        """
        condition = " AND ".join([self._db.dialect.contains] * len(words))
        if self._has_index:
            # Another program, whose SQLite has no FTS5, may have added messages.
            self._db.execute(_FILL)
            condition = f"messages.id IN (SELECT rowid FROM message_index WHERE {condition})"  # noqa: S608  # words of ours
        # `last` is of the row with the greatest `first`: SQLite defines it so for `max`.
        is_exact = self._db.dialect.has_row_of_maximum and not any("%" in word or "_" in word for word in words)
        first, order = ("max(first)", "GROUP BY chat") if is_exact else ("first", "ORDER BY first DESC")
        query = (
            f"SELECT chat, {first}, last FROM messages JOIN chats ON chats.id = chat"  # noqa: S608  # words of ours
            f" WHERE workspace = ? AND {condition} {order}"
        )
        parameters = (self._workspace, *(f"%{word}%" for word in words))
        try:
            rows = self._db.execute(query, parameters).fetchall()
        except sqlite3.DatabaseError as error:
            if error.sqlite_errorcode != sqlite3.SQLITE_CORRUPT_VTAB:
                raise
            # Another program, whose SQLite has no FTS5, has deleted messages that are still in the index.
            self._db.execute(_REBUILD)
            rows = self._db.execute(query, parameters).fetchall()
        return [FoundMessage(*row) for row in rows]

    def read_text(self, message: FoundMessage) -> str:
        """Return the text of a message as it was written."""
        rows = self._db.execute(
            f"SELECT {self._db.dialect.text} FROM events WHERE chat = ? AND seq BETWEEN ? AND ? ORDER BY seq",  # noqa: S608  # words of ours
            (message.chat, message.first, message.last),
        )
        texts = [text for (text,) in rows]
        return "".join(map(_read_text, texts) if self._db.dialect.has_json_text else texts)

    def forget(self, chat: str) -> None:
        """Delete all messages of a chat, because events of it are deleted. The caller has begun a transaction. The
        remaining events are indexed at the next search."""
        self._delete(chat, 0)
        self._db.execute("DELETE FROM indexed_chats WHERE chat = ?", (chat,))

    def rebuild(self) -> None:
        """Make the index again from the existing messages, so that it has nothing of deleted ones."""
        if self._has_index:
            self._db.execute(_REBUILD)

    def _delete(self, chat: str, after: int) -> None:
        """Delete the messages of a chat after a sequence number."""
        selected = "FROM messages WHERE chat = ? AND first > ?"
        if self._db.execute(f"SELECT 1 {selected} LIMIT 1", (chat, after)).fetchone() is None:
            return
        if self._has_index:
            # FTS5 reads the deleted text from us. A text that it never had would damage the index.
            self._db.execute(_FILL)
            self._db.execute(
                f"INSERT INTO message_index (message_index, rowid, text) SELECT 'delete', id, text {selected}",
                (chat, after),
            )
        self._db.execute(f"DELETE {selected}", (chat, after))

    @cached_property
    def _has_index(self) -> bool:
        """Whether this SQLite can use the FTS5 index. It is created if needed."""
        if not self._db.dialect.has_full_text_index:
            return False
        try:
            self._db.execute(_CREATE.format(tokenizer=TOKENIZER))
            # Another program with a better SQLite may have created it.
            self._db.execute("SELECT rowid FROM message_index LIMIT 0")
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode != sqlite3.SQLITE_ERROR:
                raise
            return False
        return True


def _read_text(content: str) -> str:
    """Return the text of a content, which is JSON."""
    return json.loads(content)["text"]


def _join_pieces(events: Iterable[_Row]) -> Iterator[tuple[int, int, str]]:
    """Yield the first and last sequence number of each message, and its case-folded text. A message is a run of texts
    with the same turn and role, without another event in between."""
    for (_, _, is_text), group in groupby(events, key=lambda event: (event[1], event[2], event[4] is not None)):
        pieces = [(seq, text) for seq, _, _, _, text in group if text is not None]
        if is_text:
            yield pieces[0][0], pieces[-1][0], "".join(text for _, text in pieces).casefold()


def _get_last_before_running_turn(events: Sequence[_Row]) -> int:
    """Return the last sequence number before the running turn; that of the last event if no turn runs."""
    turn = next((turn for _, turn, *_ in reversed(events) if turn), "")
    events_of_turn = [(seq, is_end) for seq, event_turn, _, is_end, _ in events if turn and event_turn == turn]
    return (
        events[-1][0] if any(is_end for _, is_end in events_of_turn) or not events_of_turn else events_of_turn[0][0] - 1
    )
