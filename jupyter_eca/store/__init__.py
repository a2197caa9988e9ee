"""Chats on disk."""

from jupyter_eca.store.store import Store, alive
from jupyter_eca.store.tables import ChatRow, Checkpoint, Selection

__all__ = ["ChatRow", "Checkpoint", "Selection", "Store", "alive"]
