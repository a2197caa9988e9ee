"""What a provider's stream says, in neutral pieces. A provider yields these in the order they came."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class TextDelta:
    text: str


@dataclass(frozen=True, slots=True)
class ReasoningDelta:
    text: str


@dataclass(frozen=True, slots=True)
class ReasoningEnd:
    """The reasoning so far is complete. `signature` must go back to the vendor with it, word for word."""

    signature: str = ""


@dataclass(frozen=True, slots=True)
class ToolCallDelta:
    """A piece of a tool call. `index` tells the calls of one reply apart: some servers repeat or omit ids. `signature`
    must go back to the vendor with the call, word for word."""

    index: int
    id: str = ""
    name: str = ""
    arguments_text: str = ""
    signature: str = ""


@dataclass(frozen=True, slots=True)
class UsageDelta:
    """Tokens of this request, and the vendor's own searches of the web for it. `cost` is in US dollars, None when the
    price is unknown; the limits are the model's. What is `replayed` was spent once, and costs nothing now."""

    input_tokens: int
    output_tokens: int
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0
    web_searches: int = 0
    cost: float | None = None
    context_limit: int = 0
    output_limit: int = 0
    replayed: bool = False


@dataclass(frozen=True, slots=True)
class Remark:
    """For the reader, not for the model: a refusal, an answer cut off at the output limit."""

    text: str


@dataclass(frozen=True, slots=True)
class Paused:
    """The vendor stopped in the middle of a long answer, and goes on when it is sent what it has said."""


Delta = TextDelta | ReasoningDelta | ReasoningEnd | ToolCallDelta | UsageDelta | Remark | Paused
