"""Paths: where our own data lives on a user's disk, and what a client's URIs name."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import unquote, urlparse
from urllib.request import url2pathname


def database() -> Path:
    """The chats, in Jupyter's data folder (`JUPYTER_DATA_DIR` moves it)."""
    from jupyter_core.paths import jupyter_data_dir

    return Path(jupyter_data_dir()) / "eca" / "chats.db"


def path_of(uri: str) -> Path | None:
    """What a `file:` URI, or the absolute path that some clients send instead, names; None for what is on no disk."""
    parsed = urlparse(uri)
    path = Path(url2pathname(unquote(parsed.path))) if parsed.scheme == "file" else Path(uri)
    return path if path.is_absolute() else None
