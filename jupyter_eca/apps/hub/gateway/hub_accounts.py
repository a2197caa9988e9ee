"""Decides who may use a model gateway, and how much: the users of a JupyterHub, their limits, and what they have spent.

Callers show their own tokens of the Hub, and the Hub says whose they are. `limits.json` has the limits, and is read
again when it changes. The ledger is a table in an SQLite file, so it survives a restart, and several processes of one
machine can share it.

This module runs in the environment of LiteLLM, which does not have jupyter_eca. It needs Python's own library only, and
must not know LiteLLM: `hub_litellm` does.

    python hub_accounts.py ledger.sqlite

prints what each user has spent in each month, as CSV.
"""

from __future__ import annotations

import json
import sqlite3
import sys
import threading
import time
import urllib.error
import urllib.request
from contextlib import closing
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

# Seconds for which the Hub is not asked again about a token. So a token that was revoked works for this time at most.
KEEP_SECONDS: Final = 30.0
# Seconds for which the last answer about a token counts while the Hub does not answer, for example because it is being
# restarted.
STALE_SECONDS: Final = 300.0
# Seconds that the Hub has to answer.
HUB_SECONDS: Final = 5.0
# The largest number of tokens that are remembered. This bounds the memory that the remembered tokens need.
MAX_TOKENS: Final = 10_000

# The periods for which a budget can be set.
PERIODS: Final = ("day", "week", "month")

# The limits that LiteLLM enforces itself, by their names there.
_LITELLM_LIMITS: Final = ("models", "rpm_limit", "tpm_limit", "max_parallel_requests")


class RefusedRequest(Exception):
    """A request that is refused. Its text is for the user."""

    def __init__(self, message: str, status: int, kind: str) -> None:
        super().__init__(message)
        self.status = status
        """The HTTP status."""
        self.kind = kind
        """The type of the error, which programs compare. LiteLLM uses `budget_exceeded` and `auth_error`, too."""


@dataclass(frozen=True)
class Period:
    """A day, a week or a month in UTC, for which a budget holds."""

    begin: datetime
    """Its first moment."""
    end: datetime
    """The first moment of the next period."""

    @classmethod
    def containing(cls, name: str, moment: datetime) -> Period:
        """Return the period of this kind that contains this moment. `name` is one of `PERIODS`. A week begins on
        Monday."""
        day = moment.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
        if name == "day":
            return cls(day, day + timedelta(days=1))
        if name == "week":
            monday = day - timedelta(days=day.weekday())
            return cls(monday, monday + timedelta(days=7))
        first = day.replace(day=1)
        return cls(first, (first + timedelta(days=31)).replace(day=1))


@dataclass(frozen=True)
class Limits:
    """What a user may do."""

    litellm: dict[str, Any]
    """The limits that LiteLLM enforces itself, by their names there. See `_LITELLM_LIMITS`."""
    budget: float | None = None
    """US dollars for a period, None for no limit."""
    period: str = "month"
    """One of `PERIODS`."""
    contact: str = ""
    """A sentence that says whom to ask."""


@dataclass(frozen=True)
class AdmittedUser:
    """A user whose request is accepted."""

    name: str
    """The name of the user in the Hub."""
    limits: Limits
    """What the user may do."""
    spent: float
    """US dollars in this period, so far."""
    period: Period
    """The period for which the user's budget holds now."""

    def as_arguments(self) -> dict[str, Any]:
        """Return the arguments of `UserAPIKeyAuth`, which is LiteLLM's record of who sends a request."""
        # LiteLLM itself also counts in memory what each key spends, and never resets this count. So each user gets a
        # key of another name for each period.
        key = f"{self.name} since {self.period.begin:%Y-%m-%d}"
        budget = {} if self.limits.budget is None else {"max_budget": self.limits.budget, "spend": self.spent}
        return {"api_key": key, "user_id": self.name, "key_alias": self.name, **self.limits.litellm, **budget}


class SpendingTable:
    """A table of what was spent: a row for each answer. The methods block for about a millisecond."""

    def __init__(self, file: Path) -> None:
        self._file = file
        with closing(self._open()) as database, database:
            database.execute(
                "CREATE TABLE IF NOT EXISTS spending (at REAL NOT NULL, user TEXT NOT NULL, model TEXT NOT NULL,"
                " api TEXT NOT NULL, input_tokens INTEGER NOT NULL, output_tokens INTEGER NOT NULL, cost REAL NOT NULL)"
            )
            database.execute("CREATE INDEX IF NOT EXISTS spending_of_user ON spending (user, at)")

    def add(
        self, user: str, model: str, api: str, input_tokens: int, output_tokens: int, cost: float, at: float
    ) -> None:
        """Add a row for an answer. `model` and `api` have the names that LiteLLM uses. `cost` is in US dollars, and
        `at` is the time of the answer in seconds since 1970."""
        row = (at, user, model, api, input_tokens, output_tokens, cost)
        with closing(self._open()) as database, database:
            database.execute("INSERT INTO spending VALUES (?, ?, ?, ?, ?, ?, ?)", row)

    def sum_up(self, user: str, since: float) -> float:
        """Return the US dollars that a user has spent since a moment, in seconds since 1970."""
        with closing(self._open()) as database:
            query = "SELECT coalesce(sum(cost), 0) FROM spending WHERE user = ? AND at >= ?"
            return float(database.execute(query, (user, since)).fetchone()[0])

    def list_months(self) -> list[tuple[str, str, int, int, int, float]]:
        """Return a row for each month and each user: the month (`2026-01`), the user, the number of answers, the tokens
        of input and output, and the US dollars."""
        with closing(self._open()) as database:
            return database.execute(
                "SELECT strftime('%Y-%m', at, 'unixepoch') AS month, user, count(*), sum(input_tokens),"
                " sum(output_tokens), sum(cost) FROM spending GROUP BY month, user ORDER BY month, user"
            ).fetchall()

    def _open(self) -> sqlite3.Connection:
        """Open the file. Each use has a connection of its own, because each may be in another thread."""
        # Another process may be writing: then the statement waits, for 10 seconds at most.
        database = sqlite3.connect(self._file, timeout=10)
        database.execute("PRAGMA journal_mode = WAL")
        # A failure of the power may lose the last rows, and damages nothing. A failure of a process loses nothing.
        database.execute("PRAGMA synchronous = NORMAL")
        return database


class LimitsFile:
    """The file `limits.json`. A user has the limits of their own entry, else those of the first group in the file that
    they are in, else those of `default`."""

    def __init__(self, file: Path) -> None:
        self._file = file
        # When the file that was read last had been changed, in nanoseconds (-1 before the first read), and its content.
        self._read: tuple[int, dict[str, Any]] = (-1, {})

    def find(self, user: str, groups: list[str]) -> Limits:
        """Return the limits of a user. Raises: RefusedRequest if the file cannot be used."""
        limits = self._load()
        users, by_group = limits.get("users", {}), limits.get("groups", {})
        of_groups = (by_group[name] for name in by_group if name in groups)
        own: dict[str, Any] | None = users.get(user) or next(of_groups, None) or limits.get("default")
        if own is None:
            raise RefusedRequest(_join("You have no access to the models.", limits.get("contact")), 403, "auth_error")
        return Limits(
            litellm={name: own[name] for name in _LITELLM_LIMITS if name in own},
            budget=own.get("budget"),
            period=own.get("period", "month"),
            contact=limits.get("contact", ""),
        )

    def _load(self) -> dict[str, Any]:
        """Read the file again if it has changed. Raises: RefusedRequest."""
        try:
            changed = self._file.stat().st_mtime_ns
            if self._read[0] != changed:
                self._read = changed, _check_limits(json.loads(self._file.read_text("utf-8")))
        except (OSError, ValueError) as error:
            # A mistake in the file must not give anybody access.
            print(f"{self._file} cannot be used: {error}", file=sys.stderr, flush=True)  # noqa: T201  # the service's log
            raise RefusedRequest(
                "The limits of this gateway cannot be read. Tell its administrator.", 503, "limits"
            ) from None
        return self._read[1]


def _check_limits(limits: Any) -> dict[str, Any]:
    """Return the content of `limits.json`. Raises: ValueError for a wrong one."""
    _check(isinstance(limits, dict), "it is no JSON object")
    _check(not limits.keys() - {"contact", "default", "groups", "users"}, "it has an unknown key")
    entries = [("default", limits["default"])] if "default" in limits else []
    for key in ("groups", "users"):
        _check(isinstance(limits.get(key, {}), dict), f"`{key}` is no object")
        entries += limits.get(key, {}).items()
    for name, entry in entries:
        _check(isinstance(entry, dict), f"{name} is no object")
        _check(not entry.keys() - {*_LITELLM_LIMITS, "budget", "period"}, f"{name} has an unknown key")
        # LiteLLM would take a missing or empty list for all models.
        _check(bool(entry.get("models")) and isinstance(entry["models"], list), f"{name} has no list of models")
        _check(entry.get("period", "month") in PERIODS, f"the period of {name} is none of {', '.join(PERIODS)}")
        _check(isinstance(entry.get("budget", 0), int | float), f"the budget of {name} is no number")
    return limits


def _check(is_right: bool, mistake: str) -> None:
    """Raise ValueError with the text `mistake` if a check has failed."""
    if not is_right:
        raise ValueError(mistake)


@dataclass
class HubUsers:
    """Finds the user of a token, by asking the Hub."""

    api_url: str
    """The Hub's API, as in JUPYTERHUB_API_URL."""
    scopes: frozenset[str]
    """A token needs one of these."""
    _known: dict[str, tuple[float, dict[str, Any]]] = field(default_factory=dict[str, "tuple[float, dict[str, Any]]"])
    """For each token: the time at which the Hub was asked, in seconds of the monotonic clock, and its answer."""
    _lock: threading.Lock = field(default_factory=threading.Lock)
    """Held while `_known` changes."""

    def find(self, token: str) -> tuple[str, list[str]]:
        """Return the name and the groups of the user who has a token. Blocks. Raises: RefusedRequest."""
        now = time.monotonic()
        # `user` is the Hub's answer about the token; empty for a token that it does not know.
        asked_at, user = self._known.get(token, (0.0, {}))
        if not user or now - asked_at > KEEP_SECONDS:
            try:
                user = self._ask(token)
            except OSError:
                if not user or now - asked_at > STALE_SECONDS:
                    text = "The Hub does not answer, so nobody can be recognised. Ask again in a minute."
                    raise RefusedRequest(text, 503, "hub_unreachable") from None
            else:
                self._remember(token, now, user)
        if user.get("kind") != "user":
            raise RefusedRequest("This is no token of a user of the Hub, or it has expired.", 401, "auth_error")
        if not self.scopes.intersection(user.get("scopes", ())):
            wanted = " or ".join(sorted(self.scopes))
            raise RefusedRequest(f"This token may not use the models: it needs the scope {wanted}.", 403, "auth_error")
        return str(user["name"]), list(user.get("groups") or ())

    def _ask(self, token: str) -> dict[str, Any]:
        """Return the Hub's answer about a token: the user, with `name`, `kind`, `groups` and `scopes`. It is empty for
        a token that the Hub does not know. Raises: OSError."""
        request = urllib.request.Request(f"{self.api_url}/user", headers={"Authorization": f"token {token}"})  # noqa: S310  # the Hub's own address
        try:
            with _OPENER_WITHOUT_PROXY.open(request, timeout=HUB_SECONDS) as answer:
                return json.load(answer)
        except urllib.error.HTTPError as error:
            error.close()
            if error.code in {401, 403, 404}:
                return {}
            raise
        except ValueError as error:  # a token that cannot be sent, or an answer of another server
            raise OSError("no answer of a Hub") from error

    def _remember(self, token: str, now: float, user: dict[str, Any]) -> None:
        """Keep the answer of the Hub about a token, or forget the token if the Hub does not know it (an empty
        `user`)."""
        with self._lock:
            if len(self._known) >= MAX_TOKENS:
                self._known.clear()
            if user:
                self._known[token] = now, user
            else:
                self._known.pop(token, None)


# Sends requests to the Hub directly. The proxy that the environment may name is for addresses outside, and not for the
# Hub.
_OPENER_WITHOUT_PROXY: Final = urllib.request.build_opener(urllib.request.ProxyHandler({}))


@dataclass(frozen=True)
class Accounts:
    """Decides about each request: by the user whose token it has, the limits of this user, and what was spent."""

    users: HubUsers
    """Finds the user of a token."""
    limits: LimitsFile
    """The limits of each user."""
    ledger: SpendingTable
    """What was spent so far."""

    def admit(self, key: str, *, pays: bool) -> AdmittedUser:
        """Return who sends a request. `key` is the header of the request, and `pays` says whether an answer costs
        money. Blocks. Raises: RefusedRequest."""
        token = key.removeprefix("Bearer ").removeprefix("token ").strip()
        if not token or not token.isascii() or not token.isprintable():
            raise RefusedRequest("A token of the Hub is needed.", 401, "auth_error")
        name, groups = self.users.find(token)
        limits = self.limits.find(name, groups)
        period = Period.containing(limits.period, datetime.now(UTC))
        spent = self.ledger.sum_up(name, period.begin.timestamp())
        if pays and limits.budget is not None and spent >= limits.budget:
            # As LiteLLM answers itself. After 429, many clients would repeat the request.
            raise RefusedRequest(explain_budget(limits, spent, period), 422, "budget_exceeded")
        return AdmittedUser(name, limits, spent, period)


def explain_budget(limits: Limits, spent: float, period: Period) -> str:
    """Return the sentences for a user whose budget is used up: what the budget is, when the next period begins, and
    whom to ask. `spent` is in US dollars."""
    budget = f"{_format_dollars(limits.budget or 0)} a {limits.period}"
    text = f"You have spent {_format_dollars(spent)} of your budget of {budget}."
    return _join(f"{text} It begins anew on {period.end:%Y-%m-%d} at 00:00 UTC.", limits.contact)


def _format_dollars(dollars: float) -> str:
    """Return an amount with its currency; four decimal places for less than ten cents."""
    return f"${dollars:.2f}" if dollars >= 0.1 or not dollars else f"${dollars:.4f}"


def _join(*sentences: str | None) -> str:
    """Return the sentences that are not empty, with blanks between them."""
    return " ".join(filter(None, sentences))


if __name__ == "__main__":
    print("month,user,answers,input tokens,output tokens,US dollars")  # noqa: T201  # the output of a command
    for row in SpendingTable(Path(sys.argv[1])).list_months():
        print(*row[:5], f"{row[5]:.4f}", sep=",")  # noqa: T201  # the same
