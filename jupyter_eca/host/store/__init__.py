"""The store: chats on disk, in one SQLite file."""

from jupyter_eca.host.store.rows import UNKEPT, CellCheckpoint, ChatRow, Checkpoint, StoredSelection
from jupyter_eca.host.store.spending import Extent, Spending, Total
from jupyter_eca.host.store.store import Store, is_alive

__all__ = [
    "UNKEPT",
    "CellCheckpoint",
    "ChatRow",
    "Checkpoint",
    "Extent",
    "Spending",
    "Store",
    "StoredSelection",
    "Total",
    "is_alive",
]
