"""Counts how much was used, by day and person: messages, requests to models, tokens and US dollars. No content is read.

`jupyter-eca usage` uses it, for the user's own store and for those of others, for example of the students of a course.
A copy of the store is read. So the store itself and its folder are not changed, and a store of an earlier version is
migrated in the copy.
"""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from jupyter_eca.errors import ConfigError, NewerStore
from jupyter_eca.host.store.schema import connect

# A message of a person: not one that an agent has sent to its subagent, and no picture. A turn belongs to the person
# whose message has begun it.
_QUERY: Final = """
    WITH asked AS (
        SELECT turn, date(at / 1000, 'unixepoch', 'localtime') AS day, coalesce(json_extract("by", '$.username'), '')
            AS person FROM events JOIN chats ON chats.id = events.chat
        WHERE role = 'user' AND json_extract(content, '$.type') = 'text' AND parent IS NULL
    ),
    used AS (
        SELECT day, person, 1 AS messages, 0 AS requests, 0 AS tokens_in, 0 AS tokens_out, 0.0 AS cost FROM asked
        UNION ALL
        SELECT date(at / 1000, 'unixepoch', 'localtime'),
            coalesce((SELECT person FROM asked WHERE asked.turn = spending.turn LIMIT 1), ''),
            0, 1, tokens_in, tokens_out, coalesce(cost, 0.0) FROM spending
    )
    SELECT day, person, sum(messages), sum(requests), sum(tokens_in), sum(tokens_out), sum(cost)
    FROM used WHERE day >= ? GROUP BY day, person ORDER BY day, person
"""


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


def count_usage(database: Path, since: str = "") -> list[DayOfUse]:
    """Return what was used, from the day `since` on (`2026-01-31`; "" for all), the oldest day first.

    Raises: ConfigError when the database cannot be read.
    """
    try:
        with TemporaryDirectory(prefix="eca-usage-") as folder:
            copy = Path(folder) / "chats.db"
            # The newest rows are in the `-wal`. It is copied first: what is written between the copies is left out.
            for end in ("-wal", ""):
                source = Path(f"{database}{end}")
                if source.exists() or not end:
                    shutil.copyfile(source, f"{copy}{end}")
            with closing(connect(copy)) as db:
                return [DayOfUse(*row) for row in db.execute(_QUERY, (since,))]
    except (OSError, sqlite3.Error, NewerStore) as error:
        raise ConfigError(f"{database} cannot be read: {error}.") from error
