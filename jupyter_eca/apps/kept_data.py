"""Owns the commands `jupyter-eca export` and `jupyter-eca purge`, which write or delete the stored data of a chat, a
project or the user. It finds the scope, asks the user before a deletion, and prints the result.

The commands work on the files of the store without a host, so they start no MCP server and call no model. This module
must not know what is stored: `host/kept_data` does.
"""

from __future__ import annotations

import os
import sys
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Final

from jupyter_eca import config, redaction
from jupyter_eca.config import register_secrets
from jupyter_eca.config.credentials import open_key_store
from jupyter_eca.config.trust import open_trusted_folders
from jupyter_eca.errors import ConfigError, UnknownChat
from jupyter_eca.host.kept_data.archive import write_archive
from jupyter_eca.host.kept_data.kept_files import KeptFiles
from jupyter_eca.host.kept_data.purge import count_for_purge, purge
from jupyter_eca.host.store.kept_rows import ChatScope, UserScope, WorkspaceScope, describe_database, read_rows
from jupyter_eca.plugins.providers.catalog import Catalog, find_plugs
from jupyter_eca.workspace.paths import find_database

if TYPE_CHECKING:
    import argparse

    from jupyter_eca.config.schema import StoreConfig
    from jupyter_eca.host.store.kept_rows import DataScope, KeptRows

# The most chats that are listed in the error about an unknown chat.
_MAX_LISTED_CHATS: Final = 10

# The last lines of the question before a deletion.
_NOT_DELETED: Final = (
    "Not deleted, because they are files of yours: rules, configuration, lock files beside notebooks, chats that you "
    "have exported."
)


def export(options: argparse.Namespace) -> int:
    """Write the archive. Return the exit status. Raises: ConfigError, UnknownChat."""
    database, store = _find_database(options.config_file)
    scope, name = _find_scope(database, store, options)
    target: Path = options.output or Path(f"jupyter-eca-{datetime.now():%Y-%m-%d}.zip")  # noqa: DTZ005  # a name, in the user's time
    with read_rows(database, scope, store) as rows:
        files = KeptFiles(database, scope, store)
        # `()` stands for no chats: without rows there are none whose files could be counted.
        if not rows.count() and not files.count(()):
            raise ConfigError(f"There is nothing to export of {name}.")
        _register_secrets(database, rows, options.config_file)
        counts = write_archive(target.absolute(), name, rows, files)
    _print(f"{target} has {name}:\n{_format_counts(counts)}\nmanifest.json in it says what each file is.")
    return 0


def delete(options: argparse.Namespace) -> int:
    """Delete the data, after the user has confirmed it. Return the exit status: 1 if the user does not agree.

    Raises: BusyError, ConfigError, UnknownChat.
    """
    database, store = _find_database(options.config_file)
    scope, name = _find_scope(database, store, options)
    files = KeptFiles(database, scope, store)
    counts = count_for_purge(files)
    if not counts:
        raise ConfigError(f"Nothing is kept about {name}.")
    _print(f"This deletes {name}, and cannot be undone:\n{_format_counts(counts)}\n{_NOT_DELETED}")
    if not options.everything and (others := files.list_other_databases()):
        _print(f"Not deleted either: {', '.join(map(str, others))}. They may have its chats: delete them yourself.")
    if not options.yes:
        if not sys.stdin.isatty():
            raise ConfigError("Nothing was deleted. Nobody can be asked here: add --yes.")
        if input("Type yes to delete it: ").strip().lower() != "yes":
            _print("Nothing was deleted.")
            return 1
    purge(files, counts)
    if store.url is None:
        _print(f"Deleted. {database} has {database.stat().st_size:,} bytes now.")
    else:
        _print(f"Deleted from {describe_database(database, store)}. Its backups and its log may still have it.")
    return 0


def _find_database(config_file: Path | None) -> tuple[Path, StoreConfig]:
    """Return the path of the database, and the settings, which may name another one. Raises: ConfigError when there is
    none, because these commands must not create it."""
    database = find_database()
    store = config.read_config([Path.cwd()], config_file, skip_broken_projects=True).store
    redaction.register_secret(*store.list_passwords())
    if store.url is None and not database.exists():
        raise ConfigError(f"Nothing is kept: there is no {database}. JUPYTER_DATA_DIR names another folder.")
    return database, store


def _find_scope(database: Path, store: StoreConfig, options: argparse.Namespace) -> tuple[DataScope, str]:
    """Return the scope that the options choose, and its name in words. Raises: ConfigError, UnknownChat."""
    if options.everything:
        return UserScope(), "everything that is kept for you"
    with read_rows(database, ChatScope(options.chat or ""), store) as rows:
        if options.chat:
            row = next((row for row in rows.list_chats() if row.id == options.chat), None)
            if row is None:
                raise UnknownChat(f"There is no chat {options.chat!r}. {_list_newest(database, store)}")
            return ChatScope(row.id), f"the chat {row.title or row.id!r} with those of its subagents"
        workspaces = rows.list_workspaces()
    folder = Path(options.project).expanduser().resolve()
    # The same folder may be stored in several forms, one of which may lead over a link.
    folders = tuple(known for known in workspaces if Path(known).resolve() == folder)
    if not folders:
        known = ", ".join(workspaces) or "none"
        raise ConfigError(f"Nothing is kept about {folder}. The folders with chats are: {known}.")
    return WorkspaceScope(folders), f"all that is kept about {folder}"


def _list_newest(database: Path, store: StoreConfig) -> str:
    """Return the newest chats in words, with their ids."""
    with read_rows(database, UserScope(), store) as rows:
        chats = [row for row in rows.list_chats() if row.parent is None]
    newest = sorted(chats, key=lambda row: row.updated, reverse=True)[:_MAX_LISTED_CHATS]
    if not newest:
        return "There are no chats."
    return "The newest are:\n" + "\n".join(f"  {row.id}  {row.title or 'without a title'}" for row in newest)


def _register_secrets(database: Path, rows: KeptRows, config_file: Path | None) -> None:
    """Register all keys on this machine as secrets, so that none is written into the archive: the keys in the
    configurations of all workspaces, the keys that the user has typed in, and those in the environment."""
    keys = open_key_store(database)
    keys.load()
    trusted = open_trusted_folders(database)
    plugs = find_plugs()
    for folder in [Path.cwd(), *filter(Path.is_dir, map(Path, rows.list_workspaces()))]:
        settings = config.read_config([folder], config_file, trust=trusted, skip_broken_projects=True)
        register_secrets(settings)
        Catalog(plugs, settings, keys).entries()
    for name, value in os.environ.items():
        redaction.register_named_secret(name, value)


def _format_counts(counts: dict[str, int]) -> str:
    """Return the counts as lines, for example `chats: 3`."""
    return "\n".join(f"  {name}: {count:,}" for name, count in counts.items())


def _print(text: str) -> None:
    """Print a text without secrets."""
    sys.stdout.write(f"{redaction.redact(text)}\n")
