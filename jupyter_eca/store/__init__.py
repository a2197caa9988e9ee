"""Chats on disk."""

from jupyter_eca.store.store import Store, alive
from jupyter_eca.store.tables import UNKEPT, CellCheckpoint, ChatRow, Checkpoint, Selection

__all__ = ["UNKEPT", "CellCheckpoint", "ChatRow", "Checkpoint", "Selection", "Store", "alive"]
