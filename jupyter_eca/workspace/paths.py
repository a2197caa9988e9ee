"""Where our own data lies on the disk, and which path a client's URI names.

It must not know the workspace: `ports.Files` decides which paths the assistant may see.
"""

from __future__ import annotations

from pathlib import Path
from urllib.parse import unquote, urlparse
from urllib.request import url2pathname


def find_database() -> Path:
    """Return the path of the database of chats, in Jupyter's data folder. `JUPYTER_DATA_DIR` moves it."""
    from jupyter_core.paths import jupyter_data_dir

    return Path(jupyter_data_dir()) / "eca" / "chats.db"


def parse_file_uri(uri: str) -> Path | None:
    """Return the path that a `file:` URI names; None for what is on no disk. An absolute path is accepted too, since
    some clients send one in place of a URI."""
    parsed = urlparse(uri)
    path = Path(url2pathname(unquote(parsed.path))) if parsed.scheme == "file" else Path(uri)
    return path if path.is_absolute() else None
