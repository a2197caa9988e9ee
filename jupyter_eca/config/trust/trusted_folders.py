"""Owns the settings of folders that the user trusts. They are stored for the user, outside of all projects.

Trust is given to a content, by its digest: when the settings change, whoever changed them, the user is asked again. It
must not know what the settings are: `division` and `held_settings` do. Everything here blocks.

Who starts a program can trust a folder for it, with `--trust-folder` or the variable `JUPYTER_ECA_TRUSTED_FOLDERS`
(paths, separated as in `PATH`). That is for the settings as they are at the start: a later change is asked about.
"""

from __future__ import annotations

import json
import logging
import os
import tempfile
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, Final, cast

if TYPE_CHECKING:
    from collections.abc import Iterable

_log = logging.getLogger(__name__)

VARIABLE: Final = "JUPYTER_ECA_TRUSTED_FOLDERS"

# How many contents of a folder stay trusted. Somebody may go back to an earlier version of a project.
_MOST: Final = 20


class TrustedFolders:
    """The trusted contents of folders: those in a file, and those of this process only."""

    def __init__(self, file: Path, started_with: Iterable[Path] = ()) -> None:
        """`started_with` are folders whose settings, as they are when they are first read, are trusted."""
        self.file = file
        self.trusts_all = False
        """Whether the settings of all folders hold. So they do for an editor that cannot ask its user, as in ECA."""
        self._starting = {_resolve(folder) for folder in started_with}
        self._started: dict[str, str] = {}
        self._lock = Lock()

    def has(self, folder: Path, place: Path, digest: str) -> bool:
        """Return whether the user trusts this content of a place in a folder. The first content of a place is that with
        which the program started; "" if there is none."""
        name = _resolve(folder)
        if name in self._starting:
            first = self._started.setdefault(_resolve(place), digest)
            if first == digest:
                return True
        return digest in self._entries().get(name, [])

    def add(self, folder: Path | str, digest: str) -> None:
        """Trust this content of a folder from now on. Raises: OSError."""
        with self._lock:
            entries = self._entries()
            name = _resolve(Path(folder))
            others = [known for known in entries.get(name, []) if known != digest]
            entries[name] = [*others, digest][-_MOST:]
            self._write(entries)

    def remove(self, folder: Path | str) -> bool:
        """Trust no content of a folder any more, also not the one with which the program started. Return whether
        something was trusted. Raises: OSError."""
        with self._lock:
            name = _resolve(Path(folder))
            was_started = name in self._starting
            self._starting.discard(name)
            entries = self._entries()
            known = entries.pop(name, [])
            if known:
                self._write(entries)
            return bool(known) or was_started

    def _write(self, entries: dict[str, list[str]]) -> None:
        """Write the file completely or not at all. Only its owner can read it (`mkstemp`)."""
        self.file.parent.mkdir(parents=True, exist_ok=True)
        handle, fresh = tempfile.mkstemp(dir=self.file.parent, prefix=self.file.name)
        with os.fdopen(handle, "w", encoding="utf-8") as stream:
            stream.write(json.dumps(entries, indent=1))
        Path(fresh).replace(self.file)

    def _entries(self) -> dict[str, list[str]]:
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
    return str(folder.expanduser().resolve())
