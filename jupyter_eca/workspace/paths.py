"""Finds the folders of our own data on the disk, and parses the `file:` URIs of clients.

It must not know the workspace: `ports.Files` decides which paths the assistant may see.
"""

from __future__ import annotations

import os
from pathlib import Path
from urllib.parse import unquote_to_bytes, urlsplit
from urllib.request import url2pathname


def find_database() -> Path:
    """Return the path of the database of chats, in Jupyter's data folder. `JUPYTER_DATA_DIR` moves it."""
    from jupyter_core.paths import jupyter_data_dir

    return Path(jupyter_data_dir()) / "eca" / "chats.db"


def get_jupyter_folders() -> tuple[Path, ...]:
    """Return the user's two folders of Jupyter: the one for configuration, and the one for data. The folder for data
    contains our chats, the list of trusted folders, the programs that start kernels, and the tokens of running
    servers."""
    from jupyter_core.paths import jupyter_config_dir, jupyter_data_dir

    return Path(jupyter_config_dir()), Path(jupyter_data_dir())


def get_process_records_folder() -> Path:
    """Return the folder that contains a record for each running process. See `jobs/process_records.py`."""
    return find_database().with_name("processes")


def parse_file_uri(uri: str) -> Path | None:
    """Return the path that a `file:` URI names; None for any other URI. An absolute path is accepted too, because some
    clients send a path instead of a URI."""
    try:
        parsed = urlsplit(uri)
        path = Path(decode_uri_path(parsed.path) if parsed.scheme == "file" else uri)
    except ValueError:
        return None
    return path if path.is_absolute() and "\0" not in str(path) else None


def decode_uri_path(path: str) -> str:
    """Decode the path of a `file:` URI. It must be decoded exactly once: `%2541` stands for the name `%41`, and a
    second decoding would give `A`, the name of another file.

    Raises: ValueError for bytes that are not text.
    """
    # On POSIX, `url2pathname` would replace bytes that are not UTF-8, but the name of a file may contain such bytes.
    return url2pathname(path) if os.name == "nt" else os.fsdecode(unquote_to_bytes(path))
