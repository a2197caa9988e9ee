"""Owns the SQL statements of the table `choices`: what the user has chosen for new chats, such as a model or an agent.

A choice that was made in a notebook is stored with the path of the notebook and its workspace. The user's last choice
in any notebook is stored once more, with neither of them. This module must not know which choice applies:
`engine.chat.remembered_choices` does.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from jupyter_eca.engine.chat.remembered_choices import ChoiceName, RememberedChoice
from jupyter_eca.host.store.connection import transaction

if TYPE_CHECKING:
    from collections.abc import Sequence

    from jupyter_eca.host.store.connection import DatabaseConnection

# `replaced` is the configured default that was replaced by the choice (`RememberedChoice.default`). `rights` identifies
# what an agent was allowed to do when the user chose it: the choice is lost if that has changed.
_INSERT_OR_REPLACE: Final = (
    "INSERT INTO choices (workspace, notebook, name, replaced, model, value, rights) VALUES (?, ?, ?, ?, ?, ?, ?)"
    " ON CONFLICT (workspace, notebook, name, replaced, model)"
    " DO UPDATE SET value = excluded.value, rights = excluded.rights"
)


class Choices:
    """Reads and writes the choices of the user in one workspace."""

    def __init__(self, db: DatabaseConnection, workspace: str) -> None:
        """`db` is the connection to the database. `workspace` is the folder that identifies the workspace."""
        self._db = db
        self._workspace = workspace

    def keep(self, choices: Sequence[RememberedChoice]) -> None:
        """Keep choices. Each replaces the earlier one with the same notebook, name and default, and for a variant also
        the same model."""
        with transaction(self._db):
            for choice in choices:
                workspace = self._workspace if choice.notebook else ""
                key = workspace, choice.notebook, choice.name, choice.default, choice.model
                self._db.execute(_INSERT_OR_REPLACE, (*key, choice.value, choice.rights))

    def list(self, notebook: str) -> list[RememberedChoice]:
        """Return the choices in a notebook, and those of the user that belong to no notebook."""
        rows = self._db.execute(
            "SELECT name, value, replaced, model, rights, notebook FROM choices"
            " WHERE notebook = '' OR (workspace = ? AND notebook = ?)",
            (self._workspace, notebook),
        )
        return [RememberedChoice(ChoiceName(name), *rest) for name, *rest in rows]

    def forget_replaced(self, name: ChoiceName, default: str) -> None:
        """Forget the choices that replaced a default, because the user has configured this default after them."""
        self._db.execute("DELETE FROM choices WHERE name = ? AND replaced = ?", (name, default))

    def move(self, old_path: str, new_path: str) -> None:
        """Let a notebook, or all notebooks of a folder, keep their choices under a new path. The choices that a
        notebook at the new path had before are forgotten."""
        with transaction(self._db):
            choices = self._list_below(old_path)
            moved = [replace(choice, notebook=new_path + choice.notebook.removeprefix(old_path)) for choice in choices]
            self.forget(old_path)
            for path in {choice.notebook for choice in moved}:
                self.forget(path)
            for choice in moved:
                key = self._workspace, choice.notebook, choice.name, choice.default, choice.model
                self._db.execute(_INSERT_OR_REPLACE, (*key, choice.value, choice.rights))

    def forget(self, path: str) -> None:
        """Forget the choices in a notebook, or in all notebooks of a folder."""
        self._db.execute(
            "DELETE FROM choices WHERE workspace = ? AND (notebook = ? OR substr(notebook, 1, ?) = ?)",
            (self._workspace, path, len(path) + 1, f"{path}/"),
        )

    def _list_below(self, path: str) -> list[RememberedChoice]:
        """Return the choices in a notebook, or in all notebooks of a folder."""
        rows = self._db.execute(
            "SELECT name, value, replaced, model, rights, notebook FROM choices"
            " WHERE workspace = ? AND (notebook = ? OR substr(notebook, 1, ?) = ?)",
            (self._workspace, path, len(path) + 1, f"{path}/"),
        )
        return [RememberedChoice(ChoiceName(name), *rest) for name, *rest in rows]
