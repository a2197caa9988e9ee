"""Decides whether a failed request to a model is repeated, and after how many seconds. Pure.

It must not wait or draw random numbers: the host passes a random number in, and waits. Its neighbours in
`plugins/providers` decide which errors may be repeated at all.

The wait doubles with each attempt. Half of it is random. Otherwise many chats that failed at the same moment would send
their requests again at the same moment. If the server says how long to wait, the request is not repeated earlier. If
that is too long, for example an hour, the request is not repeated at all.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil
from typing import Final

from jupyter_eca.errors import FailureKind

# The maximum number of repetitions: in general, and for two kinds of failures. These are ECA's numbers, except the one
# for failures of the network. That one is lower, because a host name that is not found is usually mistyped. `PREMATURE`
# is an answer whose connection ended too early.
MAX_RETRIES: Final = 10
MAX_RETRIES_BY_KIND: Final = {FailureKind.PREMATURE: 3, FailureKind.NETWORK: 5}
MAX_WAIT_SECONDS: Final = 60.0

# The wait before the first repetition. It doubles with each further one.
FIRST_WAIT_SECONDS = 1.0

# During a wait the user sees how many seconds are left: every second of the last ten, and before that every fifth. Each
# number that is shown is a stored event, so not more numbers are shown.
_COARSE_SECONDS = 10.0
_COARSE_STEP_SECONDS = 5.0


@dataclass(frozen=True, slots=True)
class Failure:
    """The failure of a request that may be repeated."""

    kind: FailureKind = FailureKind.OTHER
    """Why the request failed."""
    label: str = ""
    """A short text about the failure for the user; empty to use the text for its kind."""
    retry_after: float | None = None
    """The seconds that the server asks us to wait; None when it does not say."""
    jitter: float = 0.0
    """A random number between 0 and 1."""
    limit: int = MAX_RETRIES
    """The maximum number of repetitions that the settings of the provider allow. For some kinds the limit is lower:
    `MAX_RETRIES_BY_KIND`."""
    max_wait: float = MAX_WAIT_SECONDS
    """The longest wait in seconds, from the settings of the provider. If the server asks for a longer one, the request
    is not repeated."""


@dataclass(frozen=True, slots=True)
class Retry:
    """A planned repetition of a request."""

    attempt: int
    """The number of the repetition, from 1."""
    limit: int
    """The maximum number of repetitions for this failure: the lower one of `Failure.limit` and the limit of its
    kind."""
    seconds_left: float
    """The seconds until the repetition."""
    failure: Failure
    """The failure that is the reason for the repetition."""

    @property
    def next_wait_seconds(self) -> float:
        """The seconds until the next change: either the user must see a smaller number of seconds, or the request is
        repeated. The whole wait consists of several such waits: for 23.4 seconds, first 3.4, then 5 and 5, and then 1
        for each of the last ten."""
        if self.seconds_left > _COARSE_SECONDS:
            return self.seconds_left - _COARSE_STEP_SECONDS * (ceil(self.seconds_left / _COARSE_STEP_SECONDS) - 1)
        return self.seconds_left - max(ceil(self.seconds_left) - 1, 0)


def plan_retry(failure: Failure | None, last: Retry | None) -> Retry | None:
    """Return the repetition to make after a failed request; None when the request must not be repeated.

    `failure` is None for an error that may never be repeated. `last` is the repetition that has just failed; None when
    the first request has failed.
    """
    if failure is None:
        return None
    attempt = last.attempt + 1 if last else 1
    limit = min(failure.limit, MAX_RETRIES_BY_KIND.get(failure.kind, MAX_RETRIES))
    if attempt > limit or (failure.retry_after or 0.0) > failure.max_wait:
        return None
    if failure.retry_after is not None:
        return Retry(attempt, limit, max(failure.retry_after, 0.0), failure)
    wait = min(FIRST_WAIT_SECONDS * 2 ** (attempt - 1), failure.max_wait)
    return Retry(attempt, limit, wait * (1 + failure.jitter) / 2, failure)
