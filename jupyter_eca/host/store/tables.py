"""The statements that write to the tables and read from them. Synchronous, on the store's own thread.

They must not know threads or subscribers: `store` does. The tables are made in `schema`.
"""

from __future__ import annotations

import sqlite3
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from pydantic import TypeAdapter

from jupyter_eca.engine.changes.revert import Decided
from jupyter_eca.host.store.rows import CHANGED, UNKEPT, CellCheckpoint, ChatRow, Checkpoint, StoredSelection
from jupyter_eca.host.store.spending import add_spending, sum_spending
from jupyter_eca.protocol.content import Content, MetadataContent, Role
from jupyter_eca.protocol.event import Aside, Event, Outcome

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Generator, Iterable, Mapping, Sequence

    from jupyter_eca.host.store.spending import Extent, Spending, Total

_CONTENT: Final[TypeAdapter[Content]] = TypeAdapter(Content)
_ASIDE: Final[TypeAdapter[Aside]] = TypeAdapter(Aside)

# How the aside of a summary begins.
_SUMMARY: Final = '{"kind":"summary"'

# Behind every event.
_NEVER: Final = 2**62

_ROWS: Final = """
    SELECT id, created, updated, title, model, owner,
        (SELECT coalesce(max(seq), 0) FROM events WHERE chat = id),
        (SELECT count(*) FROM events WHERE chat = id AND role = 'user' AND json_extract(content, '$.type') = 'text'),
        agent, variant, trust, cut_from, cut_to, workspace, parent, folder
    FROM chats
"""


# What an event raises that can never be stored, however often it is tried. `_Connection` leaves only numbers out of
# range, and what no model allows.
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
    """Something of a chat that can never be stored."""

    chat: str
    reason: str


@dataclass(frozen=True, slots=True)
class Written:
    """What came of storing events."""

    events: list[Event]
    """All of them in their order, with their sequence numbers; 0 for one that was refused."""
    refused: list[RefusedWrite]


class Tables:
    """Reads and writes one file, in the name of one process."""

    def __init__(self, db: sqlite3.Connection, workspace: str, owner: str) -> None:
        self._db = db
        self._workspace = workspace
        self._owner = owner

    @contextmanager
    def _all_or_nothing(self) -> Generator[None]:
        self._db.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            self._db.execute("ROLLBACK")
            raise
        self._db.execute("COMMIT")

    # -- events and the rows of their chats

    def write(
        self,
        events: Sequence[Event],
        selected: Mapping[str, StoredSelection],
        spent: Sequence[Spending] = (),
        *,
        late: int = 0,
    ) -> Written:
        """Store events, and return them with their sequence numbers.

        The first `late` of them were shown before without a number, because they could not be stored then. A client
        that comes back with an older number is shown the whole chat: it cannot tell them from events that it missed.
        """
        stored: list[Event] = []
        refused: list[RefusedWrite] = []
        late_chats = list(dict.fromkeys(event.chat for event in events[:late]))
        with self._all_or_nothing():
            for chat in late_chats:
                newest = "(SELECT coalesce(max(seq), 0) FROM events WHERE chat = id)"
                self._db.execute(
                    f"UPDATE chats SET cut_from = min(coalesce(cut_from, {newest}), {newest}) WHERE id = ?",  # noqa: S608  # words of ours
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
            for chat, selection in selected.items():
                try:
                    self._select(chat, selection)
                except _UNSTORABLE as error:
                    refused.append(RefusedWrite(chat, repr(error)))
            for one in spent:
                try:
                    add_spending(self._db, (one,))
                except _UNSTORABLE as error:
                    refused.append(RefusedWrite(one.chat, repr(error)))
        return Written(stored, refused)

    def _insert(self, event: Event) -> int | None:
        """Store an event and what the row of its chat has of it, and return its number."""
        content = _json(event)
        aside = _ASIDE.dump_json(event.aside, by_alias=True).decode() if event.aside else ""
        row = self._db.execute(
            "INSERT INTO events (chat, turn, role, at, content, aside, outcome, local) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            (event.chat, event.turn, event.role, event.at, content, aside, event.outcome, event.local),
        )
        if event.role is Role.USER or isinstance(event.content, MetadataContent) or event.outcome:
            self._note(event)
        return row.lastrowid

    def probe(self) -> None:
        """Write something, to find out whether anything can be written."""
        self._db.execute(
            "INSERT INTO counters (name, value) VALUES ('probe', 1) ON CONFLICT (name) DO UPDATE SET value = value + 1"
        )

    def wait_for_others(self, seconds: float) -> None:
        """Set how long a statement waits for another program that writes to the file."""
        self._db.execute(f"PRAGMA busy_timeout = {round(seconds * 1000)}")

    def _note(self, event: Event) -> None:
        """Keep the chat's row: made by its first prompt, owned while a turn runs."""
        title = event.content.title if isinstance(event.content, MetadataContent) else None
        if not event.turn:
            self._db.execute("UPDATE chats SET title = coalesce(?, title) WHERE id = ?", (title, event.chat))
            return
        owner = None if event.outcome else self._owner
        self._db.execute(
            "INSERT INTO chats (id, workspace, created, updated, title, owner) VALUES (?, ?, ?, ?, ?, ?)"
            " ON CONFLICT (id) DO UPDATE SET updated = excluded.updated, title = coalesce(excluded.title, title),"
            " owner = excluded.owner",
            (event.chat, self._workspace, event.at, event.at, title, owner),
        )

    def _select(self, chat: str, selected: StoredSelection) -> None:
        """Store all of it: the variant of another model must not stay."""
        self._db.execute(
            "UPDATE chats SET model = ?, agent = ?, variant = ?, trust = ?, folder = ? WHERE id = ?",
            (*_columns(selected), chat),
        )

    def events(self, chat: str, after: int, before: int | None = None) -> list[Event]:
        """Return the events between two sequence numbers, in order, without these two."""
        rows = self._db.execute(
            "SELECT seq, turn, role, at, content, aside, outcome, local FROM events WHERE chat = ? AND seq > ?"
            " AND seq < ? ORDER BY seq",
            (chat, after, before or _NEVER),
        )
        return [
            Event(
                chat=chat,
                turn=turn,
                role=Role(role),
                content=_CONTENT.validate_json(content),
                at=at,
                seq=seq,
                aside=_ASIDE.validate_json(aside) if aside else None,
                outcome=outcome and Outcome(outcome),
                local=bool(local),
            )
            for seq, turn, role, at, content, aside, outcome, local in rows
        ]

    def read_newest(self, chat: str, limit: int, before: int | None) -> tuple[list[Event], int]:
        """Return the newest events, or those before a place, and how many come before them.

        There are as many as `limit`, and more back to where a turn begins.
        """
        place = self._db.execute(
            "SELECT seq, turn FROM events WHERE chat = ? AND seq < ? ORDER BY seq DESC LIMIT 1 OFFSET ?",
            (chat, before or _NEVER, limit - 1),
        ).fetchone()
        if place is None:
            return self.events(chat, 0, before), 0
        first, earlier = self._db.execute(
            "SELECT first, (SELECT count(*) FROM events WHERE chat = ?1 AND seq < first) FROM"
            " (SELECT coalesce(min(seq), ?3) AS first FROM events WHERE chat = ?1 AND turn = ?2 AND turn != '')",
            (chat, place[1], place[0]),
        ).fetchone()
        return self.events(chat, first - 1, before), earlier

    def count_events(self, chat: str) -> int:
        """Return how many events a chat has."""
        return self._db.execute("SELECT count(*) FROM events WHERE chat = ?", (chat,)).fetchone()[0]

    def has(self, chat: str, seq: int) -> bool:
        """Return whether a chat has an event of this sequence number."""
        return self._db.execute("SELECT 1 FROM events WHERE chat = ? AND seq = ?", (chat, seq)).fetchone() is not None

    def last_summary(self, chat: str) -> int | None:
        """Return the sequence number of the last event that stands for all before it."""
        # The kind comes first as we write it. Parsing the JSON would read whole documents.
        query = "SELECT max(seq) FROM events WHERE chat = ? AND substr(aside, 1, ?) = ?"
        return self._db.execute(query, (chat, len(_SUMMARY), _SUMMARY)).fetchone()[0]

    def flags(self, chat: str) -> list[Event]:
        """Return the events that are flags."""
        asked = "SELECT seq FROM events WHERE chat = ? AND json_extract(content, '$.type') = 'flag' ORDER BY seq"
        return [self.events(chat, seq - 1, seq + 1)[0] for (seq,) in self._db.execute(asked, (chat,)).fetchall()]

    def chat(self, id: str) -> ChatRow | None:
        """Return the row of a chat, None when there is none."""
        return next(iter(self._rows("WHERE id = ?", id)), None)

    def chats(self) -> list[ChatRow]:
        """Return the chats of this workspace, the last used first, without those of subagents."""
        return self._rows("WHERE workspace = ? AND parent IS NULL ORDER BY updated DESC", self._workspace)

    def adopt(self, chat: str, parent: str, at: int) -> bool:
        """Make a subagent's chat. False when there is one of that id already."""
        made = self._db.execute(
            "INSERT OR IGNORE INTO chats (id, workspace, created, updated, parent) VALUES (?, ?, ?, ?, ?)",
            (chat, self._workspace, at, at, parent),
        )
        return made.rowcount == 1

    def subagents(self, parent: str) -> list[ChatRow]:
        """Return the chats of a chat's subagents, the oldest first."""
        return self._rows("WHERE parent = ? ORDER BY created", parent)

    def list_chat_ids(self) -> list[str]:
        """Return the ids of all chats, of whatever workspace."""
        return [chat for (chat,) in self._db.execute("SELECT id FROM chats")]

    def _rows(self, where: str, value: str) -> list[ChatRow]:
        return [ChatRow(*row) for row in self._db.execute(_ROWS + where, (value,))]

    # -- taking back

    def delete_events(self, chat: str, seqs: Collection[int]) -> None:
        """Delete events for good."""
        if not seqs:
            return
        with self._all_or_nothing():
            self._db.execute(
                "UPDATE chats SET cut_from = min(coalesce(cut_from, ?1), ?1),"
                " cut_to = (SELECT max(seq) FROM events WHERE chat = id) WHERE id = ?2",
                (min(seqs), chat),
            )
            self._db.executemany("DELETE FROM events WHERE chat = ? AND seq = ?", ((chat, seq) for seq in seqs))

    def delete(self, chat: str) -> None:
        """Delete a chat with the chats of its subagents."""
        for row in self.subagents(chat):
            self.delete(row.id)
        with self._all_or_nothing():
            for statement in (
                "DELETE FROM events WHERE chat = ?",
                "DELETE FROM checkpoints WHERE chat = ?",
                "DELETE FROM cell_checkpoints WHERE chat = ?",
                "DELETE FROM notes WHERE chat = ?",
                "DELETE FROM asked_in WHERE chat = ?",
                "DELETE FROM system_prompts WHERE chat = ?",
                "DELETE FROM chats WHERE id = ?",
            ):
                self._db.execute(statement, (chat,))

    def expire(self, before: int, alive: Callable[[str | None], bool]) -> list[str]:
        """Delete the chats of this workspace that were last used before then, and return their ids.

        `before` is in milliseconds since the epoch. Chats in which somebody `alive` answers stay.
        """
        old = "SELECT id, owner FROM chats WHERE workspace = ? AND updated < ? AND parent IS NULL"
        rows = self._db.execute(old, (self._workspace, before)).fetchall()
        gone = [chat for chat, owner in rows if not alive(owner)]
        for chat in gone:
            self.delete(chat)
        return gone

    def copy(self, chat: str, last: int, new: str, title: str, at: int) -> None:
        """Make a chat with the events of another up to `last`, and a title of its own."""
        with self._all_or_nothing():
            self._db.execute(
                "INSERT INTO chats (id, workspace, created, updated, title, model, agent, variant, trust, folder)"
                " SELECT ?1, workspace, ?3, ?3, ?2, model, agent, variant, trust, folder FROM chats WHERE id = ?4",
                (new, title, at, chat),
            )
            self._db.execute(
                "INSERT INTO events (chat, turn, role, at, content, aside, outcome, local)"
                " SELECT ?, turn, role, at, content, aside, outcome, local FROM events WHERE chat = ? AND seq <= ?"
                " ORDER BY seq",
                (new, chat, last),
            )
            self._db.execute(
                "INSERT INTO events (chat, turn, role, at, content, aside) VALUES (?, '', ?, ?, ?, '')",
                (new, Role.SYSTEM, at, MetadataContent(title=title).model_dump_json(by_alias=True)),
            )
            self._db.execute(
                "INSERT INTO system_prompts (chat, made_for, sections)"
                " SELECT ?, made_for, sections FROM system_prompts WHERE chat = ?",
                (new, chat),
            )

    # -- what the model was told at the beginning

    def pin(self, chat: str, made_for: str, sections: str) -> None:
        """Keep the system prompt that a chat began with."""
        self._db.execute("INSERT OR REPLACE INTO system_prompts VALUES (?, ?, ?)", (chat, made_for, sections))

    def read_pinned(self, chat: str) -> tuple[str, str] | None:
        """Return what the kept system prompt was made for, and its sections. None when there is none."""
        return self._db.execute("SELECT made_for, sections FROM system_prompts WHERE chat = ?", (chat,)).fetchone()

    # -- what was spent

    def sum_spending(self, extent: Extent) -> Total:
        """Sum what was spent."""
        return sum_spending(self._db, extent)

    # -- what a front keeps

    def reserve(self, name: str, least: int, many: int) -> int:
        """Return the first of so many numbers that nobody else is given, in this or in another process.

        None of them is below `least`.
        """
        (value,) = self._db.execute(
            "INSERT INTO counters (name, value) VALUES (?1, ?2 + ?3)"
            " ON CONFLICT (name) DO UPDATE SET value = max(value, ?2) + ?3 RETURNING value",
            (name, least, many),
        ).fetchone()
        return value - many

    def note(self, chat: str, note: str) -> None:
        """Keep what a front knows of a chat beside its events. The chat may be still to begin."""
        self._db.execute(
            "INSERT INTO notes (chat, workspace, note) VALUES (?, ?, ?)"
            " ON CONFLICT (chat) DO UPDATE SET note = excluded.note",
            (chat, self._workspace, note),
        )

    def notes(self) -> dict[str, str]:
        """Return what fronts keep in this workspace, by chat."""
        rows = self._db.execute("SELECT chat, note FROM notes WHERE workspace = ?", (self._workspace,))
        return dict(rows.fetchall())

    def ask_in(self, notebook: str, chat: str) -> None:
        """Keep that a kernel of the notebook asks in a chat, which may be still to begin."""
        self._db.execute("INSERT OR IGNORE INTO asked_in VALUES (?, ?, ?)", (self._workspace, notebook, chat))

    def list_asked_in(self, notebook: str) -> list[str]:
        """Return the chats that kernels of the notebook ask in, where they are not gone."""
        asked = "SELECT chat FROM asked_in JOIN chats ON id = chat WHERE asked_in.workspace = ? AND notebook = ?"
        return [chat for (chat,) in self._db.execute(asked, (self._workspace, notebook))]

    # -- files as they were

    def keep_checkpoint(self, chat: str, checkpoint: Checkpoint) -> bool:
        """Keep a file as it was. The first one of a turn counts: it is what the turn found. Return whether this is
        it."""
        done = self._db.execute(
            "INSERT OR IGNORE INTO checkpoints (chat, turn, path, before, after) VALUES (?, ?, ?, ?, ?)",
            (chat, checkpoint.turn, checkpoint.path, checkpoint.before, checkpoint.after),
        )
        return done.rowcount > 0

    def drop_unkept(self, chat: str, turn: str, paths: Iterable[str]) -> None:
        """Delete the checkpoints of files that could not be kept."""
        of_file = "DELETE FROM checkpoints WHERE chat = ? AND turn = ? AND path = ? AND after = ?"
        self._db.executemany(of_file, [(chat, turn, path, UNKEPT) for path in paths])

    def mark_found(self, chat: str, turn: str, path: str, now: str) -> None:
        """Compare a file before a turn changes it once more with what the turn left. `now` is its digest."""
        self._db.execute(
            "UPDATE checkpoints SET after = ? WHERE chat = ? AND turn = ? AND path = ? AND after NOT IN (?, ?)",
            (CHANGED, chat, turn, path, now, UNKEPT),
        )

    def mark_left(self, chat: str, turn: str, path: str, after: str) -> None:
        """Keep the digest of what a turn left of a file."""
        self._db.execute(
            "UPDATE checkpoints SET after = ? WHERE chat = ? AND turn = ? AND path = ?"
            " AND coalesce(after, '') NOT IN (?, ?)",
            (after, chat, turn, path, UNKEPT, CHANGED),
        )

    def checkpoints(self, chat: str) -> list[Checkpoint]:
        """Return the checkpoints of files, in the order in which they were made."""
        rows = self._db.execute(
            "SELECT turn, path, before, after, decided FROM checkpoints WHERE chat = ? ORDER BY id", (chat,)
        )
        return [Checkpoint(*row, decided=decided and Decided(decided)) for *row, decided in rows]

    def decide(self, chat: str, path: str, turns: Collection[str], decided: Decided) -> None:
        """Keep what comes of a file that these turns changed."""
        of_turn = "UPDATE checkpoints SET decided = ? WHERE chat = ? AND path = ? AND turn = ?"
        self._db.executemany(of_turn, [(decided, chat, path, turn) for turn in turns])

    def turns(self, chat: str) -> list[str]:
        """Return the turns of a chat in the order in which they began."""
        rows = self._db.execute(
            "SELECT turn FROM events WHERE chat = ? AND turn != '' GROUP BY turn ORDER BY min(seq)", (chat,)
        )
        return [turn for (turn,) in rows]

    def forget(self, chat: str, turns: Collection[str]) -> None:
        for table in ("checkpoints", "cell_checkpoints"):
            of_turn = f"DELETE FROM {table} WHERE chat = ? AND turn = ?"  # noqa: S608  # names of ours
            self._db.executemany(of_turn, [(chat, turn) for turn in turns])

    # -- cells as they were

    def keep_cells(self, chat: str, kept: CellCheckpoint) -> int:
        """Every change counts, in its order. Gives its number."""
        (id,) = self._db.execute(
            'INSERT INTO cell_checkpoints (chat, turn, path, undo, sources, "order") VALUES (?, ?, ?, ?, ?, ?)'
            " RETURNING id",
            (chat, kept.turn, kept.path, kept.undo, kept.left, kept.order),
        ).fetchone()
        return id

    def settle_cells(self, id: int, left: str | None) -> None:
        """The sources that were really left; None: nothing was changed."""
        if left is None:
            self._db.execute("DELETE FROM cell_checkpoints WHERE id = ?", (id,))
        else:
            self._db.execute("UPDATE cell_checkpoints SET sources = ? WHERE id = ?", (left, id))

    def cells_left(self, chat: str, turn: str, path: str) -> list[str]:
        """The sources that the changes of a turn left in a notebook, in their order."""
        of_turn = "SELECT sources FROM cell_checkpoints WHERE chat = ? AND turn = ? AND path = ? ORDER BY id"
        return [left for (left,) in self._db.execute(of_turn, (chat, turn, path))]

    def cell_checkpoints(self, chat: str) -> list[CellCheckpoint]:
        """Return the checkpoints of cells, in the order in which they were made."""
        rows = self._db.execute(
            'SELECT turn, path, undo, sources, "order", decided, id FROM cell_checkpoints WHERE chat = ? ORDER BY id',
            (chat,),
        )
        return [CellCheckpoint(*row) for row in rows]

    def decide_cell(self, ids: Collection[int], cell: str, decided: Decided) -> None:
        """Keep what comes of a cell that the checkpoints with these ids are about."""
        patch = "UPDATE cell_checkpoints SET decided = json_patch(decided, json_object(?, ?)) WHERE id = ?"
        self._db.executemany(patch, [(cell, decided, id) for id in ids])


def _columns(selected: StoredSelection) -> tuple[str | bool | None, ...]:
    return selected.model or None, selected.agent or None, selected.variant, selected.trust, selected.folder or None


def _json(event: Event) -> str:
    return event.content.model_dump_json(by_alias=True, exclude_none=True)
