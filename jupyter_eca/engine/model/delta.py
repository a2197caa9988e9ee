"""Owns the deltas: the pieces in which a model's reply arrives, in the same form for all vendors.

They must not know any vendor. A provider (a module of `plugins/providers`) yields them in the order in which they
arrive. The neighbour `request` has the request that they answer.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class TextDelta:
    """A piece of text."""

    text: str
    """The piece."""


@dataclass(frozen=True, slots=True)
class ReasoningDelta:
    """A piece of reasoning."""

    text: str
    """The piece."""


@dataclass(frozen=True, slots=True)
class ReasoningEnd:
    """The reasoning so far is complete."""

    signature: str = ""
    """A text of the vendor that must be sent back with the reasoning, unchanged; empty for none."""


@dataclass(frozen=True, slots=True)
class ToolCallDelta:
    """A piece of a tool call."""

    index: int
    """The number of the call in its reply. It identifies the call: some servers repeat ids or leave them out."""
    id: str = ""
    """The vendor's id of the call; empty when there is none."""
    name: str = ""
    """The name of the tool in the first piece of a call; empty in the later pieces."""
    arguments_text: str = ""
    """A piece of the arguments, which are JSON."""
    signature: str = ""
    """A text of the vendor that must be sent back with the call, unchanged; empty for none."""


@dataclass(frozen=True, slots=True)
class UsageDelta:
    """The tokens that this request used, and their cost."""

    input_tokens: int
    """The tokens that the model read, except those that were read from the cache or written to it."""
    output_tokens: int
    """The tokens that the model wrote."""
    cache_read_tokens: int = 0
    """The tokens that were read from the vendor's cache."""
    cache_write_tokens: int = 0
    """The tokens that were written to the vendor's cache."""
    cache_write_hour_tokens: int = 0
    """Those of the `cache_write_tokens` that the cache keeps for an hour, which costs more."""
    web_searches: int = 0
    """How often the vendor searched the web for the reply."""
    cost: float | None = None
    """The cost in US dollars; None when the price is unknown."""
    context_limit: int = 0
    """The size of the model's context window in tokens; 0 when it is unknown."""
    output_limit: int = 0
    """The maximum number of tokens that the model can write; 0 when it is unknown."""
    replayed: bool = False
    """Whether the answer is not from a model, but is replayed from a lock file, in which it was recorded. Then the
    tokens are those of the recorded answer, and the replay itself costs nothing."""
    agent: str = ""
    """The outside agent that reports this usage; empty for a model of ours."""


@dataclass(frozen=True, slots=True)
class Remark:
    """A remark of the provider for the user, not for the model: for example, that the answer was cut off at the output
    limit. It is shown as a text of the role `system`."""

    text: str
    """The remark, in whole sentences."""
    is_question: bool = False
    """Whether the remark is a question that an outside agent has asked the user, followed by the answer."""


@dataclass(frozen=True, slots=True)
class Paused:
    """The vendor interrupted a long answer, for example after ten web searches. It writes the rest when it is called
    again with the conversation and the part so far."""


@dataclass(frozen=True, slots=True)
class ImageDelta:
    """An image in the answer of an outside agent."""

    media_type: str
    """The media type, such as `image/png`."""
    base64: str
    """The data in base64, without a `data:` prefix."""


@dataclass(frozen=True, slots=True)
class Activity:
    """What an outside agent does now, or waits for. It is shown while the turn runs."""

    text: str
    """A few words, without a full stop."""


Delta = ImageDelta | TextDelta | ReasoningDelta | ReasoningEnd | ToolCallDelta | UsageDelta | Remark | Activity | Paused
