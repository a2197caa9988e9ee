"""Whether a request that failed is repeated, and after how long. Pure: chance comes in as a number, waiting goes out.

A wait doubles with each attempt. Half of it is left to chance, so that many chats that failed at once do not come back
at once. A server that says when to come back is not asked before; one that says "in an hour" is not waited for.
Which errors may be repeated is decided in `plugins/providers`.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil
from typing import Final

from jupyter_eca.errors import FailureKind

# ECA's own (3.12), but for the network: a name that is not found is a mistyped one more often than one that comes back.
MAX_RETRIES: Final = 10
LIMITS: Final = {FailureKind.PREMATURE: 3, FailureKind.NETWORK: 5}
MAX_WAIT_SECONDS: Final = 60.0

FIRST_WAIT_SECONDS = 1.0

# Every second is shown of the last ten, and every fifth before: each is an event that is stored.
_COARSE_SECONDS = 10.0
_COARSE_STEP = 5.0


@dataclass(frozen=True, slots=True)
class Failure:
    """A failure of a request that may be repeated."""

    kind: FailureKind = FailureKind.OTHER
    """What went wrong."""
    label: str = ""
    """What the reader is shown of it; empty for the words of its kind."""
    retry_after: float | None = None
    """Seconds after which the server wants to be asked again; None when it does not say."""
    jitter: float = 0.0
    """Drawn from 0 to 1."""
    limit: int = MAX_RETRIES
    """How often the request is repeated at most."""
    max_wait: float = MAX_WAIT_SECONDS
    """A server that wants to be left alone for longer, in seconds, is not asked again."""


@dataclass(frozen=True, slots=True)
class Retry:
    """A repetition that is waited for."""

    attempt: int
    """Its number, from 1."""
    limit: int
    """How many there are at most."""
    left: float
    """Seconds until then."""
    failure: Failure
    """What it repeats."""

    @property
    def pause(self) -> float:
        """Seconds until the reader is shown another number, or it is time."""
        if self.left > _COARSE_SECONDS:
            return self.left - _COARSE_STEP * (ceil(self.left / _COARSE_STEP) - 1)
        return self.left - max(ceil(self.left) - 1, 0)


def plan_retry(failure: Failure | None, last: Retry | None) -> Retry | None:
    """Return the repetition after a failure, None when it is not worth one. `last` is the one that has just failed."""
    if failure is None:
        return None
    attempt = last.attempt + 1 if last else 1
    limit = min(failure.limit, LIMITS.get(failure.kind, MAX_RETRIES))
    if attempt > limit or (failure.retry_after or 0.0) > failure.max_wait:
        return None
    if failure.retry_after is not None:
        return Retry(attempt, limit, max(failure.retry_after, 0.0), failure)
    wait = min(FIRST_WAIT_SECONDS * 2 ** (attempt - 1), failure.max_wait)
    return Retry(attempt, limit, wait * (1 + failure.jitter) / 2, failure)
