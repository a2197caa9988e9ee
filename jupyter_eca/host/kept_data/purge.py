"""Deletes all that is kept about a chat, a workspace or the user.

The files are deleted before the rows. If the process is killed in between, the rows still say what to delete next time.
A server that has the database open may write a deleted chat again. So nothing is deleted while any program has it open.
Everything here blocks.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Final

from jupyter_eca.errors import BusyError, ConfigError
from jupyter_eca.host.store.kept_rows import DatabaseInUse, open_rows_exclusively
from jupyter_eca.redaction import redact_arguments
from jupyter_eca.workspace.jobs.process_records import end_orphans

# The most characters of a command that an error shows.
_MAX_COMMAND_CHARS: Final = 100

if TYPE_CHECKING:
    from pathlib import Path

    from jupyter_eca.host.kept_data.kept_files import KeptFiles


def count_for_purge(files: KeptFiles) -> dict[str, int]:
    """Return how many items of each kind would be deleted. No other program may have the database open.

    Raises: BusyError, with the programs that have the database open; ConfigError.
    """
    try:
        with open_rows_exclusively(files.database, files.scope, files.store) as rows:
            return rows.count() | files.count(row.id for row in rows.list_chats())
    except DatabaseInUse as error:
        raise BusyError(_describe_programs(error, files.database)) from error


def purge(files: KeptFiles, counts: dict[str, int]) -> None:
    """Delete what belongs to `files.scope` (a chat, a workspace, or all that is the user's), and rewrite the database
    without it. `counts` are what the user has agreed to delete.

    Raises: BusyError when there is more or less to delete now, or another program has the database open: nothing is
    deleted then. ConfigError when the database or a file cannot be written.
    """
    try:
        with open_rows_exclusively(files.database, files.scope, files.store) as rows:
            chats = [row.id for row in rows.list_chats()]
            if rows.count() | files.count(chats) != counts:
                raise BusyError(
                    "Nothing was deleted: there is more or less to delete than when you were asked. Start again."
                )
            # Commands that a killed server left running write no chat, but their records name a chat and a command.
            end_orphans(files.database.with_name("processes"))
            try:
                files.delete(chats)
            except OSError as error:
                raise ConfigError(
                    f"{error.filename} cannot be deleted: {error.strerror}. The chats are still there. Delete it, then "
                    "purge again."
                ) from error
            rows.delete()
            rows.compact()
    except DatabaseInUse as error:
        raise BusyError(_describe_programs(error, files.database)) from error


def _describe_programs(error: DatabaseInUse, database: Path) -> str:
    """Return which programs have the database open, and what to do about it."""
    programs = ", ".join(error.programs or _list_processes(database)) or "another program"
    return (
        f"Nothing was deleted: {error.name} is open in {programs}. It would write the chats again. End it (Jupyter, an "
        "editor or a kernel), then purge again."
    )


def _list_processes(database: Path) -> list[str]:
    """Return the other processes of this user that have the database open, in words."""
    import psutil

    found: list[str] = []
    path = str(database.resolve())
    for process in psutil.process_iter():
        with suppress(psutil.Error, OSError):
            if any(opened.path == path for opened in process.open_files()) and process.pid != psutil.Process().pid:
                command = " ".join(redact_arguments(process.cmdline()))[:_MAX_COMMAND_CHARS]
                found.append(f"`{command or process.name()}` (process {process.pid})")
    return found
