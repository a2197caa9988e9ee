"""Owns the remarks to the user about an answer that ended early. All providers use the same remarks."""

from __future__ import annotations

from typing import Final

# The answer is too long, the context window is full, or the model has refused to answer.
TOO_LONG: Final = "The answer was cut off: it reached the limit for one answer. Say `go on` to have the rest."
FULL: Final = (
    "The answer was cut off: the chat fills the model's context window. Start a new one with what is still needed."
)
DECLINED: Final = (
    "The model declined to answer{why}. Ask in other words, or start a new chat: this one may stay declined."
)
"""`{why}` is replaced by a colon and the model's own explanation, or by nothing."""


def describe_refusal(why: str = "") -> str:
    """Return the remark for a refusal. `why` is the model's own explanation."""
    return DECLINED.format(why=f": {why.strip().rstrip('.')}" if why.strip() else "")
