"""Where our own data lives on a user's disk."""

from __future__ import annotations

from pathlib import Path


def database() -> Path:
    """The chats, in Jupyter's data folder (`JUPYTER_DATA_DIR` moves it)."""
    from jupyter_core.paths import jupyter_data_dir

    return Path(jupyter_data_dir()) / "eca" / "chats.db"
