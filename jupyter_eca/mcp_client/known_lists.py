"""Keeps on disk what each server offered when it last ran. So a model gets the tools of a server while the server is
still starting, which may take seconds.

One file holds the lists of one server: its tools, prompts and resources (`ServerLists`). The file's name is a digest of
the settings that choose the program or the address, without secrets. With other settings it counts as another server.
Secrets were removed from the lists before they come here (`connection.py`). A call of a tool that is only known from
the file waits until the server runs, and `plugins/tools/configured/mcp_tool.py` refuses the call if the tool has
changed.

It must not import the SDK (the package `mcp`) when it is imported itself, because a manager without servers imports it
too.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import time
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Final

from jupyter_eca import redaction
from jupyter_eca.config.disk.whole_file import delete_unfinished, replace_file

if TYPE_CHECKING:
    from pathlib import Path

    from pydantic import TypeAdapter

    from jupyter_eca.config import McpServerConfig
    from jupyter_eca.mcp_client.connection import ServerLists

_log = logging.getLogger(__name__)

# Bytes of a file. The lists of a large server have some 100 kB; a server that offers more is not kept.
_MAX_BYTES: Final = 2_000_000

# Files that were not read or written for this time, which is 90 days, are deleted.
_MAX_AGE_SECONDS: Final = 90 * 24 * 60 * 60


@cache
def _make_adapter() -> TypeAdapter[ServerLists]:
    """Return what reads and writes the lists. It is made once: that takes as long as reading the lists of a server."""
    from pydantic import TypeAdapter

    from jupyter_eca.mcp_client.connection import ServerLists

    return TypeAdapter(ServerLists)


@dataclass(frozen=True, slots=True)
class KnownLists:
    """The lists of all servers that have run. All methods block, because they use the disk: call them in a thread."""

    folder: Path
    """The folder of the files. It is made when it is first needed, and only the user can read it."""

    def load(self, name: str, settings: McpServerConfig) -> ServerLists | None:
        """Return what a server offered last; None if that is not known."""
        from pydantic import ValidationError

        file = self._get_path(name, settings)
        try:
            if file.stat().st_size > _MAX_BYTES:
                return None
            lists = _make_adapter().validate_json(file.read_bytes())
            os.utime(file)  # marks it as used, for `delete_unused`
        except FileNotFoundError:
            return None
        except (OSError, ValidationError) as error:
            _log.debug("the lists of the server %r cannot be read: %s", name, type(error).__name__)
            return None
        return lists

    def save(self, name: str, settings: McpServerConfig, lists: ServerLists) -> None:
        """Keep the lists of a server. If they cannot be written, the old ones stay."""
        try:
            data = _make_adapter().dump_json(lists, by_alias=True, exclude_none=True)
            if len(data) > _MAX_BYTES:
                return
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            replace_file(self._get_path(name, settings), data.decode())
        except (OSError, ValueError) as error:  # a server may send text that cannot be encoded
            _log.debug("the lists of the server %r cannot be kept: %s", name, error)

    def delete_unused(self) -> None:
        """Delete the files of servers that were not used for a long time, and those that a killed process has left."""
        delete_unfinished((self.folder,))
        with suppress(OSError):
            for file in self.folder.glob("*.json"):
                if file.stat().st_mtime < time.time() - _MAX_AGE_SECONDS:
                    file.unlink(missing_ok=True)

    def _get_path(self, name: str, settings: McpServerConfig) -> Path:
        """Return the path of the file for a server with these settings."""
        # The values of variables and headers are left out: they may be secrets, and a short secret can be guessed from
        # its digest.
        identity = [
            name,
            settings.command,
            redaction.redact_arguments(settings.args),
            settings.url and redaction.redact_url(settings.url),
            sorted(settings.env),
            sorted(settings.headers),
        ]
        digest = hashlib.sha256(json.dumps(identity).encode()).hexdigest()
        return self.folder / f"{digest[:32]}.json"
