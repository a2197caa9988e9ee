"""Owns the command `jupyter-eca copy-chats`, which copies the chats of a file of SQLite into PostgreSQL.

It starts no host. `host/store/copied_rows` copies the rows.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from jupyter_eca import config, redaction
from jupyter_eca.errors import ConfigError
from jupyter_eca.host.store.copied_rows import copy_file
from jupyter_eca.host.store.kept_rows import describe_database
from jupyter_eca.workspace.paths import find_database

if TYPE_CHECKING:
    import argparse


def copy_chats(options: argparse.Namespace) -> int:
    """Copy the chats. Return the exit status. Raises: ConfigError."""
    file: Path = options.file or find_database()
    store = config.read_config([Path.cwd()], options.config_file, skip_broken_projects=True).store
    redaction.register_secret(*store.list_passwords())
    if store.url is None:
        raise ConfigError("`store.url` is not set, so there is no database to copy the chats to.")
    if not file.exists():
        raise ConfigError(f"There is no {file}. JUPYTER_DATA_DIR names another folder.")
    count = copy_file(file, store.url.get_secret_value())
    name = describe_database(file, store)
    text = f"{count} chats of {file} were copied to {name}. The file is as it was: delete it if you do not need it."
    sys.stdout.write(f"{redaction.redact(text)}\n")
    return 0
