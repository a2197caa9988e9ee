"""Knows which rows of each table belong to a chat, a workspace or the user, and reads, counts and deletes them.

`jupyter-eca export` and `jupyter-eca purge` use it. A new table needs a row in `OWNERSHIP`: a test compares it with the
tables of the database. It must not know files: `host/kept_data` does. See `tables` for all other statements.
"""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from jupyter_eca.errors import BusyError, ConfigError
from jupyter_eca.host.store.connection import transaction
from jupyter_eca.host.store.message_index import MessageIndex
from jupyter_eca.host.store.schema import connect
from jupyter_eca.host.store.tables import Tables

if TYPE_CHECKING:
    from collections.abc import Generator, Sequence
    from pathlib import Path

    from jupyter_eca.config.schema import StoreConfig
    from jupyter_eca.host.store.connection import DatabaseConnection, DatabaseCursor, StoreConnection
    from jupyter_eca.host.store.rows import ChatRow
    from jupyter_eca.protocol.event import Event


@dataclass(frozen=True, slots=True)
class ChatScope:
    """A chat, with the chats of its subagents."""

    chat: str
    """The id of the chat."""


@dataclass(frozen=True, slots=True)
class WorkspaceScope:
    """All chats of a workspace, and what is kept about the workspace itself."""

    folders: tuple[str, ...]
    """The folder in all forms in which it is stored (`Store.workspace`): one form may lead over a link."""


@dataclass(frozen=True, slots=True)
class UserScope:
    """Everything that is kept for the user."""


DataScope: TypeAlias = ChatScope | WorkspaceScope | UserScope
"""What is exported or deleted."""


@dataclass(frozen=True, slots=True)
class Ownership:
    """Which rows of a table belong to a chat or to a workspace. All rows of all tables belong to the user."""

    name: str
    """The name of the rows for the user; "" for rows that are made from other rows, or that only have counters."""
    chat: str = ""
    """The column with the id of a chat; "" for none."""
    workspace: str = ""
    """The column with the folder of a workspace; "" for none."""
    path: str = ""
    """A column with a real path: a row belongs to a workspace that contains the path; "" for none."""
    order: str = "rowid"
    """The column with the numbers that the database gives to rows, in the order in which they are made."""


OWNERSHIP: Final = {
    "chats": Ownership("chats", chat="id", workspace="workspace"),
    "events": Ownership("events", chat="chat", order="seq"),
    "checkpoints": Ownership("files as they were before a change", chat="chat", order="id"),
    "cell_checkpoints": Ownership("changes of cells", chat="chat", order="id"),
    "system_prompts": Ownership("system prompts", chat="chat"),
    "notes": Ownership("notes of clients", chat="chat", workspace="workspace"),
    "asked_in": Ownership("links to notebooks", chat="chat", workspace="workspace"),
    "agent_sessions": Ownership("sessions of outside agents", chat="chat"),
    "agent_options": Ownership("options of outside agents", chat="chat"),
    # A row stays when its chat is deleted in the usual way. Then only the path of its notebook says where it belongs.
    "spending": Ownership("costs of requests", chat="chat", path="notebook", order="id"),
    "notebook_ids": Ownership("ids of notebooks", workspace="workspace"),
    "choices": Ownership("choices for new chats", workspace="workspace"),
    "notebook_rules": Ownership("approval rules of notebooks", workspace="workspace"),
    "messages": Ownership("", chat="chat", order="id"),
    "indexed_chats": Ownership("", chat="chat"),
    "counters": Ownership(""),
}
"""All tables but those that SQLite makes itself, and the index `message_index`, which is made from `messages`."""

DERIVED_TABLES: Final = frozenset({"messages", "indexed_chats"})
"""Tables whose rows are made from other rows when they are needed."""

# The part of an error code that all errors of one kind share, see https://sqlite.org/rescode.html.
_PRIMARY_CODE: Final = 0xFF

# The columns that have JSON.
_JSON_COLUMNS: Final = frozenset({"content", "aside", "undo", "sources", "order", "decided", "sections"})

# A condition for a column: the value is the id of no chat.
_UNKNOWN_CHAT: Final = "NOT IN (SELECT id FROM chats)"

# The chats of a scope with those of all subagents below them. `first` is a query for the chats to begin with, in which
# the parameter is the chat, or the list of folders.
_SCOPED_CHATS: Final = """
    WITH RECURSIVE scoped(id) AS ({first} UNION SELECT chats.id FROM chats JOIN scoped ON chats.parent = scoped.id)
    SELECT id FROM scoped
"""


class DatabaseInUse(BusyError):
    """Another program has the database open."""

    def __init__(self, name: str, programs: Sequence[str] = ()) -> None:
        """`programs` are those that have it open, in words, if that is known."""
        super().__init__(f"{name} is open in another program.")
        self.name: Final = name
        """What the database is called."""
        self.programs: Final = tuple(programs)
        """The programs."""


class KeptRows:
    """The rows that belong to a scope. `db` is used by this object alone."""

    def __init__(self, db: DatabaseConnection, scope: DataScope) -> None:
        self._db = db
        self._scope = scope
        self._tables = Tables(db, "", "")

    def list_workspaces(self) -> list[str]:
        """Return the folders of all workspaces that have chats or choices, whatever the scope is."""
        query = "SELECT workspace FROM chats UNION SELECT workspace FROM choices WHERE workspace != '' ORDER BY 1"
        return [folder for (folder,) in self._db.execute(query)]

    def list_chats(self) -> list[ChatRow]:
        """Return the chats of the scope, the oldest first. A chat without a prompt has no row, and is left out."""
        rows = filter(None, (self._tables.read_chat(id, with_deleted=True) for id in self._list_ids()))
        return sorted(rows, key=lambda row: (row.created, row.id))

    def read_events(self, chat: str) -> list[Event]:
        """Return the events of a chat. Raises: ValueError when one of them is not valid."""
        return self._tables.read_events(chat, 0, strict=True)

    def count(self) -> dict[str, int]:
        """Return how many rows of each kind there are. The keys are the names for the user."""
        counts = {kind.name: self._count(table) for table, kind in OWNERSHIP.items() if kind.name}
        return {name: count for name, count in counts.items() if count}

    def read(self, table: str, chat: str | None = None) -> list[dict[str, Any]]:
        """Return the rows of a table, each by column, with JSON decoded. With `chat`, only those of this chat; ""
        returns the rows in the scope whose chat does not exist."""
        where, parameters = self._build_condition(table)
        column = OWNERSHIP[table].chat
        if chat:
            where, parameters = f"{_quote(column)} = ?", (chat,)
        elif chat is not None and column:
            where = f"({where}) AND {_quote(column)} {_UNKNOWN_CHAT}"
        order = OWNERSHIP[table].order
        cursor = self._db.execute(f"SELECT * FROM {table} WHERE {where} ORDER BY {order}", parameters)  # noqa: S608  # ours
        names = [name for name, *_ in cursor.description or ()]
        rows = [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]
        return [{name: _decode(name, value) for name, value in row.items() if name != "rowid"} for row in rows]

    def read_as_stored(self, table: str) -> tuple[list[str], DatabaseCursor]:
        """Return the columns of a table, and all its rows as they are stored, whatever the scope is."""
        cursor = self._db.execute(f"SELECT * FROM {table} ORDER BY {OWNERSHIP[table].order}")  # noqa: S608  # ours
        return [name for name, *_ in cursor.description or ()], cursor

    def delete(self) -> None:
        """Delete all rows of the scope in one transaction, and their entries in the index of the search."""
        index = MessageIndex(self._db, "")
        with transaction(self._db):
            for chat in self._list_ids():
                index.forget(chat)
            # The rows of `chats` last, because the others are found by them.
            for table in (*(name for name in OWNERSHIP if name != "chats"), "chats"):
                where, parameters = self._build_condition(table)
                self._db.execute(f"DELETE FROM {table} WHERE {where}", parameters)  # noqa: S608  # names of ours
        index.rebuild()

    def compact(self) -> None:
        """Rewrite the database without the deleted rows."""
        self._db.compact()

    def _list_ids(self) -> list[str]:
        """Return the ids of the chats of the scope."""
        match self._scope:
            case ChatScope(chat=chat):
                query, parameters = _SCOPED_CHATS.format(first="SELECT ?"), (chat,)
            case WorkspaceScope(folders=folders):
                first = f"SELECT id FROM chats WHERE workspace {self._db.dialect.listed}"  # noqa: S608  # words of ours
                query, parameters = _SCOPED_CHATS.format(first=first), (json.dumps(folders),)
            case UserScope():
                query, parameters = "SELECT id FROM chats", ()
        return [id for (id,) in self._db.execute(query, parameters)]

    def _count(self, table: str) -> int:
        """Return how many rows of a table are in the scope."""
        where, parameters = self._build_condition(table)
        return self._db.execute(f"SELECT count(*) FROM {table} WHERE {where}", parameters).fetchone()[0]  # noqa: S608  # ours

    def _build_condition(self, table: str) -> tuple[str, tuple[str | int, ...]]:
        """Return the condition that selects the rows of the scope in a table, and its parameters."""
        ownership = OWNERSHIP[table]
        if isinstance(self._scope, UserScope):
            return "1 = 1", ()
        conditions: list[str] = []
        parameters: list[str | int] = []
        if ownership.chat:
            conditions.append(f"{_quote(ownership.chat)} {self._db.dialect.listed}")
            parameters.append(json.dumps(self._list_ids()))
        for folder in self._scope.folders if isinstance(self._scope, WorkspaceScope) else ():
            if ownership.workspace:
                conditions.append(f"{ownership.workspace} = ?")
                parameters.append(folder)
            if ownership.path:
                conditions.append(
                    f"{_quote(ownership.chat)} {_UNKNOWN_CHAT} AND substr({ownership.path}, 1, ?) IN (?, ?)"
                )
                beginning = folder.rstrip("/\\")
                parameters += (len(beginning) + 1, f"{beginning}/", f"{beginning}\\")
        return " OR ".join(f"({condition})" for condition in conditions) or "1 = 0", tuple(parameters)


def _quote(column: str) -> str:
    """Return a column as SQL. `order` is a word of SQL."""
    return f'"{column}"'


def _decode(name: str, value: Any) -> Any:
    """Return the value of a column. A text that is no valid JSON stays as it is."""
    if name in _JSON_COLUMNS and isinstance(value, str) and value:
        try:
            return json.loads(value)
        except ValueError:
            return value
    return value


def describe_database(path: Path, settings: StoreConfig | None = None) -> str:
    """Return what a database is called in sentences: the file `path`, unless the `settings` name another database."""
    if settings is None or settings.url is None:
        return str(path)
    from jupyter_eca.host.store.postgres.schema_database import describe_url

    return describe_url(settings.url.get_secret_value())


@contextmanager
def read_rows(path: Path, scope: DataScope, settings: StoreConfig | None = None) -> Generator[KeptRows]:
    """Yield the rows of a scope as they are at one moment. Other processes may write to the database meanwhile.

    They are in the file `path`, unless the `settings` name another database. Raises: ConfigError when it cannot be
    used.
    """
    if settings is not None and settings.url is not None:
        from jupyter_eca.host.store.postgres.whole_schema import open_snapshot

        with open_snapshot(settings.url.get_secret_value()) as snapshot:
            yield KeptRows(snapshot, scope)
        return
    with _explain_errors(path), closing(_open(path)) as db:
        db.execute("BEGIN")
        yield KeptRows(db, scope)


@contextmanager
def open_rows_exclusively(path: Path, scope: DataScope, settings: StoreConfig | None = None) -> Generator[KeptRows]:
    """Yield the rows of a scope while no other process has the database open. A file has no write-ahead logging
    meanwhile.

    See `read_rows` for the arguments. Raises: DatabaseInUse when another process has it open; ConfigError when the
    database cannot be used.
    """
    if settings is not None and settings.url is not None:
        from jupyter_eca.host.store.postgres.whole_schema import open_alone

        with open_alone(settings.url.get_secret_value()) as (db, programs):
            if programs is not None:
                raise DatabaseInUse(describe_database(path, settings), programs)
            yield KeptRows(db, scope)
        return
    with _explain_errors(path), closing(_open(path)) as db:
        _lock_exclusively(db, path)
        yield KeptRows(db, scope)


def _open(path: Path) -> StoreConnection:
    """Open the database. Raises: ConfigError; sqlite3.Error."""
    try:
        return connect(path)
    except OSError as error:
        raise ConfigError(_describe(path, error)) from error


def _lock_exclusively(db: StoreConnection, path: Path) -> None:
    """Lock the database, so that no other connection can use it. Raises: DatabaseInUse when another one has it
    open.

    SQLite leaves write-ahead logging only if no other connection has the file open, even an idle one. The next
    `connect` switches it on again.
    """
    db.execute("PRAGMA busy_timeout = 0")
    try:
        (mode,) = db.execute("PRAGMA journal_mode = DELETE").fetchone()
        # From here on, a process that starts waits, and then reports that the file is locked.
        db.execute("PRAGMA locking_mode = EXCLUSIVE")
        db.execute("BEGIN EXCLUSIVE")
        db.execute("COMMIT")
    except sqlite3.OperationalError as error:
        if error.sqlite_errorcode & _PRIMARY_CODE not in {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}:
            raise
        raise DatabaseInUse(str(path)) from error
    if mode != "delete":
        raise DatabaseInUse(str(path))


@contextmanager
def _explain_errors(path: Path) -> Generator[None]:
    """Raise ConfigError in place of an error of SQLite."""
    try:
        yield
    except sqlite3.Error as error:
        raise ConfigError(_describe(path, error)) from error


def _describe(path: Path, error: Exception) -> str:
    """Return the message for the user about a database that cannot be used."""
    return f"{path} cannot be used: {error}. Fix it, or move it away."
