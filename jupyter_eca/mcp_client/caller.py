"""On whose behalf a server is used, and which client features (MCP's word) the server may use meanwhile: elicitation
and sampling. It knows no SDK and no host; the host implements `ClientFeatures`.
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
    """Who uses a server."""

    chat: str = ""
    """The id of the chat; empty when no chat uses the server."""
    call: str = ""
    """The id of the tool call."""
    report: Callable[[Report], None] = ignore_report
    """Shows the progress of the call."""


NOBODY: Final = McpCaller()


@dataclass(frozen=True, slots=True)
class Sampling:
    """A sampling request: what a server wants to ask a model."""

    server: str
    messages: tuple[ChatMessage, ...]
    max_tokens: int
    system: str = ""
    stops: tuple[str, ...] = ()
    """Texts before which the answer ends."""


class Stop(StrEnum):
    """Why an answer ended, by the protocol's names."""

    END = "endTurn"
    TOKENS = "maxTokens"
    SEQUENCE = "stopSequence"


@dataclass(frozen=True, slots=True)
class Sampled:
    text: str
    model: str
    stop: Stop


class ClientFeatures(Protocol):
    """The features that a chat has for servers: elicitation and sampling."""

    def questions(self, chat: str) -> QuestionAsker | None:
        """Return the port that asks the user; None where nobody can answer."""
        ...

    async def sample(self, chat: str, wanted: Sampling) -> Sampled:
        """Ask the chat's model. Raises: SamplingRefusal, ProviderError."""
        ...
