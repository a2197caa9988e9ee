"""Finds out from the headers of an answer how long to wait before a server that takes no more requests is asked again.
Pure.

It must not wait or retry: the engine does.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

# The headers that say when a limit is reset. To each belongs a header that says how much of the limit is left. `_LEFT`
# has the end of the name of that second header, by the end of the name of the first.
_RESET = re.compile(r"anthropic-ratelimit-[\w-]+-reset|x-ratelimit-reset(?:-requests|-tokens)?", re.IGNORECASE)
_LEFT = {"-reset-requests": "-remaining-requests", "-reset-tokens": "-remaining-tokens", "-reset": "-remaining"}

# "6m0s", "1.5s", "120ms".
_SPAN = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h|d)")
_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}

# A larger number is a time since the epoch (1970), and not a span. This number is a moment in the year 2001.
_EPOCH = 1e9


def parse_retry_after(headers: Mapping[str, str], now: float) -> float | None:
    """Return the seconds to wait, None when the server did not say. `now` is in seconds since the epoch."""
    if (milliseconds := _parse_number(headers.get("retry-after-ms", ""))) is not None:
        return milliseconds / 1000
    if (wait := _parse_seconds(headers.get("retry-after", ""), now)) is not None:
        return wait
    waits = [_parse_seconds(value, now) for name, value in headers.items() if _is_used_up(name, headers)]
    return max((wait for wait in waits if wait is not None), default=None)


def _is_used_up(name: str, headers: Mapping[str, str]) -> bool:
    """Return whether a header says when a limit is reset, and nothing of this limit is left. If no header says how much
    is left, that counts as nothing."""
    if not _RESET.fullmatch(name):
        return False
    end = next(end for end in _LEFT if name.lower().endswith(end))
    return headers.get(name[: -len(end)] + _LEFT[end], "0").strip() == "0"


def _parse_seconds(value: str, now: float) -> float | None:
    """Return the seconds to wait for a number, a span or a date; None for any other text."""
    value = value.strip()
    if (number := _parse_number(value)) is not None:
        if number > _EPOCH * 1000:
            number /= 1000
        return max(number - now, 0.0) if number > _EPOCH else number
    if value and re.fullmatch(rf"(?:{_SPAN.pattern})+", value):
        return sum(float(count) * _SECONDS[unit] for count, unit in _SPAN.findall(value))
    return _parse_date(value, now)


def _parse_date(value: str, now: float) -> float | None:
    """Return the seconds until a date, None if it is no date."""
    for parse in (datetime.fromisoformat, parsedate_to_datetime):
        try:
            at = parse(value)
        except (ValueError, TypeError):
            continue
        return max((at if at.tzinfo else at.replace(tzinfo=UTC)).timestamp() - now, 0.0)
    return None


def _parse_number(value: str) -> float | None:
    """Return a number that is not negative, None for any other text."""
    return float(value) if re.fullmatch(r"[ \t]*\d{1,18}(?:\.\d{1,9})?[ \t]*", value) else None
