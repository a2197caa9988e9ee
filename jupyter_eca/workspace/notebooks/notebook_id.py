"""Reads and writes the id that we give to a notebook: `jupyter_eca.id` in the metadata of the notebook.

When a notebook was moved outside of Jupyter, its chats are found again by this id. The id of `jupyter_server_fileid` is
not used. That extension knows a file by its inode and its times, so the file gets another id in a clone of a repository
and on another disk. Besides, it is only installed together with jupyter-collaboration. This module must not know which
chats belong to an id: `host/chat/notebook_ids.py` does. The page writes entries of its own beside the id, and keeps the
id, see `labextension/src/notebook/instructions.ts`.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final, cast

from jupyter_eca.config.disk.regular_file import open_resolved

if TYPE_CHECKING:
    from pathlib import Path

# The name of our entry in the metadata of a notebook, and the name of the id in it.
KEY: Final = "jupyter_eca"
_ID: Final = "id"

# A notebook may come from anybody. A longer text is not an id of ours, and is ignored.
_MAX_CHARS: Final = 64


def read_id(real: Path) -> str | None:
    """Return the id in the file of a notebook; None when it has none. `real` is the resolved path. Blocks. Raises:
    OSError."""
    with open_resolved(real) as file:
        try:
            return get_id(json.load(file))
        except (ValueError, RecursionError):
            return None


def get_id(content: Any) -> str | None:
    """Return the id in the content of a notebook, which is its JSON; None when it has none."""
    own = _get_own_metadata(content)
    id = own.get(_ID) if own is not None else None
    return id if isinstance(id, str) and 0 < len(id) <= _MAX_CHARS else None


def set_id(content: Any, id: str) -> None:
    """Write an id into the content of a notebook. If the content has no place for it, nothing is written."""
    if (own := _get_own_metadata(content)) is not None:
        content["metadata"][KEY] = {**own, _ID: id}


def _get_own_metadata(content: Any) -> dict[str, Any] | None:
    """Return our entry in the metadata; empty if there is none yet. Return None if the content has no place for it,
    because it is not JSON of a notebook."""
    metadata = cast("dict[str, Any]", content).get("metadata") if isinstance(content, dict) else None
    own = cast("dict[str, Any]", metadata).get(KEY, {}) if isinstance(metadata, dict) else None
    return cast("dict[str, Any]", own) if isinstance(own, dict) else None
