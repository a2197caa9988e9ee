"""Counts how much was used, by day and person: messages, requests to models, tokens and US dollars. No content is read.

`jupyter-eca usage` uses it, for the user's own store and for those of others, for example of the students of a course.
A copy of the store is read. So the store itself and its folder are not changed, and a store of an earlier version is
migrated in the copy.
"""

from __future__ import annotations

import json
import shutil
import sqlite3
from collections import defaultdict
from contextlib import closing
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Final

from jupyter_eca.errors import ConfigError, NewerStore
from jupyter_eca.host.store.schema import connect

if TYPE_CHECKING:
    from jupyter_eca.config.schema import StoreConfig
    from jupyter_eca.host.store.connection import DatabaseConnection

# A message of a person: not one that an agent has sent to its subagent, and no picture. A turn belongs to the person
# whose message has begun it.
_MESSAGES: Final = """
    SELECT turn, at, "by" FROM events JOIN chats ON chats.id = events.chat
    WHERE role = 'user' AND {is_text} AND parent IS NULL ORDER BY seq
"""
_REQUESTS: Final = "SELECT turn, at, tokens_in, tokens_out, coalesce(cost, 0.0) FROM spending ORDER BY id"


@dataclass(frozen=True, slots=True)
class DayOfUse:
    """The usage of one person on one day."""

    day: str
    """The day in the time of this machine, as `2026-01-31`."""
    person: str
    """The name by which the server knows the person; "" where it knows only one, and for chats that were deleted."""
    messages: int
    """The messages to the assistant."""
    requests: int
    """The requests to models, those of subagents included."""
    tokens_in: int
    """The tokens of the requests, the cached ones included."""
    tokens_out: int
    """The tokens of the answers."""
    cost: float
    """US dollars, without requests whose price is not known."""


def count_usage(database: Path, since: str = "", settings: StoreConfig | None = None) -> list[DayOfUse]:
    """Return what was used, from the day `since` on (`2026-01-31`; "" for all), the oldest day first. `settings` may
    name another database than the file.

    Raises: ConfigError when the database cannot be read.
    """
    if settings is not None and settings.url is not None:
        from jupyter_eca.host.store.postgres.whole_schema import open_snapshot

        with open_snapshot(settings.url.get_secret_value()) as snapshot:
            return _count(snapshot, since)
    try:
        with TemporaryDirectory(prefix="eca-usage-") as folder:
            copy = Path(folder) / "chats.db"
            # The newest rows are in the `-wal`. It is copied first: what is written between the copies is left out.
            for end in ("-wal", ""):
                source = Path(f"{database}{end}")
                if source.exists() or not end:
                    shutil.copyfile(source, f"{copy}{end}")
            with closing(connect(copy)) as db:
                return _count(db, since)
    except (OSError, sqlite3.Error, NewerStore) as error:
        raise ConfigError(f"{database} cannot be read: {error}.") from error


def _count(db: DatabaseConnection, since: str) -> list[DayOfUse]:
    """Return what was used, see `count_usage`."""
    # The person who has begun each turn, by the id of the turn.
    persons: dict[str, str] = {}
    # By day and person: the messages, requests, tokens in, tokens out and US dollars.
    totals: defaultdict[tuple[str, str], list[float]] = defaultdict(lambda: [0, 0, 0, 0, 0.0])
    for turn, at, by in db.execute(_MESSAGES.format(is_text=db.dialect.has_type("text"))):
        person = _read_person(by)
        persons.setdefault(turn, person)
        totals[_get_day(at), person][0] += 1
    for turn, at, tokens_in, tokens_out, cost in db.execute(_REQUESTS):
        total = totals[_get_day(at), persons.get(turn, "")]
        for place, amount in enumerate((1, tokens_in, tokens_out, cost), 1):
            total[place] += amount
    return [
        DayOfUse(day, person, int(messages), int(requests), int(tokens_in), int(tokens_out), cost)
        for (day, person), (messages, requests, tokens_in, tokens_out, cost) in sorted(totals.items())
        if day >= since
    ]


def _get_day(at: int) -> str:
    """Return the day of a time in milliseconds since the epoch, in the time of this machine."""
    return datetime.fromtimestamp(at / 1000).date().isoformat()  # noqa: DTZ006  # the user's day


def _read_person(by: str | None) -> str:
    """Return the name by which the server knows a person; "" for none. `by` is JSON."""
    return json.loads(by).get("username") or "" if by else ""
