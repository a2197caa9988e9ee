"""Owns the messages about the costs of requests to models, for the panel and for `%eca`.

They are our additions to ECA, the protocol that our clients speak. This module must not know any price: `host.costs`
computes the costs. `chat` is its neighbour: an estimate has a prompt's fields.
"""

from __future__ import annotations

from typing import Annotated

from jupyter_eca.protocol.base import EMPTY_IS_DEFAULT, ChatId, Model
from jupyter_eca.protocol.context import ChatContext


class Cost(Model):
    """The tokens and the cost of some requests."""

    requests: int = 0
    """The number of requests."""
    input_tokens: int = 0
    cached_tokens: int = 0
    """How many of the input tokens came from the vendor's cache."""
    output_tokens: int = 0
    cost: float = 0.0
    """US dollars for the requests whose price is known."""
    unpriced: int = 0
    """The number of requests whose price is not known."""


class OutsideCost(Model):
    """What an outside agent says that it has cost in a chat. No budget counts it."""

    agent: str
    """The name of the agent for the user."""
    cost: float | None = None
    """US dollars; absent when the agent does not report them."""


class ChatCostsParams(Model):
    """Asks for the costs of a chat."""

    chat_id: ChatId


class ChatCostsResult(Model):
    """The costs of a chat, and of other groups of requests."""

    message: Cost | None = None
    """The requests for the last answer in the chat; absent when there was no answer since the server started."""
    chat: Cost
    notebook: Cost | None = None
    """The requests for all prompts from the notebook at `path`; absent when there were none."""
    path: str | None = None
    """The notebook that the last prompt of the chat came from."""
    today: Cost
    """The requests of today in all chats."""
    outside: tuple[OutsideCost, ...] | None = None
    """The outside agents that have answered in the chat and said what they have used. Their costs are in none of
    the others. Absent when there are none."""


class ChatEstimateParams(Model):
    """Asks what a prompt would cost. The fields are those of `chat/prompt`. Nothing is sent to a model or stored."""

    message: str
    chat_id: ChatId | None = None
    model: str | None = None
    agent: str | None = None
    variant: str | None = None
    contexts: Annotated[tuple[ChatContext, ...], EMPTY_IS_DEFAULT] = ()
    request: bool = False
    """Whether to return the body of the request too."""


class ChatEstimateResult(Model):
    """What a prompt would send to the model, and what that would cost. The cost of the answer is not included."""

    model: str
    input_tokens: int
    """About how many tokens would be sent."""
    cost: float | None = None
    """US dollars; absent when the price of the model is not known."""
    context_limit: int | None = None
    """The size of the model's context window in tokens."""
    request: str | None = None
    """The body of the request as JSON text, without the key."""
