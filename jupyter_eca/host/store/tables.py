"""Owns the SQL statements that read and write the tables. They are synchronous and run on the store's own thread.

An event is a fact about a chat, and its aside says what the event means to the model. A checkpoint has a file or cells
as they were before a turn changed them. The statements must not know threads or subscribers: `store` does. `schema`
makes the tables, and `rows` has the values.

Parts of statements are put together only from constants of this room, and all values are parameters. So nobody can
inject SQL, although the linter warns of it (S608: "ours").
"""

from __future__ import annotations

import json
import logging
import os
import sqlite3
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from pydantic import TypeAdapter

from jupyter_eca.engine.changes.revert import ChangeDecision
from jupyter_eca.host.store.choices import Choices
from jupyter_eca.host.store.connection import UnknownCommit, transaction
from jupyter_eca.host.store.message_index import MessageIndex
from jupyter_eca.host.store.notebook_rules import StoredNotebookRules
from jupyter_eca.host.store.rows import (
    CHANGED,
    UNKEPT,
    AgentSessionRow,
    CellCheckpoint,
    ChatRow,
    Checkpoint,
    ReviewState,
    StoredSelection,
    UnseenChange,
)
from jupyter_eca.host.store.spending import add_spending, sum_spending
from jupyter_eca.log_fields import LogFields
from jupyter_eca.protocol.base import DEFERRED
from jupyter_eca.protocol.content import Content, MetadataContent, Role, TaskDetails, ToolCalledContent, UsageContent
from jupyter_eca.protocol.event import Aside, Event, Outcome, Person

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

    from jupyter_eca.host.store.connection import DatabaseConnection
    from jupyter_eca.host.store.spending import CostFilter, Spending, Total

# The types of the columns `content` and `aside` of an event, which are JSON.
_CONTENT: Final[TypeAdapter[Content]] = TypeAdapter(Content, config=DEFERRED)
_ASIDE: Final[TypeAdapter[Aside]] = TypeAdapter(Aside, config=DEFERRED)

# The new states of changes that were made without approval, when the user has seen them.
_STATE_WHEN_SEEN: Final = {ReviewState.UNSEEN: ReviewState.OPEN, ReviewState.UNSEEN_SETTLED: ReviewState.SETTLED}
_UNSEEN: Final = tuple(_STATE_WHEN_SEEN)

# The conditions of the indexes of `events`, in the words of `schema`.
_IS_PROMPT: Final = """role = 'user' AND substr(content, 1, 14) = '{"type":"text"'"""
_IS_FLAG: Final = """substr(content, 1, 14) = '{"type":"flag"'"""
_IS_USAGE: Final = """substr(content, 1, 15) = '{"type":"usage"'"""
_IS_TASKS: Final = """instr(content, '"type":"task"')"""
_IS_SUMMARY: Final = """substr(aside, 1, 17) = '{"kind":"summary"'"""

# The condition that an event announces or ends a tool call. Contents of tool calls begin with the id of the call, which
# is quick to compare. No index has this condition.
_IS_CALL: Final = """substr(content, 1, 6) = '{"id":' AND (instr(content, '"type":"toolCallRun"')
    OR instr(content, '"type":"toolCalled"') OR instr(content, '"type":"toolCallRejected"'))"""

# The fields of `ChatRow` that are numbers; those that only the second set has may be None. All others are texts.
_NUMBERS: Final = frozenset({"created", "updated", "last", "prompts"})
_ALL_NUMBERS: Final = _NUMBERS | {"trust", "cut_from", "cut_to"}

# Worked out once, because a list has thousands of chats.
_CHAT_FIELDS: Final = tuple(field.name for field in fields(ChatRow))
_OUTCOMES: Final = frozenset(Outcome)

UNREADABLE_EVENT: Final = '{"type":"text","text":"A part of this chat cannot be read: it is damaged."}'
"""The content of an event in the place of one that cannot be read."""

_log = logging.getLogger(__name__)

# A sequence number behind all events.
_MAX_SEQ: Final = 2**62

# The beginning of the name of a counter which says that the rows of a file were stored.
_STORED_FILE: Final = "stored "

# Selects the columns of chats in the order of the fields of `ChatRow`. See `SqlDialect` for `owner`.
_SELECT_CHATS: Final = f"""
    SELECT id, created, updated, title, model, {{owner}},
        (SELECT coalesce(max(seq), 0) FROM events WHERE chat = id),
        (SELECT count(*) FROM events WHERE chat = id AND {_IS_PROMPT}),
        agent, variant, trust, cut_from, cut_to, workspace, parent, folder, notebook,
        (SELECT outcome FROM events WHERE chat = id AND outcome IS NOT NULL ORDER BY seq DESC LIMIT 1)
    FROM chats
"""  # noqa: S608  # words of ours


# The errors of an event that can never be stored, however often it is tried: a number is out of range, or a value has a
# type that no model allows. All other bad texts are repaired by `StoreConnection`.
_UNSTORABLE: Final = (
    ValueError,
    TypeError,
    OverflowError,
    sqlite3.DataError,
    sqlite3.InterfaceError,
    sqlite3.ProgrammingError,
)


@dataclass(frozen=True, slots=True)
class RefusedWrite:
    """An event, selection or cost of a chat that can never be stored."""

    chat: str
    """The id of the chat."""
    reason: str
    """The error, for the log and the user."""


@dataclass(frozen=True, slots=True)
class WriteResult:
    """The result of `Tables.write`: what was stored, and what was refused."""

    events: list[Event]
    """All events in their order, with their sequence numbers; 0 for an event that was refused."""
    refused: list[RefusedWrite]
    """What was not stored."""


# By table: the columns that, together with the path of the notebook or file, no two of its rows have in common.
_UNIQUE_KEYS: Final = {"asked_in": ("workspace", "chat"), "checkpoints": ("chat", "turn")}

# Selects the row of one option of the agent of a chat.
_ONE_OPTION: Final = "chat = ? AND agent = ? AND option = ?"


class Tables:
    """Reads and writes the database. `workspace` and `owner` are those of the store, see `Store`."""

    def __init__(self, db: DatabaseConnection, workspace: str, owner: str) -> None:
        self._db = db
        self._select_chats = _SELECT_CHATS.replace("{owner}", db.dialect.owner)
        self._workspace = workspace
        self._owner = owner
        self.messages = MessageIndex(db, workspace)
        """Finds chats by their messages."""
        self.choices = Choices(db, workspace)
        """What the user has chosen for new chats."""
        self.notebook_rules = StoredNotebookRules(db, workspace)
        """The approval rules of notebooks."""

    # -- events and the rows of their chats

    def write(
        self,
        events: Sequence[Event],
        selections: Mapping[str, StoredSelection],
        costs: Sequence[Spending] = (),
        files: Sequence[str] = (),
        *,
        late: int = 0,
    ) -> WriteResult:
        """Store events, and return them with their sequence numbers.

        `selections` are the settings of the next turns of chats, by chat, and `costs` are those of requests. If some of
        the events and costs come from files of unsaved events, `files` are the names of these files, see
        `is_file_stored`. The first `late` events were shown before without a number, because they could not be stored
        then. A client that comes back with an older number cannot know which of these events it has seen. So the chat
        is marked as cut (`cut_from` to `cut_to`), and the client is shown the whole chat.
        """
        stored: list[Event] = []
        refused: list[RefusedWrite] = []
        late_chats = list(dict.fromkeys(event.chat for event in events[:late]))
        try:
            with transaction(self._db):
                for chat in late_chats:
                    newest = "(SELECT coalesce(max(seq), 0) FROM events WHERE chat = id)"
                    self._db.execute(
                        f"UPDATE chats SET cut_from = CASE WHEN cut_from < {newest} THEN cut_from ELSE {newest} END"  # noqa: S608  # words of ours
                        " WHERE id = ?",
                        (chat,),
                    )
                for event in events:
                    try:
                        stored.append(event.model_copy(update={"seq": self._insert(event)}))
                    except _UNSTORABLE as error:
                        stored.append(event)
                        refused.append(RefusedWrite(event.chat, repr(error)))
                for chat in late_chats:
                    self._db.execute(
                        "UPDATE chats SET cut_to = (SELECT max(seq) FROM events WHERE chat = id) WHERE id = ?", (chat,)
                    )
                for chat, selection in selections.items():
                    try:
                        self._store_selection(chat, selection)
                    except _UNSTORABLE as error:
                        refused.append(RefusedWrite(chat, repr(error)))
                for spending in costs:
                    try:
                        add_spending(self._db, (spending,))
                    except _UNSTORABLE as error:
                        refused.append(RefusedWrite(spending.chat, repr(error)))
                for name in files:
                    self._db.execute(
                        "INSERT INTO counters (name, value) VALUES (?, 1) ON CONFLICT (name) DO NOTHING",
                        (f"{_STORED_FILE}{name}",),
                    )
        except UnknownCommit as error:
            error.written = WriteResult(stored, refused)
            raise
        return WriteResult(stored, refused)

    def is_file_stored(self, name: str) -> bool:
        """Return whether the rows of a file of unsaved events (`unsaved_file`) were stored, by this or another process.
        A row of `counters` says so. `write` adds it in the transaction that stores the events, because the file is
        deleted only after the transaction, and a process can be killed in between."""
        query = "SELECT count(*) FROM counters WHERE name = ?"
        (count,) = self._db.execute(query, (f"{_STORED_FILE}{name}",)).fetchone()
        return count > 0

    def mark_shown(self, events: Sequence[Event]) -> None:
        """Note that stored events were shown before without their numbers: their chats are marked as cut. See `write`
        for the reason."""
        for chat in dict.fromkeys(event.chat for event in events):
            numbers = [event.seq for event in events if event.chat == chat]
            query = "SELECT coalesce(max(seq), 0) FROM events WHERE chat = ? AND seq < ?"
            (before,) = self._db.execute(query, (chat, min(numbers))).fetchone()
            self._db.execute(
                "UPDATE chats SET cut_from = CASE WHEN cut_from < ? THEN cut_from ELSE ? END, cut_to = ? WHERE id = ?",
                (before, before, max(numbers), chat),
            )

    def _insert(self, event: Event) -> int:
        """Insert an event, update the row of its chat, and return the event's number."""
        content = _dump_content(event)
        aside = _ASIDE.dump_json(event.aside, by_alias=True).decode() if event.aside else ""
        by = event.by.model_dump_json(by_alias=True) if event.by else None
        seq = self._db.insert(
            'INSERT INTO events (chat, turn, role, at, content, aside, outcome, local, "by")'
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (event.chat, event.turn, event.role, event.at, content, aside, event.outcome, event.local, by),
            "seq",
        )
        if event.role is Role.USER or event.is_message or isinstance(event.content, MetadataContent) or event.outcome:
            self._update_chat(event)
        return seq

    def probe(self) -> None:
        """Write a counter, to find out whether anything can be written."""
        self._db.execute(
            "INSERT INTO counters (name, value) VALUES ('probe', 1)"
            " ON CONFLICT (name) DO UPDATE SET value = counters.value + 1"
        )

    def _update_chat(self, event: Event) -> None:
        """Update the row of an event's chat. Its first prompt makes the row. This process owns it while a turn runs."""
        title = event.content.title if isinstance(event.content, MetadataContent) else None
        if not event.turn:
            self._db.execute("UPDATE chats SET title = coalesce(?, title) WHERE id = ?", (title, event.chat))
            return
        owner = None if event.outcome else self._owner
        self._db.execute(
            "INSERT INTO chats (id, workspace, created, updated, title, owner) VALUES (?, ?, ?, ?, ?, ?)"
            " ON CONFLICT (id) DO UPDATE SET updated = excluded.updated, title = coalesce(excluded.title, chats.title),"
            " owner = excluded.owner",
            (event.chat, self._workspace, event.at, event.at, title, owner),
        )

    def _store_selection(self, chat: str, selected: StoredSelection) -> None:
        """Store a selection as a whole, so that the variant of another model does not stay."""
        self._db.execute(
            "UPDATE chats SET model = ?, agent = ?, variant = ?, trust = ?, folder = ?,"
            " notebook = coalesce(notebook, ?) WHERE id = ?",
            (*_list_column_values(selected), chat),
        )

    def read_events(self, chat: str, after: int, before: int | None = None, *, strict: bool = False) -> list[Event]:
        """Return the events between the sequence numbers `after` and `before` in their order, without the two events
        themselves. Without `before`, they go up to the last one.

        An event that cannot be understood, because it is damaged or was written by a newer version, becomes a text that
        says so. So the rest of the chat is shown. Raises: ValueError in its place if `strict`.
        """
        rows = self._db.execute(
            'SELECT seq, turn, role, at, content, aside, outcome, local, "by" FROM events WHERE chat = ? AND seq > ?'
            " AND seq < ? ORDER BY seq",
            (chat, after, before or _MAX_SEQ),
        )
        read = _parse_event if strict else _read_event
        return [read(chat, _EventRow(*row)) for row in rows]

    def read_newest(self, chat: str, limit: int, before: int | None) -> tuple[list[Event], int]:
        """Return the newest events, or those before a sequence number, and how many events come before them.

        They are at least `limit` events, if the chat has so many, and begin with the beginning of a turn.
        """
        # The event that is `limit` events before the end. From there, the beginning of its turn is looked up.
        row = self._db.execute(
            "SELECT seq, turn FROM events WHERE chat = ? AND seq < ? ORDER BY seq DESC LIMIT 1 OFFSET ?",
            (chat, before or _MAX_SEQ, limit - 1),
        ).fetchone()
        if row is None:
            return self.read_events(chat, 0, before), 0
        seq, turn = row
        first = self._find_first_of_turn(chat, turn, seq) if turn else seq
        (earlier,) = self._db.execute(
            "SELECT count(*) FROM events WHERE chat = ? AND seq < ?", (chat, first)
        ).fetchone()
        return self.read_events(chat, first - 1, before), earlier

    def _find_first_of_turn(self, chat: str, turn: str, seq: int) -> int:
        """Return the sequence number of the first event of a turn. `seq` is that of any event of the turn.

        No index has the turns of all events. But an index has the prompts. So the search begins at the first prompt of
        the turn, or at `seq` if it has no prompt, and goes backwards to the newest event of another turn. The first
        event of the turn is the next one after that.
        """
        (start,) = self._db.execute(
            f"SELECT coalesce(min(seq), ?) FROM events WHERE chat = ? AND turn = ? AND {_IS_PROMPT}",  # noqa: S608
            (seq, chat, turn),
        ).fetchone()
        before = self._db.execute(
            "SELECT seq FROM events WHERE chat = ? AND seq < ? AND turn NOT IN (?, '') ORDER BY seq DESC LIMIT 1",
            (chat, start, turn),
        ).fetchone()
        (first,) = self._db.execute(
            "SELECT seq FROM events WHERE chat = ? AND seq > ? AND turn = ? ORDER BY seq LIMIT 1",
            (chat, before[0] if before else 0, turn),
        ).fetchone()
        return first

    def count_events(self, chat: str) -> int:
        """Return how many events a chat has."""
        return self._db.execute("SELECT count(*) FROM events WHERE chat = ?", (chat,)).fetchone()[0]

    def has_event(self, chat: str, seq: int) -> bool:
        """Return whether a chat has an event with this sequence number."""
        return self._db.execute("SELECT 1 FROM events WHERE chat = ? AND seq = ?", (chat, seq)).fetchone() is not None

    def find_last_summary(self, chat: str) -> int | None:
        """Return the sequence number of the last summary, which replaces all events before it for the model. None if
        there is none."""
        query = f"SELECT max(seq) FROM events WHERE chat = ? AND {_IS_SUMMARY}"  # noqa: S608  # words of ours
        return self._db.execute(query, (chat,)).fetchone()[0]

    def read_last_usage(self, chat: str, before: int) -> UsageContent | None:
        """Return the last usage before the event with the sequence number `before`, None when there is none."""
        contents = (event.content for event in self._find_backwards(chat, before, _IS_USAGE))
        return next((content for content in contents if isinstance(content, UsageContent)), None)

    def read_last_tasks(self, chat: str, before: int) -> TaskDetails | None:
        """Return the last list of tasks before the event with the sequence number `before`, None when there is none."""
        for event in self._find_backwards(chat, before, _IS_TASKS):
            if isinstance(event.content, ToolCalledContent) and isinstance(event.content.details, TaskDetails):
                return event.content.details
        return None

    def _find_backwards(self, chat: str, before: int, condition: str) -> Iterator[Event]:
        """Yield the events before the sequence number `before` for which a condition is true, the newest first."""
        query = f"SELECT seq FROM events WHERE chat = ? AND seq < ? AND {condition} ORDER BY seq DESC"  # noqa: S608
        for (seq,) in self._db.execute(query, (chat, before)):
            yield self.read_events(chat, seq - 1, seq + 1)[0]

    def list_newest_calls(self, chats: Collection[str], limit: int, span: int) -> list[Event]:
        """Return the events that announce or end the tool calls of chats, the newest first, at most `limit` of them.
        Only the newest `span` events of the database are searched."""
        rows = self._db.execute(
            'SELECT chat, seq, turn, role, at, content, aside, outcome, local, "by" FROM events'  # noqa: S608
            f" WHERE seq > (SELECT coalesce(max(seq), 0) - ? FROM events) AND {_IS_CALL}"
            f" AND chat {self._db.dialect.listed} ORDER BY seq DESC LIMIT ?",
            (span, json.dumps([*chats]), limit),
        )
        return [_read_event(chat, _EventRow(*row)) for chat, *row in rows]

    def list_flags(self, chat: str) -> list[Event]:
        """Return the events that are flags, which the user has set on messages."""
        query = f"SELECT seq FROM events WHERE chat = ? AND {_IS_FLAG} ORDER BY seq"  # noqa: S608  # words of ours
        return [self.read_events(chat, seq - 1, seq + 1)[0] for (seq,) in self._db.execute(query, (chat,)).fetchall()]

    def read_chat(self, id: str, *, with_deleted: bool = False) -> ChatRow | None:
        """Return the row of a chat; None when there is none. A chat that is marked as deleted counts only
        `with_deleted`."""
        where = "WHERE id = ?" if with_deleted else "WHERE id = ? AND deleted IS NULL"
        return next(iter(self._read_rows(where, id)), None)

    def list_chats(self) -> list[ChatRow]:
        """Return the chats of this workspace without those of subagents, the last used first."""
        return self._read_rows(
            "WHERE workspace = ? AND parent IS NULL AND deleted IS NULL ORDER BY updated DESC", self._workspace
        )

    def add_subagent_chat(self, chat: str, parent: str, at: int) -> bool:
        """Add the row of a subagent's chat, which begins at the time `at` in milliseconds since the epoch. Return False
        when a chat has that id already."""
        row = self._db.execute(
            "INSERT INTO chats (id, workspace, created, updated, parent) VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
            (chat, self._workspace, at, at, parent),
        )
        return row.rowcount == 1

    def list_subagents(self, parent: str) -> list[ChatRow]:
        """Return the chats of a chat's subagents, the oldest first."""
        return self._read_rows("WHERE parent = ? ORDER BY created", parent)

    def list_chat_ids(self) -> list[str]:
        """Return the ids of all chats of all workspaces."""
        return [chat for (chat,) in self._db.execute("SELECT id FROM chats")]

    def _read_rows(self, where: str, value: str) -> list[ChatRow]:
        """Return the chats that a WHERE clause selects. `value` is its parameter."""
        return [_make_chat_row(row) for row in self._db.execute(self._select_chats + where, (value,))]

    # -- deleting and copying chats

    def delete_events(self, chat: str, seqs: Collection[int]) -> None:
        """Delete events of a chat, and note in its row which part was cut: from the first deleted event (`cut_from`) to
        the newest event (`cut_to`). See `ChatRow.is_intact_up_to`."""
        if not seqs:
            return
        with transaction(self._db):
            self._db.execute(
                "UPDATE chats SET cut_from = CASE WHEN cut_from < ? THEN cut_from ELSE ? END,"
                " cut_to = (SELECT max(seq) FROM events WHERE chat = id) WHERE id = ?",
                (min(seqs), min(seqs), chat),
            )
            self.messages.forget(chat)
            self._db.executemany("DELETE FROM events WHERE chat = ? AND seq = ?", ((chat, seq) for seq in seqs))
            # The outside agent knows the deleted events, so its session must not be resumed.
            self._db.execute("DELETE FROM agent_sessions WHERE chat = ?", (chat,))

    def delete_chat(self, chat: str) -> None:
        """Delete a chat and the chats of its subagents. Their costs stay."""
        for row in self.list_subagents(chat):
            self.delete_chat(row.id)
        with transaction(self._db):
            self.messages.forget(chat)
            for statement in (
                "DELETE FROM events WHERE chat = ?",
                "DELETE FROM checkpoints WHERE chat = ?",
                "DELETE FROM cell_checkpoints WHERE chat = ?",
                "DELETE FROM notes WHERE chat = ?",
                "DELETE FROM asked_in WHERE chat = ?",
                "DELETE FROM system_prompts WHERE chat = ?",
                "DELETE FROM agent_sessions WHERE chat = ?",
                "DELETE FROM agent_options WHERE chat = ?",
                "DELETE FROM chats WHERE id = ?",
            ):
                self._db.execute(statement, (chat,))

    def mark_deleted(self, chat: str, at: int) -> None:
        """Mark a chat as deleted at a time, in milliseconds since the epoch. See `unmark_deleted`."""
        self._db.execute("UPDATE chats SET deleted = ? WHERE id = ?", (at, chat))

    def unmark_deleted(self, chat: str) -> bool:
        """Bring back a chat that is marked as deleted. Return False when there is no such chat in this workspace."""
        query = "UPDATE chats SET deleted = NULL WHERE id = ? AND workspace = ? AND deleted IS NOT NULL"
        return self._db.execute(query, (chat, self._workspace)).rowcount == 1

    def delete_marked(self, chat: str) -> None:
        """Delete a chat if it is marked as deleted."""
        if self._db.execute("SELECT 1 FROM chats WHERE id = ? AND deleted IS NOT NULL", (chat,)).fetchone():
            self.delete_chat(chat)

    def list_deleted(self) -> dict[str, int]:
        """Return when the chats of this workspace that are marked as deleted were deleted, by their ids."""
        query = "SELECT id, deleted FROM chats WHERE workspace = ? AND deleted IS NOT NULL"
        return dict(self._db.execute(query, (self._workspace,)).fetchall())

    def delete_unused(self, before: int, is_alive: Callable[[str | None], bool]) -> list[str]:
        """Delete the chats of this workspace that were last used before a time, and return their ids.

        `before` is in milliseconds since the epoch. A chat stays if its owner is alive (`is_alive`): a process answers
        in it.
        """
        owner = self._db.dialect.owner
        unused = f"SELECT id, {owner} FROM chats WHERE workspace = ? AND updated < ? AND parent IS NULL"  # noqa: S608  # ours
        rows = self._db.execute(unused, (self._workspace, before)).fetchall()
        deleted = [chat for chat, owner in rows if not is_alive(owner)]
        for chat in deleted:
            self.delete_chat(chat)
        return deleted

    def copy_chat(self, chat: str, last: int, new_id: str, title: str, at: int) -> None:
        """Copy a chat with its events up to the sequence number `last` to a new chat with the id `new_id`, and
        another title. `at` is the time of the copy in milliseconds since the epoch."""
        with transaction(self._db):
            self._db.execute(
                "INSERT INTO chats"
                " (id, workspace, created, updated, title, model, agent, variant, trust, folder, notebook)"
                " SELECT ?, workspace, ?, ?, ?, model, agent, variant, trust, folder, notebook"
                " FROM chats WHERE id = ?",
                (new_id, at, at, title, chat),
            )
            self._db.execute(
                'INSERT INTO events (chat, turn, role, at, content, aside, outcome, local, "by")'
                ' SELECT ?, turn, role, at, content, aside, outcome, local, "by" FROM events'
                " WHERE chat = ? AND seq <= ? ORDER BY seq",
                (new_id, chat, last),
            )
            self._db.execute(
                "INSERT INTO events (chat, turn, role, at, content, aside) VALUES (?, '', ?, ?, ?, '')",
                (new_id, Role.SYSTEM, at, MetadataContent(title=title).model_dump_json(by_alias=True)),
            )
            self._db.execute(
                "INSERT INTO system_prompts (chat, made_for, sections)"
                " SELECT ?, made_for, sections FROM system_prompts WHERE chat = ?",
                (new_id, chat),
            )

    # -- system prompts

    def save_system_prompt(self, chat: str, made_for: str, sections: str) -> None:
        """Save the system prompt of a chat. See `host.turn.system_prompt` for `made_for` and `sections`."""
        self._db.execute(
            "INSERT INTO system_prompts (chat, made_for, sections) VALUES (?, ?, ?)"
            " ON CONFLICT (chat) DO UPDATE SET made_for = excluded.made_for, sections = excluded.sections",
            (chat, made_for, sections),
        )

    def read_system_prompt(self, chat: str) -> tuple[str, str] | None:
        """Return what the saved system prompt was made for, and its sections. None when there is none."""
        return self._db.execute("SELECT made_for, sections FROM system_prompts WHERE chat = ?", (chat,)).fetchone()

    # -- outside agents

    def save_agent_session(self, chat: str, row: AgentSessionRow) -> None:
        """Save the session of a chat's outside agent, in place of an earlier one. A chat that was deleted gets none."""
        self._db.execute(
            "INSERT INTO agent_sessions (chat, agent, folder, session, messages, parts, cost)"
            " SELECT id, ?, ?, ?, ?, ?, ? FROM chats WHERE id = ?"
            " ON CONFLICT (chat) DO UPDATE SET agent = excluded.agent, folder = excluded.folder,"
            " session = excluded.session, messages = excluded.messages, parts = excluded.parts, cost = excluded.cost",
            (row.agent, row.folder, row.session, *(row.sent or (None, None)), row.cost, chat),
        )

    def read_agent_session(self, chat: str) -> AgentSessionRow | None:
        """Return the saved session of a chat's outside agent; None when there is none."""
        query = "SELECT agent, folder, session, messages, parts, cost FROM agent_sessions WHERE chat = ?"
        if (row := self._db.execute(query, (chat,)).fetchone()) is None:
            return None
        agent, folder, session, messages, parts, cost = row
        return AgentSessionRow(agent, folder, session, None if messages is None else (messages, parts), cost)

    def save_agent_option(self, chat: str, agent: str, option: str, value: str, *, accepted: bool = False) -> None:
        """Save the value that the user has chosen in a chat for an option of an outside agent. `accepted` is whether
        the agent has taken the value."""
        self._db.execute(
            "INSERT INTO agent_options (chat, agent, option, value, accepted) VALUES (?, ?, ?, ?, ?)"
            " ON CONFLICT (chat, agent, option) DO UPDATE SET value = excluded.value,"
            " accepted = coalesce(excluded.accepted, agent_options.accepted)",
            (chat, agent, option, value, value if accepted else None),
        )

    def refuse_agent_option(self, chat: str, agent: str, option: str) -> str | None:
        """Forget a value that the outside agent has refused. Return the value that it has taken before, which is the
        chosen one again. None when the agent has accepted no value."""
        key = (chat, agent, option)
        self._db.execute(f"DELETE FROM agent_options WHERE {_ONE_OPTION} AND accepted IS NULL", key)  # noqa: S608
        self._db.execute(f"UPDATE agent_options SET value = accepted, accepted = NULL WHERE {_ONE_OPTION}", key)  # noqa: S608
        row = self._db.execute(f"SELECT value FROM agent_options WHERE {_ONE_OPTION}", key).fetchone()  # noqa: S608
        return row[0] if row else None

    def read_agent_options(self, chat: str, agent: str) -> dict[str, str]:
        """Return what the user has chosen in a chat for the options of an outside agent, in the order of choosing."""
        query = "SELECT option, value FROM agent_options WHERE chat = ? AND agent = ? ORDER BY rowid"
        return dict(self._db.execute(query, (chat, agent)).fetchall())

    # -- costs

    def sum_spending(self, cost_filter: CostFilter) -> Total:
        """Return the sum over the requests that `cost_filter` selects."""
        return sum_spending(self._db, cost_filter)

    # -- data of fronts

    def reserve_numbers(self, name: str, least: int, count: int) -> int:
        """Reserve `count` numbers of a counter, which no other caller gets, in this or in another process. Return the
        first of them, which is at least `least`."""
        (value,) = self._db.execute(
            "INSERT INTO counters (name, value) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET"
            " value = CASE WHEN counters.value > ? THEN counters.value ELSE ? END + ? RETURNING value",
            (name, least + count, least, least, count),
        ).fetchone()
        return value - count

    def save_note(self, chat: str, note: str) -> None:
        """Save a text that a front keeps for a chat besides the events. The chat need not exist yet."""
        self._db.execute(
            "INSERT INTO notes (chat, workspace, note) VALUES (?, ?, ?)"
            " ON CONFLICT (chat) DO UPDATE SET note = excluded.note",
            (chat, self._workspace, note),
        )

    def read_notes(self) -> dict[str, str]:
        """Return the texts that fronts keep in this workspace, by chat."""
        rows = self._db.execute("SELECT chat, note FROM notes WHERE workspace = ?", (self._workspace,))
        return dict(rows.fetchall())

    def link_notebook(self, notebook: str, chat: str) -> None:
        """Note that a kernel of a notebook asks in a chat. The chat need not exist yet."""
        self._db.execute(
            "INSERT INTO asked_in (workspace, notebook, chat) VALUES (?, ?, ?) ON CONFLICT DO NOTHING",
            (self._workspace, notebook, chat),
        )

    def list_linked_chats(self, notebook: str) -> list[str]:
        """Return the ids of the existing chats that kernels of a notebook ask in."""
        query = (
            "SELECT chat FROM asked_in JOIN chats ON id = chat WHERE asked_in.workspace = ? AND asked_in.notebook = ?"
        )
        return [chat for (chat,) in self._db.execute(query, (self._workspace, notebook))]

    def list_notebook_ids(self) -> dict[str, str]:
        """Return the ids of notebooks by path."""
        query = "SELECT notebook, id FROM notebook_ids WHERE workspace = ?"
        return dict(self._db.execute(query, (self._workspace,)).fetchall())

    def keep_notebook_id(self, notebook: str, id: str, *, replace: bool = False) -> str:
        """Keep the id of a notebook. If the notebook has one already, the old id stays, except with `replace`. Return
        the id that is kept."""
        conflict = "DO UPDATE SET id = excluded.id" if replace else "DO NOTHING"
        key = self._workspace, notebook
        self._db.execute(
            "INSERT INTO notebook_ids (workspace, notebook, id) VALUES (?, ?, ?)"  # noqa: S608  # words of ours
            f" ON CONFLICT (workspace, notebook) {conflict}",
            (*key, id),
        )
        (kept,) = self._db.execute("SELECT id FROM notebook_ids WHERE workspace = ? AND notebook = ?", key).fetchone()
        return kept

    def move_notebook(self, old_path: str, new_path: str, real_paths: tuple[str, str]) -> None:
        """Let the chats of a notebook, or of all notebooks in a folder, belong to its new path, with what can be undone
        in it and with its costs. `old_path` and `new_path` are paths of Jupyter's contents, and `real_paths` are both
        as absolute paths of files."""
        of_workspace = "workspace = ?"
        of_chats = "chat IN (SELECT id FROM chats WHERE workspace = ?)"
        with transaction(self._db):
            for table, column, condition, (old, new), separator in (
                ("chats", "notebook", of_workspace, (old_path, new_path), "/"),
                ("asked_in", "notebook", of_workspace, (old_path, new_path), "/"),
                ("notebook_ids", "notebook", of_workspace, (old_path, new_path), "/"),
                ("cell_checkpoints", "path", of_chats, (old_path, new_path), "/"),
                ("checkpoints", "path", of_chats, real_paths, os.sep),
                ("spending", "notebook", of_chats, real_paths, os.sep),
            ):
                moved = f"{condition} AND ({column} = ? OR substr({column}, 1, ?) = ?)"
                moved_values = (self._workspace, old, len(old) + 1, f"{old}{separator}")
                move, new_values = "? || substr({}, ?)".format, (new, len(old) + 1)
                if table == "notebook_ids":
                    # If the moved notebook replaces another one at the new path, the id of the moved one counts.
                    self._db.execute(
                        f"DELETE FROM notebook_ids WHERE workspace = ? AND notebook IN"  # noqa: S608  # names of ours
                        f" (SELECT {move(column)} FROM notebook_ids WHERE {moved})",
                        (self._workspace, *new_values, *moved_values),
                    )
                elif keys := _UNIQUE_KEYS.get(table):
                    # If the new path has a row with the same keys already, the row of the old path is not moved.
                    is_same = " AND ".join(f"taken.{key} = {table}.{key}" for key in keys)
                    is_same = f"{is_same} AND taken.{column} = {move(f'{table}.{column}')}"
                    moved = f"{moved} AND NOT EXISTS (SELECT 1 FROM {table} AS taken WHERE {is_same})"  # noqa: S608  # ours
                    moved_values = (*moved_values, *new_values)
                self._db.execute(
                    f"UPDATE {table} SET {column} = {move(column)} WHERE {moved}",  # noqa: S608  # names of ours
                    (*new_values, *moved_values),
                )

    # -- checkpoints of files

    def keep_checkpoint(self, chat: str, checkpoint: Checkpoint) -> bool:
        """Keep a file as it was before a turn. Only the first checkpoint of a file in a turn counts. Return whether
        this is the first one."""
        done = self._db.execute(
            "INSERT INTO checkpoints (chat, turn, path, before, after, review) VALUES (?, ?, ?, ?, ?, ?)"
            " ON CONFLICT DO NOTHING",
            (chat, checkpoint.turn, checkpoint.path, checkpoint.before, checkpoint.after, checkpoint.review),
        )
        if done.rowcount > 0:
            return True
        where_file, key = "WHERE chat = ? AND turn = ? AND path = ?", (chat, checkpoint.turn, checkpoint.path)
        (review,) = self._db.execute(f"SELECT review FROM checkpoints {where_file}", key).fetchone()  # noqa: S608  # ours
        merged = ReviewState(review).merge(checkpoint.review)
        self._db.execute(f"UPDATE checkpoints SET review = ? {where_file}", (merged, *key))  # noqa: S608  # ours
        if checkpoint.review in _UNSEEN:
            self._db.execute(f"UPDATE checkpoints SET decided = NULL {where_file}", key)  # noqa: S608  # ours
        return False

    def set_review_state(self, chat: str, turn: str, path: str, review: ReviewState) -> None:
        """Set the review state of what a turn has changed in a file."""
        self._db.execute(
            "UPDATE checkpoints SET review = ? WHERE chat = ? AND turn = ? AND path = ?", (review, chat, turn, path)
        )

    def find_unseen(self) -> UnseenChange | None:
        """Return a change that was made without approval, and that the user has neither seen nor decided about; None
        when there is none. It was made in this workspace, or in one that contains it or lies in it."""
        # The folders are equal, or one is the beginning of the other.
        of_workspace = (
            "chat IN (SELECT id FROM chats WHERE substr(?, 1, length(workspace) + 1) = workspace || '/'"
            " OR substr(workspace || '/', 1, ?) = ?) AND review IN (?, ?) ORDER BY id DESC LIMIT 1"
        )
        folder = f"{self._workspace}/"
        parameters = (folder, len(folder), folder, *_UNSEEN)
        found = (
            self._db.execute(
                f"SELECT path FROM checkpoints WHERE decided IS NULL AND {of_workspace}",  # noqa: S608  # ours
                parameters,
            ).fetchone()
            or self._db.execute(
                f"SELECT path FROM cell_checkpoints WHERE decided = '{{}}' AND {of_workspace}",  # noqa: S608  # ours
                parameters,
            ).fetchone()
        )
        if found is None:
            return None
        last = "SELECT (SELECT max(id) FROM checkpoints), (SELECT max(id) FROM cell_checkpoints)"
        last_file_row, last_cell_row = self._db.execute(last).fetchone()
        return UnseenChange(found[0], last_file_row or 0, last_cell_row or 0)

    def mark_seen(self, chat: str, unseen: UnseenChange) -> None:
        """Note that the user has seen the changes up to these rows, and all changes of a chat."""
        for table, row in (("checkpoints", unseen.last_file_row), ("cell_checkpoints", unseen.last_cell_row)):
            for before, after in _STATE_WHEN_SEEN.items():
                self._db.execute(
                    f"UPDATE {table} SET review = ? WHERE review = ? AND (chat = ? OR id <= ?)"  # noqa: S608  # ours
                    " AND chat IN (SELECT id FROM chats WHERE workspace = ?)",
                    (after, before, chat, row, self._workspace),
                )

    def drop_unkept(self, chat: str, turn: str, paths: Iterable[str]) -> None:
        """Delete those checkpoints of these files that have no content, because it could not be kept (UNKEPT)."""
        statement = "DELETE FROM checkpoints WHERE chat = ? AND turn = ? AND path = ? AND after = ?"
        self._db.executemany(statement, [(chat, turn, path, UNKEPT) for path in paths])

    def mark_if_changed(self, chat: str, turn: str, path: str, digest: str) -> None:
        """Mark a checkpoint as CHANGED if somebody else has changed the file since the turn changed it. Called before
        the turn changes the file once more. `digest` is that of the file now."""
        self._db.execute(
            "UPDATE checkpoints SET after = ? WHERE chat = ? AND turn = ? AND path = ? AND after NOT IN (?, ?)",
            (CHANGED, chat, turn, path, digest, UNKEPT),
        )

    def record_digest(self, chat: str, turn: str, path: str, digest: str) -> None:
        """Note the digest of a file after a turn has changed it."""
        self._db.execute(
            "UPDATE checkpoints SET after = ? WHERE chat = ? AND turn = ? AND path = ?"
            " AND coalesce(after, '') NOT IN (?, ?)",
            (digest, chat, turn, path, UNKEPT, CHANGED),
        )

    def list_checkpoints(self, chat: str) -> list[Checkpoint]:
        """Return the checkpoints of files, in the order in which they were made."""
        rows = self._db.execute(
            "SELECT turn, path, before, after, decided, review FROM checkpoints WHERE chat = ? ORDER BY id", (chat,)
        )
        return [
            Checkpoint(*row, decided=decided and ChangeDecision(decided), review=ReviewState(review))
            for *row, decided, review in rows
        ]

    def record_file_decision(self, chat: str, path: str, turns: Collection[str], decided: ChangeDecision) -> None:
        """Note whether the user keeps or reverts what these turns changed in a file."""
        statement = "UPDATE checkpoints SET decided = ? WHERE chat = ? AND path = ? AND turn = ?"
        self._db.executemany(statement, [(decided, chat, path, turn) for turn in turns])

    def list_turns(self, chat: str) -> list[str]:
        """Return the turns of a chat in the order in which they began."""
        rows = self._db.execute(
            "SELECT turn FROM events WHERE chat = ? AND turn != '' GROUP BY turn ORDER BY min(seq)", (chat,)
        )
        return [turn for (turn,) in rows]

    def forget_checkpoints(self, chat: str, turns: Collection[str]) -> None:
        """Delete all checkpoints of these turns."""
        for table in ("checkpoints", "cell_checkpoints"):
            statement = f"DELETE FROM {table} WHERE chat = ? AND turn = ?"  # noqa: S608  # names of ours
            self._db.executemany(statement, [(chat, turn) for turn in turns])

    # -- checkpoints of cells

    def keep_cell_checkpoint(self, chat: str, checkpoint: CellCheckpoint) -> int:
        """Keep a change of cells, and return the number of its row. All changes are kept, in their order."""
        return self._db.insert(
            'INSERT INTO cell_checkpoints (chat, turn, path, undo, sources, "order", review)'
            " VALUES (?, ?, ?, ?, ?, ?, ?)",
            (
                chat,
                checkpoint.turn,
                checkpoint.path,
                checkpoint.undo,
                checkpoint.after,
                checkpoint.order,
                checkpoint.review,
            ),
            "id",
        )

    def set_sources_after(self, id: int, after: str | None) -> None:
        """Note the sources of the cells after a change, as JSON. `id` is the number of the checkpoint's row. None
        deletes the checkpoint, because nothing was changed."""
        if after is None:
            self._db.execute("DELETE FROM cell_checkpoints WHERE id = ?", (id,))
        else:
            self._db.execute("UPDATE cell_checkpoints SET sources = ? WHERE id = ?", (after, id))

    def list_sources_after(self, chat: str, turn: str, path: str) -> list[str]:
        """Return the sources of cells after each change that a turn made to a notebook, one JSON text for each change,
        in their order."""
        query = "SELECT sources FROM cell_checkpoints WHERE chat = ? AND turn = ? AND path = ? ORDER BY id"
        return [after for (after,) in self._db.execute(query, (chat, turn, path))]

    def list_cell_checkpoints(self, chat: str) -> list[CellCheckpoint]:
        """Return the checkpoints of cells, in the order in which they were made."""
        rows = self._db.execute(
            'SELECT turn, path, undo, sources, "order", decided, id, review FROM cell_checkpoints WHERE chat = ?'
            " ORDER BY id",
            (chat,),
        )
        return [CellCheckpoint(*row, review=ReviewState(review)) for *row, review in rows]

    def record_cell_decision(self, ids: Collection[int], cell: str, decided: ChangeDecision) -> None:
        """Note whether the user keeps or reverts what the checkpoints with these ids changed in a cell."""
        with transaction(self._db):
            for id in ids:
                query = "SELECT decided FROM cell_checkpoints WHERE id = ?"
                if (row := self._db.execute(query, (id,)).fetchone()) is not None:
                    decisions = json.dumps(
                        {**json.loads(row[0]), cell: decided}, ensure_ascii=False, separators=(",", ":")
                    )
                    self._db.execute("UPDATE cell_checkpoints SET decided = ? WHERE id = ?", (decisions, id))


def _make_chat_row(row: tuple[Any, ...]) -> ChatRow:
    """Return a chat from the columns of its row. A byte that was flipped on the disk may change the type of a value,
    which SQLite does not notice. Such a value is left out, so that the other chats are listed."""
    values = dict(zip(_CHAT_FIELDS, row, strict=True))
    for name, value in values.items():
        if name in _NUMBERS and not isinstance(value, int):
            values[name] = 0
        elif value is not None and not isinstance(value, int if name in _ALL_NUMBERS else str):
            values[name] = None
    if values["outcome"] not in _OUTCOMES:
        values["outcome"] = None
    return ChatRow(**values)


class _EventRow(NamedTuple):
    """The columns of an event, as `Tables.read_events` selects them."""

    seq: int
    """The sequence number."""
    turn: str
    """The id of the turn; "" for an event outside of all turns."""
    role: str
    """A `Role`."""
    at: int
    """The time in milliseconds since the epoch."""
    content: str
    """The content, as JSON."""
    aside: str
    """The aside, as JSON; "" for none."""
    outcome: str | None
    """How the turn has ended, if it ends with this event: an `Outcome`."""
    local: int
    """1 if no model reads the event, else 0."""
    by: str | None
    """The person who has caused the event, as JSON; None if that is not known."""


def _parse_event(chat: str, row: _EventRow) -> Event:
    """Return an event from the columns of its row. Raises: ValueError."""
    return Event(
        chat=chat,
        turn=row.turn,
        role=Role(row.role),
        content=_CONTENT.validate_json(row.content),
        at=row.at,
        seq=row.seq,
        aside=_ASIDE.validate_json(row.aside) if row.aside else None,
        outcome=Outcome(row.outcome) if row.outcome else None,
        local=bool(row.local),
        by=_parse_person(row.by),
    )


def _parse_person(by: object) -> Person | None:
    """Return the person of an event; None for none, and if the row is damaged. `by` is the column, which is JSON."""
    try:
        return Person.model_validate_json(by) if isinstance(by, str) and by else None
    except ValueError:
        return None


def _read_event(chat: str, row: _EventRow) -> Event:
    """Return an event from the columns of its row, or a text that it cannot be read."""
    try:
        return _parse_event(chat, row)
    except ValueError:
        _log.warning("event %d of the chat %s cannot be read", row.seq, chat, extra=LogFields(chat_id=chat))
        # An end of the turn stays one, so that the chat is not stuck.
        end = row.outcome if row.outcome in set(Outcome) else None
        return _parse_event(chat, _EventRow(row.seq, row.turn, Role.SYSTEM, 0, UNREADABLE_EVENT, "", end, 0, None))


def _list_column_values(selected: StoredSelection) -> tuple[str | bool | None, ...]:
    """Return the values of a selection in the order of the columns in `Tables._store_selection`."""
    places = selected.folder or None, selected.notebook or None
    return selected.model or None, selected.agent or None, selected.variant, selected.trust, *places


def _dump_content(event: Event) -> str:
    """Return the content of an event as the JSON that is stored."""
    return event.content.model_dump_json(by_alias=True, exclude_none=True)
