"""Folders that are skipped where files are listed and searched. Knows no tool; `listing` beside it walks the files."""

from __future__ import annotations

# They are skipped where no .gitignore says what matters.
JUNK = (".git", ".hg", ".svn", ".venv", ".tox", "node_modules", "__pycache__", ".ipynb_checkpoints")
