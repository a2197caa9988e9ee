"""Owns the parts of SQL that differ between the databases in which chats can be stored. Pure.

All other SQL of this room is written once, for every database: parameters are plain `?`, conflicts are solved with
`ON CONFLICT`, and functions are those that all of them have. `connection` runs it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

SESSION: Final = "session:"
"""The beginning of an owner of chats that is a connection to PostgreSQL. The rest is the number of its lock."""


@dataclass(frozen=True, slots=True)
class SqlDialect:
    """The SQL of one database, as parts of statements."""

    type_condition: str
    """A condition: the `content` of an event has the type `{type}`."""
    is_question: str
    """A condition: the `content` of an event, which is a text, is a question to the user."""
    text: str
    """The text of an event whose `content` is a text. It is JSON if `has_json_text`."""
    has_json_text: bool
    """Whether `text` is the whole content, as JSON."""
    has_row_of_maximum: bool
    """Whether a query with `max` and `GROUP BY` returns the other columns of the row with the maximum."""
    contains: str
    """A condition: the column `text` contains a parameter, which has a `%` at both ends."""
    listed: str
    """The end of a condition: a column is in a list, which is a parameter with JSON."""
    owner: str
    """The column `owner` of a chat, or NULL if it is known that the owner has ended."""
    has_full_text_index: bool
    """Whether the database may have the FTS5 index of `message_index`."""

    def has_type(self, type: str) -> str:
        """Return the condition that the `content` of an event has a type."""
        return self.type_condition.format(type=type)


SQLITE: Final = SqlDialect(
    type_condition="json_extract(content, '$.type') = '{type}'",
    is_question="json_extract(content, '$.question')",
    text="json_extract(content, '$.text')",
    has_json_text=False,
    has_row_of_maximum=True,
    contains="text LIKE ?",
    listed="IN (SELECT value FROM json_each(?))",
    owner="owner",
    has_full_text_index=True,
)

# The owners whose locks are held now: PostgreSQL shows a number of 64 bits in two columns.
_LIVING: Final = (
    f"SELECT '{SESSION}' || ((classid::bigint << 32) | objid::bigint) FROM pg_locks"  # noqa: S608  # words of ours
    " WHERE locktype = 'advisory' AND objsubid = 1 AND granted"
)

POSTGRES: Final = SqlDialect(
    # Our JSON begins with the type. PostgreSQL's own functions for JSON refuse a text that has `\u0000` anywhere.
    type_condition='starts_with(content, \'{{"type":"{type}"\')',
    is_question="strpos(content, '\"question\":true') > 0",
    text="content",
    has_json_text=True,
    has_row_of_maximum=False,
    contains="text LIKE ? ESCAPE ''",
    listed="IN (SELECT json_array_elements_text(CAST(? AS json)))",
    owner=f"CASE WHEN owner IN ({_LIVING}) THEN owner END",
    has_full_text_index=False,
)
