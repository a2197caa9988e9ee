"""Decides how long the vendor's cache should keep the beginning of a conversation. Pure.

Anthropic offers two lifetimes. In tokens at the full price, a request that writes N tokens to the cache and one that
reads them cost:

| lifetime | write | read within it | next request after it |
|---|---|---|---|
| 5 minutes | 1.25 N | 0.1 N | 1.25 N, because all is written again |
| 1 hour | 2 N | 0.1 N | 2 N |

Each request that reads an entry of the cache restarts its lifetime. So an hour costs 0.75 more for each token that
is written, once, and saves 1.15 for each token that is already there, at every pause between 5 minutes and an hour. For
a conversation of S tokens with such a pause it is cheaper as soon as 0.75 S < 1.15 S x (the pauses that follow), that
is, with one more pause of this kind. After a pause of more than 5 minutes the conversation must be written again
anyway, so that is the moment to change the lifetime.

The rule: the first pause of this kind in a chat shows the rhythm of its user, who runs cells and thinks between
questions. From the request after it, the chat is written for an hour. A chat whose requests follow each other within
minutes never pays more, and neither does a chat that continues only on the next day. For example, a chat of 20,000
tokens has three pauses of ten minutes. With the lifetime of 5 minutes, it is written after each pause, for 3 x 25,000 =
75,000 tokens. With this rule, it is written once, after the first pause, and then read twice: for 40,000 + 2 x 2,000 =
44,000 tokens.

It must not know a vendor: `plugins/providers/messages/request.py` writes the lifetime into a request.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

# The lifetimes, in milliseconds.
SHORT_MS: Final = 5 * 60 * 1_000
LONG_MS: Final = 60 * 60 * 1_000


@dataclass(frozen=True, slots=True)
class ChatRhythm:
    """What the times of a chat's requests say about its user."""

    last_request_at: int = 0
    """When the last request was sent, in milliseconds since the epoch; 0 for none."""
    has_paused: bool = False
    """Whether the user has paused for longer than the short lifetime and not longer than the long one."""

    def add_request(self, at: int) -> ChatRhythm:
        """Return the rhythm with one more request. `at` is when it is sent, in milliseconds since the epoch."""
        pause = at - self.last_request_at if self.last_request_at else 0
        return ChatRhythm(at, self.has_paused or SHORT_MS < pause <= LONG_MS)
