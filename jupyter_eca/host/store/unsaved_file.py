"""Owns the files with what could not be stored when a process ended. The next process that opens the store stores it.

    unsaved-20260131-235959-1a2b3c4d.json          waits
    unsaved-20260131-235959-1a2b3c4d.json.taken    a process stores it now

It must not know the database: `store` does.
"""

from __future__ import annotations

import json
import logging
import os
import secrets
from contextlib import suppress
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

from jupyter_eca.host.store.spending import Spending
from jupyter_eca.protocol.event import Event

if TYPE_CHECKING:
    from pathlib import Path

_log = logging.getLogger(__name__)

UNSAVED_PATTERN: Final = "unsaved-*"
"""The names of the files."""


@dataclass(frozen=True, slots=True)
class UnsavedRows:
    """What could not be stored."""

    workspace: str
    """The workspace of the chats."""
    events: list[Event]
    """The events, in their order."""
    spent: list[Spending]
    """The costs of requests."""
    transaction: str = ""
    """The transaction that may have stored the first of them, see `UnknownCommit`; "" for none."""
    count: int = 0
    """How many of the events this transaction has stored."""
    spent_count: int = 0
    """How many of the costs this transaction has stored."""


def write_unsaved(folder: Path, rows: UnsavedRows) -> Path:
    """Write rows to a new file in a folder, which only the user can read. Return it. Raises: OSError."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    name = f"unsaved-{datetime.now():%Y%m%d-%H%M%S}-{secrets.token_hex(4)}.json"  # noqa: DTZ005  # in the user's time
    data: dict[str, Any] = {
        "workspace": rows.workspace,
        "transaction": [rows.transaction, rows.count, rows.spent_count],
        "events": [event.model_dump(mode="json", by_alias=True) for event in rows.events],
        "spent": [asdict(spending) for spending in rows.spent],
    }
    # The name is given last, so that nobody takes half of the file.
    fresh = folder / f".{name}"
    with os.fdopen(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
        json.dump(data, file)
    return fresh.rename(folder / name)


def take_unsaved(folder: Path, workspace: str) -> list[tuple[Path, UnsavedRows]]:
    """Return what could not be stored of a workspace, with its files. Other processes do not take these files any more.
    The caller deletes them when their rows are stored. Blocks."""
    found: list[tuple[Path, UnsavedRows]] = []
    for path in sorted(folder.glob(f"{UNSAVED_PATTERN}.json")):
        try:
            rows = _read(path)
            if rows.workspace == workspace:
                found.append((path.rename(path.with_name(f"{path.name}.taken")), rows))
        except FileNotFoundError:
            continue  # another process has taken it
        except (OSError, ValueError, TypeError, KeyError):
            _log.exception("%s cannot be read", path)
    return found


def delete_unsaved(path: Path) -> None:
    """Delete a file whose rows are stored."""
    with suppress(OSError):
        path.unlink()


def _read(path: Path) -> UnsavedRows:
    """Return the rows of a file. Raises: OSError, ValueError, TypeError, KeyError."""
    data = json.loads(path.read_text(encoding="utf-8"))
    events = [Event.model_validate(event) for event in data["events"]]
    return UnsavedRows(data["workspace"], events, [Spending(**spent) for spent in data["spent"]], *data["transaction"])
