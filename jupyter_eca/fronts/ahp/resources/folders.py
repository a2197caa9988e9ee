"""Owns the check of the folder that a client of the Agent Host Protocol chooses as the working directory of a session.

It must not know sessions. `files.py` owns the files that clients read.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from jupyter_eca.errors import RemoteError, ToolError
from jupyter_eca.protocol.ahp.commands import AhpErrorCode
from jupyter_eca.workspace.paths import parse_file_uri

if TYPE_CHECKING:
    from pathlib import Path

    from jupyter_eca.workspace.ports import Files


def find_folder(files: Files, uri: str) -> Path:
    """Return the real path of a folder of the workspace that a URI names.

    Raises: RemoteError, with a sentence for the user, when the URI names something on another machine, outside of the
    workspace, or something that is not a folder.
    """
    path = parse_file_uri(uri)
    if path is None or urlsplit(uri).netloc not in {"", "localhost"}:
        raise RemoteError(
            f"workingDirectory: {uri} is not a folder of this server. Send a file: URI.", AhpErrorCode.INVALID_PARAMS
        )
    try:
        real = files.resolve(str(path))
    except ToolError as error:
        raise RemoteError(f"workingDirectory: {error}", AhpErrorCode.PERMISSION_DENIED) from error
    if not real.is_dir():
        raise RemoteError(f"workingDirectory: {path} is not a folder.", AhpErrorCode.NOT_FOUND)
    return real
