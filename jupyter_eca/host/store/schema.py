"""Owns the tables of the database and its migrations, which bring a file of an older version up to date.

It must not read or write rows: `tables` does. One migration needs more than SQL: `old_asides` has its function.
"""

from __future__ import annotations

import sqlite3
import time
from typing import TYPE_CHECKING, Final

from jupyter_eca.errors import NewerStore
from jupyter_eca.host.store.connection import StoreConnection
from jupyter_eca.host.store.old_asides import mark_aside

if TYPE_CHECKING:
    from pathlib import Path

# The fields of the rows are explained in `rows`, `spending` and `protocol.event`.
MIGRATIONS: Final = (
    # 1. The chats and their events. `owner` is the process that answers in a chat now.
    """
    CREATE TABLE events (
        seq INTEGER PRIMARY KEY AUTOINCREMENT,
        chat TEXT NOT NULL, turn TEXT NOT NULL, role TEXT NOT NULL, at INTEGER NOT NULL,
        content TEXT NOT NULL, aside TEXT NOT NULL, outcome TEXT
    );
    CREATE INDEX events_of_chat ON events (chat, seq);
    CREATE TABLE chats (
        id TEXT PRIMARY KEY, workspace TEXT NOT NULL, created INTEGER NOT NULL, updated INTEGER NOT NULL,
        title TEXT, model TEXT, owner TEXT
    );
    CREATE INDEX chats_of_workspace ON chats (workspace, updated);
    """,
    # 2. Events that no model reads (`local`). What the next turns of a chat are run with. Which part of a chat was cut.
    # The files as they were before each turn.
    """
    ALTER TABLE events ADD COLUMN local INTEGER NOT NULL DEFAULT 0;
    ALTER TABLE chats ADD COLUMN agent TEXT;
    ALTER TABLE chats ADD COLUMN variant TEXT;
    ALTER TABLE chats ADD COLUMN trust INTEGER;
    ALTER TABLE chats ADD COLUMN cut_from INTEGER;
    ALTER TABLE chats ADD COLUMN cut_to INTEGER;
    CREATE TABLE checkpoints (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        chat TEXT NOT NULL, turn TEXT NOT NULL, path TEXT NOT NULL, before BLOB, after TEXT,
        UNIQUE (chat, turn, path)
    );
    """,
    # 3. The cells as they were before each change.
    """
    CREATE TABLE cell_checkpoints (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        chat TEXT NOT NULL, turn TEXT NOT NULL, path TEXT NOT NULL, undo TEXT NOT NULL, sources TEXT NOT NULL
    );
    CREATE INDEX cell_checkpoints_of_chat ON cell_checkpoints (chat, turn);
    """,
    # 4. Whether the user has kept or reverted a change.
    """
    ALTER TABLE checkpoints ADD COLUMN decided TEXT;
    ALTER TABLE cell_checkpoints ADD COLUMN decided TEXT NOT NULL DEFAULT '{}';
    ALTER TABLE cell_checkpoints ADD COLUMN "order" TEXT NOT NULL DEFAULT '[]';
    """,
    # 5. What fronts keep: numbers that all processes share, and a text for each chat.
    """
    CREATE TABLE counters (name TEXT PRIMARY KEY, value INTEGER NOT NULL);
    CREATE TABLE notes (chat TEXT PRIMARY KEY, workspace TEXT NOT NULL, note TEXT NOT NULL);
    """,
    # 6. The system prompt of each chat, and what it was composed for.
    """
    CREATE TABLE system_prompts (chat TEXT PRIMARY KEY, made_for TEXT NOT NULL, sections TEXT NOT NULL);
    """,
    # 7. The chats of subagents.
    """
    ALTER TABLE chats ADD COLUMN parent TEXT;
    CREATE INDEX chats_of_parent ON chats (parent);
    """,
    # 8. The costs of requests. Those of earlier requests are taken from the events.
    """
    CREATE TABLE spending (
        id INTEGER PRIMARY KEY AUTOINCREMENT, at INTEGER NOT NULL,
        chat TEXT NOT NULL, turn TEXT NOT NULL, notebook TEXT NOT NULL DEFAULT '', model TEXT NOT NULL DEFAULT '',
        tokens_in INTEGER NOT NULL, tokens_cached INTEGER NOT NULL DEFAULT 0, tokens_out INTEGER NOT NULL,
        cost REAL
    );
    CREATE INDEX spending_of_chat ON spending (chat);
    CREATE INDEX spending_of_notebook ON spending (notebook, at);
    CREATE INDEX spending_of_day ON spending (at);
    INSERT INTO spending (at, chat, turn, tokens_in, tokens_out, cost)
        SELECT at, chat, turn, json_extract(content, '$.messageInputTokens'),
            json_extract(content, '$.messageOutputTokens'), CAST(json_extract(content, '$.lastMessageCost') AS REAL)
        FROM (SELECT min(seq), at, chat, turn, content FROM events
            WHERE content LIKE '%"usage"%' AND json_extract(content, '$.type') = 'usage'
                AND json_extract(content, '$.replayed') IS NULL
            GROUP BY at, content);
    """,
    # 9. The chats in which the kernel of a notebook asks.
    """
    CREATE TABLE asked_in (
        workspace TEXT NOT NULL, notebook TEXT NOT NULL, chat TEXT NOT NULL, UNIQUE (workspace, notebook, chat)
    );
    CREATE INDEX asked_in_of_chat ON asked_in (chat);
    """,
    # 10. The aside of an event says what the event means to the model. It was a plain text, and gets a kind now. See
    # `old_asides`.
    """
    UPDATE events SET aside = mark_aside(turn, role, content, aside)
        WHERE aside != '' OR content LIKE '%"fetch_rule"%';
    """,
    # 11. The working directory of a chat.
    """
    ALTER TABLE chats ADD COLUMN folder TEXT;
    """,
    # 12. The notebook of a chat, and the search for messages.
    """
    ALTER TABLE chats ADD COLUMN notebook TEXT;
    UPDATE chats SET notebook = (
        SELECT notebook FROM spending WHERE chat = chats.id AND notebook != '' ORDER BY spending.id LIMIT 1
    );
    CREATE TABLE messages (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        chat TEXT NOT NULL, first INTEGER NOT NULL, last INTEGER NOT NULL, text TEXT NOT NULL
    );
    CREATE INDEX messages_of_chat ON messages (chat, first);
    CREATE TABLE indexed_chats (chat TEXT PRIMARY KEY, seq INTEGER NOT NULL);
    """,
    # 13. The migration before took real paths from `spending`. New chats have the paths of Jupyter's contents API.
    r"""
    UPDATE chats SET notebook = CASE
            WHEN substr(notebook, length(rtrim(workspace, '/\')) + 1, 1) = '/'
            THEN substr(notebook, length(rtrim(workspace, '/\')) + 2)
            ELSE replace(substr(notebook, length(rtrim(workspace, '/\')) + 2), '\', '/')
        END
        WHERE substr(notebook, 1, length(rtrim(workspace, '/\')) + 1)
            IN (rtrim(workspace, '/\') || '/', rtrim(workspace, '/\') || '\');
    """,
    # 14. What the user has chosen for new chats. `replaced` is the configured default that the choice replaced.
    """
    CREATE TABLE choices (
        workspace TEXT NOT NULL, notebook TEXT NOT NULL, name TEXT NOT NULL, replaced TEXT NOT NULL,
        model TEXT NOT NULL, value TEXT NOT NULL, rights TEXT NOT NULL,
        PRIMARY KEY (workspace, notebook, name, replaced, model)
    );
    """,
    # 15. The `ReviewState` of each change. Those of earlier changes are open.
    """
    ALTER TABLE checkpoints ADD COLUMN review TEXT NOT NULL DEFAULT 'open';
    ALTER TABLE cell_checkpoints ADD COLUMN review TEXT NOT NULL DEFAULT 'open';
    """,
    # 16. The sessions of outside agents, which continue after a restart.
    """
    CREATE TABLE agent_sessions (
        chat TEXT PRIMARY KEY, agent TEXT NOT NULL, folder TEXT NOT NULL, session TEXT NOT NULL,
        messages INTEGER, parts INTEGER, cost REAL
    );
    """,
    # 17. The ids of the notebooks in which chats began. Notebooks that have chats already get one, too.
    """
    CREATE TABLE notebook_ids (
        workspace TEXT NOT NULL, notebook TEXT NOT NULL, id TEXT NOT NULL, PRIMARY KEY (workspace, notebook)
    );
    INSERT INTO notebook_ids SELECT workspace, notebook, lower(hex(randomblob(8))) FROM chats
        WHERE notebook LIKE '%.ipynb' GROUP BY workspace, notebook;
    """,
    # 18. What the user has chosen in a chat for the options of an outside agent.
    """
    CREATE TABLE agent_options (
        chat TEXT NOT NULL, agent TEXT NOT NULL, option TEXT NOT NULL, value TEXT NOT NULL,
        PRIMARY KEY (chat, agent, option)
    );
    """,
    # 19. The `Person` of an event.
    """
    ALTER TABLE events ADD COLUMN "by" TEXT;
    """,
    # 20. The value of an option that the outside agent has taken last. NULL if it has taken none.
    """
    ALTER TABLE agent_options ADD COLUMN accepted TEXT;
    """,
    # 21. When the user has deleted a chat. It can be brought back for a while. NULL if it is not deleted.
    """
    ALTER TABLE chats ADD COLUMN deleted INTEGER;
    """,
    # 22. Indexes, so that a page of a long chat is read without all events. Most contents begin with their type, and
    # asides with their kind. `tables` repeats each condition in the same words: else SQLite does not use the index.
    """
    CREATE INDEX prompts_of_chat ON events (chat, turn, seq)
        WHERE role = 'user' AND substr(content, 1, 14) = '{"type":"text"';
    CREATE INDEX flags_of_chat ON events (chat, seq) WHERE substr(content, 1, 14) = '{"type":"flag"';
    CREATE INDEX usages_of_chat ON events (chat, seq) WHERE substr(content, 1, 15) = '{"type":"usage"';
    CREATE INDEX tasks_of_chat ON events (chat, seq) WHERE instr(content, '"type":"task"');
    CREATE INDEX summaries_of_chat ON events (chat, seq) WHERE substr(aside, 1, 17) = '{"kind":"summary"';
    """,
    # 23. The approval rules that the user has made for a notebook, as JSON.
    """
    CREATE TABLE notebook_rules (
        workspace TEXT NOT NULL, notebook TEXT NOT NULL, rules TEXT NOT NULL, PRIMARY KEY (workspace, notebook)
    );
    """,
)
"""Each migration runs once on each file, in this order. `PRAGMA user_version` counts those that have run. Never change
one that was released."""

# The seconds that a statement waits for another process that writes. Such a process writes for microseconds at a time,
# so after this time its disk is probably stuck.
BUSY_SECONDS = 5.0


def connect(path: Path, version: int | None = None) -> StoreConnection:
    """Open the database, create it if needed, and run the missing migrations. With `version`, it gets only that many of
    the first migrations.

    Raises: NewerStore for the file of a newer version; OSError, sqlite3.Error.
    """
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    path.touch(mode=0o600)
    db = sqlite3.connect(
        path, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False, factory=StoreConnection
    )
    try:
        _migrate(db, path, version)
    except BaseException:
        db.close()
        raise
    return db


def _migrate(db: sqlite3.Connection, path: Path, version: int | None) -> None:
    """Run the migrations that have not run on this file. See `connect` for `version`. Raises: NewerStore for the file
    of a newer version."""
    (done,) = db.execute("PRAGMA user_version").fetchone()
    if done > len(MIGRATIONS):
        raise NewerStore(f"{path} is a newer jupyter-eca's. Install that version, or move the file away.")
    _use_wal(db)
    if done == len(MIGRATIONS):
        return  # without a lock, so that another program that writes for long does not keep us from starting
    db.create_function("mark_aside", 4, mark_aside)  # one of the migrations calls it
    db.execute("BEGIN IMMEDIATE")
    # Another process may have run them before this one got the lock.
    (done,) = db.execute("PRAGMA user_version").fetchone()
    for number, script in enumerate(MIGRATIONS[done:version], done + 1):
        # `executescript` would commit first. No statement has a semicolon in it.
        for statement in filter(str.strip, script.split(";")):
            db.execute(statement)
        db.execute(f"PRAGMA user_version = {number}")
    db.execute("COMMIT")


def _use_wal(db: sqlite3.Connection) -> None:
    """Switch to write-ahead logging. If two processes do this at the same moment, SQLite does not wait, whatever the
    timeout is (measured). So try it again."""
    latest = time.monotonic() + BUSY_SECONDS
    while True:
        try:
            db.execute("PRAGMA journal_mode = WAL")
            break
        except sqlite3.OperationalError:
            if time.monotonic() > latest:
                raise
            time.sleep(0.01)
    # A commit does not wait for the disk. It still survives a crash of this process. A power cut may lose the last
    # commits, but it does not damage the file.
    db.execute("PRAGMA synchronous = NORMAL")
    # What is deleted is overwritten, so that no repair of a damaged file brings it back.
    db.execute("PRAGMA secure_delete = ON")
