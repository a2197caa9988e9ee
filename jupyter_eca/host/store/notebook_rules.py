"""Owns the SQL statements of the table `notebook_rules`: the approval rules that the user has made for a notebook.

The rules of a notebook are one JSON text, stored with the path of the notebook and its workspace. They are never in the
file of the notebook, because somebody else may have written it. This module must not know what a rule means:
`host.chat.notebook_rules` does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from jupyter_eca.host.store.connection import transaction

if TYPE_CHECKING:
    from jupyter_eca.host.store.connection import DatabaseConnection

_UPSERT: Final = (
    "INSERT INTO notebook_rules (workspace, notebook, rules) VALUES (?, ?, ?)"
    " ON CONFLICT (workspace, notebook) DO UPDATE SET rules = excluded.rules"
)


class StoredNotebookRules:
    """Reads and writes the rules of the notebooks in one workspace."""

    def __init__(self, db: DatabaseConnection, workspace: str) -> None:
        """`db` is the connection to the database. `workspace` is the folder that identifies the workspace."""
        self._db = db
        self._workspace = workspace

    def list(self) -> dict[str, str]:
        """Return the rules of each notebook that has some, by its path."""
        query = "SELECT notebook, rules FROM notebook_rules WHERE workspace = ? ORDER BY notebook"
        return dict(self._db.execute(query, (self._workspace,)).fetchall())

    def keep(self, notebook: str, rules: str) -> None:
        """Replace the rules of a notebook. An empty text removes them."""
        with transaction(self._db):
            if rules:
                self._db.execute(_UPSERT, (self._workspace, notebook, rules))
            else:
                key = self._workspace, notebook
                self._db.execute("DELETE FROM notebook_rules WHERE workspace = ? AND notebook = ?", key)

    def move(self, old_path: str, new_path: str) -> None:
        """Let a notebook, or all notebooks of a folder, keep their rules under a new path. The rules that a notebook at
        the new path had before are forgotten."""
        with transaction(self._db):
            moved = {path: rules for path, rules in self.list().items() if _is_or_is_below(path, old_path)}
            self.forget(old_path)
            for path, rules in moved.items():
                self._db.execute(_UPSERT, (self._workspace, new_path + path.removeprefix(old_path), rules))

    def forget(self, path: str) -> None:
        """Forget the rules of a notebook, or of all notebooks in a folder."""
        self._db.execute(
            "DELETE FROM notebook_rules WHERE workspace = ? AND (notebook = ? OR substr(notebook, 1, ?) = ?)",
            (self._workspace, path, len(path) + 1, f"{path}/"),
        )


def _is_or_is_below(path: str, folder: str) -> bool:
    """Return whether a path is `folder` itself, or the path of something in it."""
    return path == folder or path.startswith(f"{folder}/")
