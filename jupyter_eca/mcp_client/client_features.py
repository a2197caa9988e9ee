"""Defines what an MCP server may request from us while it is used (`ClientFeatures`), and who uses it (`McpCaller`).

MCP calls these requests client features, and there are two of them. Elicitation is a question to the user, and sampling
is a request to a model. The module must not know the SDK or the host. The host implements `ClientFeatures` in
`host/turn/sampling.py`, and `server_requests.py` uses it.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Final, Protocol

from jupyter_eca.workspace.tool_result import ignore_report

if TYPE_CHECKING:
    from collections.abc import Callable

    from jupyter_eca.engine.model.request import ChatMessage
    from jupyter_eca.workspace.ports import QuestionAsker
    from jupyter_eca.workspace.tool_result import Report


@dataclass(frozen=True, slots=True)
class McpCaller:
    """Who uses a server: a chat, and one of its tool calls."""

    chat: str = ""
    """The id of the chat; empty when the server is not used for a chat."""
    call: str = ""
    """The id of the tool call; empty when there is none."""
    report: Callable[[Report], None] = ignore_report
    """Called with each report of the call's progress."""


NO_CALLER: Final = McpCaller()
"""For requests that we send to a server ourselves, without a chat."""


@dataclass(frozen=True, slots=True)
class SamplingRequest:
    """A sampling request (`sampling/createMessage`): what a server wants to ask a model."""

    server: str
    """The name of the server."""
    messages: tuple[ChatMessage, ...]
    """The conversation that the model is to continue."""
    max_tokens: int
    """The largest number of tokens of the answer."""
    system: str = ""
    """The system prompt; empty when the server gives none."""
    stops: tuple[str, ...] = ()
    """The stop sequences. The answer ends before the first of them."""


class StopReason(StrEnum):
    """Why an answer ended. The values are those of MCP."""

    END = "endTurn"
    """The model ended its answer."""
    TOKENS = "maxTokens"
    """The answer reached `max_tokens`."""
    SEQUENCE = "stopSequence"
    """The answer reached one of the stop sequences."""


@dataclass(frozen=True, slots=True)
class SamplingResult:
    """The answer of the model to a sampling request."""

    text: str
    """The text of the answer."""
    model: str
    """The full name of the model."""
    stop: StopReason
    """Why the answer ended."""


class ClientFeatures(Protocol):
    """What a server may request from us while a chat uses it: elicitation and sampling."""

    def find_question_asker(self, chat: str) -> QuestionAsker | None:
        """Return what asks the users of a chat; None when no client of the chat can answer."""
        ...

    async def sample(self, chat: str, request: SamplingRequest, /) -> SamplingResult:
        """Send a sampling request to the model of the chat, and return the answer.

        Raises: SamplingRefusal when the user or the configuration does not allow it; ProviderError when the model
        fails.
        """
        ...
