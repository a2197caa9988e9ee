"""A file of chats that another program holds, so that nothing can be stored in it for a while."""

from __future__ import annotations

import sqlite3
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Generator
    from pathlib import Path

    import pytest


@contextmanager
def locking(path: Path) -> Generator[None]:
    """Another program writes to the file, and does not end."""
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        yield
        other.execute("ROLLBACK")


def shorten_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    """The product waits for seconds, in which another program would end."""
    monkeypatch.setattr("jupyter_eca.host.store.schema.BUSY_SECONDS", 0.01)
    monkeypatch.setattr("jupyter_eca.host.store.store.FIRST_RETRY_SECONDS", 0.05)
