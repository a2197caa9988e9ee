"""Names the files and folders beside the database of chats, in which the assistant keeps data of the user.

It must not open them: their owners do. `workspace/paths.py` finds the database.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path


@dataclass(frozen=True, slots=True)
class DataFolder:
    """The folder of a database of chats."""

    database: Path
    """The database. SQLite has two more files beside it while it is open (`-wal`, `-shm`)."""

    @property
    def outputs(self) -> Path:
        """The folder with the outputs of tools that were too long for the model."""
        return self.database.with_name("outputs")

    @property
    def mcp_lists(self) -> Path:
        """The folder with what each MCP server offered when it last ran: its tools, prompts and resources."""
        return self.database.with_name("mcp-lists")

    @property
    def locks(self) -> Path:
        """The folder with a mark for each locked answer that the user trusts."""
        return self.database.with_name("locks")
