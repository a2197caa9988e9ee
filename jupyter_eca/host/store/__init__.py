"""The store: chats on disk, in one SQLite file."""

from jupyter_eca.host.store.rows import UNKEPT, CellCheckpoint, ChatRow, Checkpoint, Selection
from jupyter_eca.host.store.spending import Extent, Spending, Total
from jupyter_eca.host.store.store import Store, alive

__all__ = [
    "UNKEPT",
    "CellCheckpoint",
    "ChatRow",
    "Checkpoint",
    "Extent",
    "Selection",
    "Spending",
    "Store",
    "Total",
    "alive",
]
