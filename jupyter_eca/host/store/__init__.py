"""Owns the stored chats: the store keeps their events, checkpoints and costs in a file of SQLite, or in PostgreSQL.

It must not know the engine. `store` is what other rooms call from the event loop. `database` says what it needs of
SQLite (`sqlite_file`) or PostgreSQL (`postgres`). `tables` has the SQL statements, `dialect` the parts of them that
differ, `schema` the tables and their migrations, `message_index` the search, `choices` what new chats begin with, and
`rows` and `spending` the values.
"""

from jupyter_eca.host.store.rows import (
    UNKEPT,
    CellCheckpoint,
    ChatRow,
    Checkpoint,
    ReviewState,
    StoredSelection,
    UnseenChange,
)
from jupyter_eca.host.store.spending import CostFilter, Spending, Total
from jupyter_eca.host.store.store import Store, is_alive

__all__ = [
    "UNKEPT",
    "CellCheckpoint",
    "ChatRow",
    "Checkpoint",
    "CostFilter",
    "ReviewState",
    "Spending",
    "Store",
    "StoredSelection",
    "Total",
    "UnseenChange",
    "is_alive",
]
