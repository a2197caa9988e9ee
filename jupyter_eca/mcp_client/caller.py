"""For whom a server is used, and what it may want of them meanwhile. Knows no SDK and no host."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Final, Protocol

from jupyter_eca.workspace.tool_result import unheard

if TYPE_CHECKING:
    from collections.abc import Callable

    from jupyter_eca.engine.model.request import ChatMessage
    from jupyter_eca.workspace.ports import Questions
    from jupyter_eca.workspace.tool_result import Report


@dataclass(frozen=True, slots=True)
class Behalf:
    """`chat` is empty where no chat wants it, `call` the id of the tool call. `report` is told how far it has come."""

    chat: str = ""
    call: str = ""
    report: Callable[[Report], None] = unheard


NOBODY: Final = Behalf()


@dataclass(frozen=True, slots=True)
class Sampling:
    """What a server wants a model to be asked. `stops` are texts before which the answer ends."""

    server: str
    messages: tuple[ChatMessage, ...]
    max_tokens: int
    system: str = ""
    stops: tuple[str, ...] = ()


class Stop(StrEnum):
    """Why an answer ended, in the protocol's words."""

    END = "endTurn"
    TOKENS = "maxTokens"
    SEQUENCE = "stopSequence"


@dataclass(frozen=True, slots=True)
class Sampled:
    text: str
    model: str
    stop: Stop


class People(Protocol):
    """Who is there in a chat."""

    def questions(self, chat: str) -> Questions | None:
        """None where nobody can answer."""
        ...

    async def sample(self, chat: str, wanted: Sampling) -> Sampled:
        """Ask the chat's model. Raises: SamplingRefusal, ProviderError."""
        ...
