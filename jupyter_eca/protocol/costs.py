"""What was spent: ours, for a page and a cell that tell it."""

from __future__ import annotations

from pydantic import field_validator

from jupyter_eca.protocol.base import ChatId, Model
from jupyter_eca.protocol.context import ChatContext


class Cost(Model):
    """`cost` is in US dollars, of the requests whose price is known; `unpriced` counts the others. Of
    the input tokens `cached_tokens` came from the vendor's cache."""

    requests: int = 0
    input_tokens: int = 0
    cached_tokens: int = 0
    output_tokens: int = 0
    cost: float = 0.0
    unpriced: int = 0


class ChatCostsParams(Model):
    chat_id: ChatId


class ChatCostsResult(Model):
    """`message` is the last that a model answered in the chat since the server began, `notebook` what was asked in the
    `path` that it came from: neither is there when there was none. `today` is that of all chats."""

    message: Cost | None = None
    chat: Cost
    notebook: Cost | None = None
    path: str | None = None
    today: Cost


class ChatEstimateParams(Model):
    """As `chat/prompt`, of which nothing is sent, and nothing stored. With `request` its exact words are wanted."""

    message: str
    chat_id: ChatId | None = None
    model: str | None = None
    agent: str | None = None
    variant: str | None = None
    contexts: tuple[ChatContext, ...] = ()
    request: bool = False

    @field_validator("contexts", mode="before")
    @classmethod
    def _no_contexts(cls, value: object) -> object:
        return value or ()


class ChatEstimateResult(Model):
    """What would be sent to the `model`, in tokens about, and what that costs in US dollars where its price is known:
    the answer costs besides. `request` is the body of the request as JSON text, without the key."""

    model: str
    input_tokens: int
    cost: float | None = None
    context_limit: int | None = None
    request: str | None = None
