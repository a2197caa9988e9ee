"""When a server that takes no more requests wants to be asked again."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from jupyter_eca.plugins.providers.connection.retry_after import parse_retry_after

NOON = datetime(2026, 11, 22, 12, tzinfo=UTC).timestamp()


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after": "7"}, 7),
        ({"retry-after": "0.5"}, 0.5),
        ({"retry-after-ms": "1500", "retry-after": "2"}, 1.5),
        ({"retry-after": "Sun, 22 Nov 2026 12:00:20 GMT"}, 20),
        ({"retry-after": "Sun, 22 Nov 2026 11:00:00 GMT"}, 0),
        ({"anthropic-ratelimit-tokens-reset": "2026-11-22T12:00:09Z"}, 9),
        ({"anthropic-ratelimit-tokens-reset": "2026-11-22T11:59:09Z"}, 0),
        ({"x-ratelimit-reset-requests": "6m0s"}, 360),
        ({"x-ratelimit-reset-tokens": "120ms"}, 0.12),
        ({"x-ratelimit-reset": str(int(NOON) + 30)}, 30),
        ({"x-ratelimit-reset": f"{int(NOON) + 30}000"}, 30),
    ],
)
def test_a_server_says_when_in_its_own_way(headers: dict[str, str], seconds: float) -> None:
    assert parse_retry_after(headers, NOON) == pytest.approx(seconds)  # pyright: ignore[reportUnknownMemberType]  # untyped


def test_only_the_limit_that_is_used_up_counts() -> None:
    headers = {
        "x-ratelimit-remaining-requests": "99",
        "x-ratelimit-reset-requests": "1h",
        "x-ratelimit-remaining-tokens": "0",
        "x-ratelimit-reset-tokens": "2s",
    }
    assert parse_retry_after(headers, NOON) == 2


@pytest.mark.parametrize("value", ["", "soon", "-1", "NaN", "1e9", "9" * 400, "5 minutes"])
def test_what_is_no_time_says_nothing(value: str) -> None:
    names = ("retry-after", "retry-after-ms", "x-ratelimit-reset", "anthropic-ratelimit-requests-reset")
    assert parse_retry_after(dict.fromkeys(names, value), NOON) is None


def test_a_number_with_a_control_character_before_it_is_no_number() -> None:
    assert parse_retry_after({"retry-after-ms": "\x1f20"}, NOON) is None
