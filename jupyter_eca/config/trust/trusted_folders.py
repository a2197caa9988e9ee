"""Stores which settings of which folders the user trusts. The file is outside of all projects.

It must not know what the settings are: its neighbours `split_settings` and `held_settings` do. Everything here blocks.

The user trusts the settings of a folder as they are now. So a digest of the settings is stored, beside the folder. When
the settings change, the user is asked again. It does not matter who has changed them.

A program can be started with folders that it trusts: with `--trust-folder`, or with the variable
`JUPYTER_ECA_TRUSTED_FOLDERS` (paths, separated as in `PATH`). This too is only for the settings as they are at the
start: after a later change, the user is asked.
"""

from __future__ import annotations

import json
import logging
import os
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, Final, cast

from jupyter_eca.config.disk.whole_file import replace_file

if TYPE_CHECKING:
    from collections.abc import Iterable

_log = logging.getLogger(__name__)

# The variable with folders that are trusted from the start of the program, see the top of this module.
VARIABLE: Final = "JUPYTER_ECA_TRUSTED_FOLDERS"

# How many contents of a folder stay trusted. A content is the folder's settings at one time. There is more than one
# because users go back to earlier versions.
_MAX_CONTENTS: Final = 20


class TrustedFolders:
    """The trusted contents of folders. A content is the settings of a folder at one time, identified by their digest.

    Some contents are stored in a file, and some are trusted only by this process.
    """

    def __init__(self, file: Path, started_with: Iterable[Path] = ()) -> None:
        """`started_with` are folders that are trusted with the settings that they have when they are first read."""
        self.file = file
        """The file that stores the trusted contents."""
        self.trusts_all = False
        """Whether the settings of all folders are used. As in ECA, this is so for an editor that cannot ask its user.
        `has` does not look at this: `layers` does, because it adds a warning about the settings that are used so."""
        self._started_with = {_resolve(folder) for folder in started_with}
        """The folders with which the program was started."""
        self._first_digests: dict[str, str] = {}
        """The digests of the settings when they were first read, by their place: the path of a folder or of a file in
        it."""
        self._lock = Lock()

    def has(self, folder: Path, place: Path, digest: str) -> bool:
        """Return whether the user trusts the present settings of a place.

        `place` is the folder itself, or a file in it. `digest` is the digest of those of its settings that need trust;
        "" if it has none.

        In a folder that the program was started with, the settings of each place are trusted as they were at the start.
        The first call for a place stores its digest for this. So this must be called at the start for every place, even
        if none of its settings need trust.
        """
        name = _resolve(folder)
        if name in self._started_with:
            first = self._first_digests.setdefault(_resolve(place), digest)
            if first == digest:
                return True
        return digest in self._read_entries().get(name, [])

    def add(self, folder: Path | str, digest: str) -> None:
        """Trust this content of a folder from now on. Raises: OSError."""
        with self._lock:
            entries = self._read_entries()
            name = _resolve(Path(folder))
            others = [known for known in entries.get(name, []) if known != digest]
            entries[name] = [*others, digest][-_MAX_CONTENTS:]
            self._write(entries)

    def remove(self, folder: Path | str) -> bool:
        """End the trust in all contents of a folder, including the content at the start of the program.

        Returns whether any content was trusted. Raises: OSError.
        """
        with self._lock:
            name = _resolve(Path(folder))
            was_trusted_at_start = name in self._started_with
            self._started_with.discard(name)
            entries = self._read_entries()
            known = entries.pop(name, [])
            if known:
                self._write(entries)
            return bool(known) or was_trusted_at_start

    def list_stored(self) -> dict[str, list[str]]:
        """Return the digests of the trusted contents that the file stores, by folder."""
        return self._read_entries()

    def _write(self, entries: dict[str, list[str]]) -> None:
        """Write the file. Raises: OSError."""
        replace_file(self.file, json.dumps(entries, indent=1))

    def _read_entries(self) -> dict[str, list[str]]:
        """Return the trusted digests by folder. If the file cannot be read, no folder is trusted."""
        try:
            data: Any = json.loads(self.file.read_text(encoding="utf-8"))
        except FileNotFoundError:
            return {}
        except (OSError, ValueError, RecursionError) as error:
            _log.warning("%s cannot be read (%s): no folder is trusted", self.file, type(error).__name__)
            return {}
        pairs = cast("dict[str, Any]", data).items() if isinstance(data, dict) else ()
        return {name: [*map(str, cast("list[Any]", digests))] for name, digests in pairs if isinstance(digests, list)}


def open_trusted_folders(database: Path, started_with: Iterable[Path] = ()) -> TrustedFolders:
    """Return the trusted folders that belong to a database of chats."""
    named = filter(None, os.environ.get(VARIABLE, "").split(os.pathsep))
    return TrustedFolders(database.with_name("trust.json"), [*map(Path, named), *started_with])


def _resolve(folder: Path) -> str:
    """Return the absolute path of a folder, with all links followed."""
    return str(folder.expanduser().resolve())
