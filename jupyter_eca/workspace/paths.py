"""Where our own data lies on the disk, and which path a client's URI names.

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


def find_jupyter_folders() -> tuple[Path, ...]:
    """Return Jupyter's folders of the user: its configuration, and its data. The data has our chats and the trust in
    folders, the programs that start kernels, and the tokens of running servers."""
    from jupyter_core.paths import jupyter_config_dir, jupyter_data_dir

    return Path(jupyter_config_dir()), Path(jupyter_data_dir())


def find_process_records() -> Path:
    """Return the folder of the records of running processes. See `jobs/process_records.py`."""
    return find_database().with_name("processes")


def parse_file_uri(uri: str) -> Path | None:
    """Return the path that a `file:` URI names; None for what is on no disk. An absolute path is accepted too, since
    some clients send one in place of a URI."""
    try:
        parsed = urlsplit(uri)
        path = Path(decode_uri_path(parsed.path) if parsed.scheme == "file" else uri)
    except ValueError:
        return None
    return path if path.is_absolute() and "\0" not in str(path) else None


def decode_uri_path(path: str) -> str:
    """Return the path of a file URI as the system spells it. Nothing else decodes it: `%2541` is the name `%41`, and
    decoded once more it would be the name of another file. Raises: ValueError for what is no text."""
    # On POSIX, `url2pathname` would replace bytes that are no UTF-8, which a name may have.
    return url2pathname(path) if os.name == "nt" else os.fsdecode(unquote_to_bytes(path))
