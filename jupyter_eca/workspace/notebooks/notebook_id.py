"""Reads and writes the id that we give to a notebook: `jupyter_eca.id` in the metadata of the notebook.

By this id a notebook is found again that was moved outside of Jupyter. The id of `jupyter_server_fileid` is not used:
it knows a file by its inode and its times, so a clone of a repository or a file on another disk has another one, and
without jupyter-collaboration it is not installed. This module must not know whose chats an id means:
`host/chat/notebook_ids.py` does. The page keeps the id when it writes its own entry beside it, see
`labextension/src/notebook/instructions.ts`.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final, cast

from jupyter_eca.config.disk.regular_file import open_resolved

if TYPE_CHECKING:
    from pathlib import Path

KEY: Final = "jupyter_eca"
_ID: Final = "id"

# A notebook comes from anywhere. A longer text is not an id of ours, and is not stored.
_MAX_CHARS: Final = 64


def read_id(real: Path) -> str | None:
    """Return the id in the file of a notebook, None for none. The path is resolved. Blocks. Raises: OSError."""
    with open_resolved(real) as file:
        try:
            return get_id(json.load(file))
        except (ValueError, RecursionError):
            return None


def get_id(content: Any) -> str | None:
    """Return the id in the content of a notebook, None for none."""
    own = _get_own_metadata(content)
    id = own.get(_ID) if own is not None else None
    return id if isinstance(id, str) and 0 < len(id) <= _MAX_CHARS else None


def set_id(content: Any, id: str) -> None:
    """Write an id into the content of a notebook. If the content has no place for it, nothing is written."""
    if (own := _get_own_metadata(content)) is not None:
        content["metadata"][KEY] = {**own, _ID: id}


def _get_own_metadata(content: Any) -> dict[str, Any] | None:
    """Return our entry in the metadata, which may be empty; None if there can be none."""
    metadata = cast("dict[str, Any]", content).get("metadata") if isinstance(content, dict) else None
    own = cast("dict[str, Any]", metadata).get(KEY, {}) if isinstance(metadata, dict) else None
    return cast("dict[str, Any]", own) if isinstance(own, dict) else None
