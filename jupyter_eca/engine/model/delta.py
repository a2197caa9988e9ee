"""The pieces of a provider's stream, in neutral words. A provider yields them in the order in which they came.

They must not know any vendor. The request that they answer is in `request`.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class TextDelta:
    """A piece of text."""

    text: str


@dataclass(frozen=True, slots=True)
class ReasoningDelta:
    """A piece of reasoning."""

    text: str


@dataclass(frozen=True, slots=True)
class ReasoningEnd:
    """The reasoning so far is complete."""

    signature: str = ""
    """What must go back to the vendor with it, word for word."""


@dataclass(frozen=True, slots=True)
class ToolCallDelta:
    """A piece of a tool call."""

    index: int
    """Tells the calls of one reply apart: some servers repeat ids or leave them out."""
    id: str = ""
    """The vendor's id of the call, if there is one."""
    name: str = ""
    """The tool that is called; empty in the later pieces."""
    arguments_text: str = ""
    """A piece of the arguments, which are JSON."""
    signature: str = ""
    """What must go back to the vendor with the call, word for word."""


@dataclass(frozen=True, slots=True)
class UsageDelta:
    """What this request used."""

    input_tokens: int
    """Tokens that were read, without those that the cache served or took."""
    output_tokens: int
    """Tokens that were written."""
    cache_read_tokens: int = 0
    """Tokens that the vendor's cache served."""
    cache_write_tokens: int = 0
    """Tokens that the vendor's cache took."""
    web_searches: int = 0
    """How often the vendor searched the web for it."""
    cost: float | None = None
    """US dollars; None when the price is unknown."""
    context_limit: int = 0
    """The size of the model's context window in tokens; 0 is unknown."""
    output_limit: int = 0
    """How many tokens the model can write; 0 is unknown."""
    replayed: bool = False
    """Whether it was spent when the answer was recorded, and costs nothing now."""


@dataclass(frozen=True, slots=True)
class Remark:
    """A remark for the reader, not for the model: a refusal, an answer cut off at the output limit."""

    text: str


@dataclass(frozen=True, slots=True)
class Paused:
    """The vendor stopped in the middle of a long answer. It writes the rest when it is sent what it has said."""


Delta = TextDelta | ReasoningDelta | ReasoningEnd | ToolCallDelta | UsageDelta | Remark | Paused
