"""Owns which files beside the database belong to a chat, a workspace or the user.

Three kinds of files are not ours to delete, because the user has them in a folder of theirs: rules and configuration,
lock files beside notebooks, and what `/export` has written. Everything here blocks.

It must not know rows: `host/store/kept_rows.py` does.
"""

from __future__ import annotations

import shutil
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from jupyter_eca.config.credentials import open_key_store
from jupyter_eca.config.disk.whole_file import delete_unfinished
from jupyter_eca.config.folders import get_user_folder
from jupyter_eca.config.trust import open_trusted_folders
from jupyter_eca.host.data_folder import DataFolder
from jupyter_eca.host.store.kept_rows import ChatScope, UserScope, WorkspaceScope
from jupyter_eca.host.store.unsaved_file import UNSAVED_PATTERN
from jupyter_eca.host.tools.kept_outputs import ToolOutputs

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from jupyter_eca.config.schema import StoreConfig
    from jupyter_eca.host.store.kept_rows import DataScope


@dataclass(frozen=True, slots=True)
class KeptFiles:
    """The files that belong to a scope."""

    database: Path
    """The database of chats, beside which the files are."""
    scope: DataScope
    """Whose files they are: those of a chat, a workspace or the user."""
    store: StoreConfig | None = None
    """The settings of the store. With them, the chats may be in another database than the file."""

    @property
    def _data_folder(self) -> DataFolder:
        """The folder of the database, with the places of all other files."""
        return DataFolder(self.database)

    def list_outputs(self, chat: str) -> list[Path]:
        """Return the files with the outputs of a chat that were too long for the model."""
        return ToolOutputs(self._data_folder.outputs).list_files(chat)

    def list_mcp_lists(self) -> list[Path]:
        """Return the files with what MCP servers offered."""
        return self._list_in(self._data_folder.mcp_lists)

    def list_locks(self) -> list[Path]:
        """Return the marks of locked answers that the user trusts. Their names are digests, and they are empty."""
        return self._list_in(self._data_folder.locks)

    def list_other_databases(self) -> list[Path]:
        """Return the other files with chats, which are beside the database: damaged databases that were kept, copies
        for this version of a database that a newer version has written, and events that could not be stored yet."""
        names = (f"{self.database.stem}.damaged-*", f"{self.database.stem}.version-*", UNSAVED_PATTERN)
        return sorted(path for name in names for path in self.database.parent.glob(name) if path.is_file())

    def list_trusted_folders(self) -> dict[str, list[str]]:
        """Return the digests of the settings that the user trusts, by folder."""
        entries = open_trusted_folders(self.database).list_stored()
        match self.scope:
            case WorkspaceScope(folders=folders):
                real = {str(Path(folder).resolve()) for folder in folders}
                return {name: digests for name, digests in entries.items() if name in real}
            case UserScope():
                return entries
            case _:
                return {}

    def list_sign_ins(self) -> list[str]:
        """Return the names of the providers and MCP servers whose secrets are stored, without the secrets."""
        return open_key_store(self.database).list_stored() if isinstance(self.scope, UserScope) else []

    def list_rules(self, workspaces: Iterable[Path]) -> Iterator[tuple[Path, str]]:
        """Yield the files of the user that tell the assistant how to work, each with its place in an archive: those
        of the workspaces, and for the user also those that apply everywhere. Nothing for a single chat: its system
        prompt has the rules as they were."""
        folders = [] if isinstance(self.scope, ChatScope) else [(folder, folder / ".eca") for folder in workspaces]
        if isinstance(self.scope, UserScope):
            folders.append((get_user_folder(), get_user_folder()))
        for number, (root, settings) in enumerate(folders):
            place = "everywhere" if root == get_user_folder() else f"{number:02}-{root.name}"
            for file in (root / "AGENTS.md", *sorted((settings / "rules").glob("**/*.md"))):
                if file.is_file() and file.resolve().is_relative_to(root.resolve()):
                    yield file, f"{place}/{file.relative_to(root).as_posix().removeprefix('.eca/')}"

    def count(self, chats: Iterable[str]) -> dict[str, int]:
        """Return how many files and entries of each kind `delete` would delete. `chats` are the ids of the chats in the
        scope."""
        outputs = sum(len(self.list_outputs(chat)) for chat in chats)
        if isinstance(self.scope, UserScope):
            outputs = len(self._list_in(self._data_folder.outputs, "*/*"))
        counts = {
            "long outputs of tools": outputs,
            "other files of chats": len(self.list_other_databases()) if isinstance(self.scope, UserScope) else 0,
            "trusted folders": len(self.list_trusted_folders()),
            "lists of the tools of servers": len(self.list_mcp_lists()),
            "trusted locked answers": len(self.list_locks()),
            "sign-ins and keys": len(self.list_sign_ins()),
        }
        return {name: count for name, count in counts.items() if count}

    def delete(self, chats: Iterable[str]) -> None:
        """Delete the files and entries of the scope. `chats` are the ids of its chats. Raises: OSError."""
        ToolOutputs(self._data_folder.outputs).purge(None if isinstance(self.scope, UserScope) else chats)
        delete_unfinished((self.database.parent,))
        trusted = open_trusted_folders(self.database)
        for folder in self.list_trusted_folders():
            trusted.remove(folder)
        if isinstance(self.scope, UserScope):
            keys = open_key_store(self.database)
            for name in keys.list_stored():
                keys.forget(name)
            for path in self.list_other_databases():
                path.unlink()
            for folder in (self._data_folder.mcp_lists, self._data_folder.locks):
                if folder.exists():
                    shutil.rmtree(folder)

    def _list_in(self, folder: Path, pattern: str = "*") -> list[Path]:
        """Return the files of a folder; none unless the scope is the user."""
        if not isinstance(self.scope, UserScope):
            return []
        with suppress(OSError):
            return sorted(path for path in folder.glob(pattern) if path.is_file())
        return []
