"""Chats on disk."""

from jupyter_eca.store.store import Store, alive
from jupyter_eca.store.tables import UNKEPT, ChatRow, Checkpoint, Selection

__all__ = ["UNKEPT", "ChatRow", "Checkpoint", "Selection", "Store", "alive"]
