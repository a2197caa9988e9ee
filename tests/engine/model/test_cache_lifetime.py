"""How long the vendor's cache keeps a chat: five minutes, or an hour for a user who pauses between questions."""

from __future__ import annotations

import pytest

from jupyter_eca.engine.model.cache_lifetime import LONG_MS, SHORT_MS, ChatRhythm

MINUTE = 60_000
BEGIN = 1_800_000_000_000


@pytest.mark.parametrize(
    ("pauses", "for_hour"),
    [
        ((), False),
        ((1 * MINUTE, 5 * MINUTE), False),
        ((1 * MINUTE, 6 * MINUTE), True),
        ((60 * MINUTE,), True),
        ((61 * MINUTE, 24 * 60 * MINUTE), False),
        ((10 * MINUTE, 1 * MINUTE, 24 * 60 * MINUTE), True),
    ],
)
def test_a_pause_that_only_the_long_lifetime_bridges_shows_the_rhythm(pauses: tuple[int, ...], for_hour: bool) -> None:
    rhythm, at = ChatRhythm().add_request(BEGIN), BEGIN
    for pause in pauses:
        at += pause
        rhythm = rhythm.add_request(at)
    assert rhythm.has_paused is for_hour
    assert (SHORT_MS, LONG_MS) == (5 * MINUTE, 60 * MINUTE)
