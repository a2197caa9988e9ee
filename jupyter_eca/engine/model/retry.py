"""Whether a request that failed is repeated, and after how long. Pure: chance comes in as a number, waiting goes out.

A wait doubles with each attempt. Half of it is left to chance, so that many chats that failed at once do not come back
at once. A server that says when to come back is not asked before; one that says "in an hour" is not waited for.
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
    """Of a request that may be repeated, at most `limit` times. `jitter` is drawn from 0 to 1; a server that wants to
    be left alone for longer than `max_wait` is not asked again. `label` is what the reader is shown of it."""

    kind: FailureKind = FailureKind.OTHER
    label: str = ""
    retry_after: float | None = None
    jitter: float = 0.0
    limit: int = MAX_RETRIES
    max_wait: float = MAX_WAIT_SECONDS


@dataclass(frozen=True, slots=True)
class Retry:
    """The `attempt`th of `limit` repetitions, `left` seconds from now."""

    attempt: int
    limit: int
    left: float
    failure: Failure

    @property
    def pause(self) -> float:
        """Until the reader is shown another number, or it is time."""
        if self.left > _COARSE_SECONDS:
            return self.left - _COARSE_STEP * (ceil(self.left / _COARSE_STEP) - 1)
        return self.left - max(ceil(self.left) - 1, 0)


def planned(failure: Failure | None, last: Retry | None) -> Retry | None:
    """The repetition after a failure, None when it is not worth one. `last` is the one that has just failed."""
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
