"""Owns the command `jupyter-eca usage`: it prints the messages, requests, tokens and costs by day and person. It reads
no contents of chats."""

from __future__ import annotations

import csv
import sys
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Final

from jupyter_eca import redaction
from jupyter_eca.config import read_config
from jupyter_eca.engine.model.budget import format_cost
from jupyter_eca.errors import ConfigError
from jupyter_eca.host.store.kept_rows import describe_database
from jupyter_eca.host.store.usage_counts import count_usage
from jupyter_eca.workspace.paths import find_database

if TYPE_CHECKING:
    import argparse

    from jupyter_eca.config.schema import StoreConfig

# The heads of the columns.
_COLUMNS: Final = ("store", "day", "person", "messages", "requests", "tokens in", "tokens out", "US dollars")


def print_usage(options: argparse.Namespace) -> int:
    """Print the usage in all stores (databases of chats) as CSV. Return the exit status: 1 if a store cannot be read;
    the others are still printed. Raises: ConfigError if `--since` is not a date."""
    try:
        since = date.fromisoformat(options.since).isoformat() if options.since else ""
    except ValueError as error:
        raise ConfigError(f"{options.since!r} is no day. Write it as 2026-01-31.") from error
    table = csv.writer(sys.stdout)
    table.writerow(_COLUMNS)
    status = 0
    stores: list[tuple[Path, StoreConfig | None]] = [(_find_store(path), None) for path in options.store or ()]
    for store, settings in stores or [(find_database(), _read_settings(options.config_file))]:
        try:
            rows = count_usage(store, since, settings)
        except ConfigError as error:
            sys.stderr.write(f"{error}\n")
            status = 1
            continue
        for row in rows:
            amounts = (row.messages, row.requests, row.tokens_in, row.tokens_out, format_cost(row.cost))
            table.writerow((describe_database(store, settings), row.day, row.person, *amounts))
    return status


def _read_settings(config_file: Path | None) -> StoreConfig:
    """Return the settings of the user's own store."""
    settings = read_config([Path.cwd()], config_file, skip_broken_projects=True).store
    redaction.register_secret(*settings.list_passwords())
    return settings


def _find_store(path: Path) -> Path:
    """Return the database for a path that may also be the data folder of Jupyter, or the home folder of a user."""
    places = (path / "eca" / "chats.db", path / ".local" / "share" / "jupyter" / "eca" / "chats.db")
    return next((place for place in places if place.exists()), path)
