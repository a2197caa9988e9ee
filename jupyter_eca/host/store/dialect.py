"""Owns the parts of SQL that differ between the databases in which chats can be stored. Pure.

All other SQL of this room is written once, for every database: parameters are plain `?`, conflicts are solved with
`ON CONFLICT`, and functions are those that all of them have. `connection` runs it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class SqlDialect:
    """The SQL of one database, as parts of statements."""

    type_condition: str
    """A condition: the `content` of an event has the type `{type}`."""
    is_question: str
    """A condition: the `content` of an event, which is a text, is a question to the user."""
    position: str
    """The function that returns the place of a text in another one; 0 if it is not in there."""
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
    position="instr",
    contains="text LIKE ?",
    listed="IN (SELECT value FROM json_each(?))",
    owner="owner",
    has_full_text_index=True,
)
