"""What a turn is made with: the neutral request to a model and its parts. Providers put it in their vendor's words."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from jupyter_eca.protocol.content import Origin


class Remembers(StrEnum):
    """What "approve for this session" remembers: the tool, or each command of the shell line in its `command`."""

    TOOL = "tool"
    COMMANDS = "commands"


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """A tool as the model sees it. `parameters` is a JSON schema. `name` is unique over all servers.

    `summary` is a line for the reader with `{argument}` in it: "Reading {path}".
    """

    name: str
    description: str
    parameters: dict[str, Any]
    server: str = "eca"
    origin: Origin = Origin.NATIVE
    summary: str = ""
    remembers: Remembers = Remembers.TOOL


@dataclass(frozen=True, slots=True)
class TextPart:
    text: str


@dataclass(frozen=True, slots=True)
class ReasoningPart:
    """`signature` is the vendor's proof that the text is its own; without it the part must not be sent back."""

    id: str
    text: str
    signature: str = ""


@dataclass(frozen=True, slots=True)
class ImagePart:
    """`base64` is the raw data, without a prefix."""

    media_type: str
    base64: str


@dataclass(frozen=True, slots=True)
class DocumentPart:
    """A PDF, whole. `base64` is as with images; `name` is what it is called where it came from."""

    name: str
    base64: str


@dataclass(frozen=True, slots=True)
class ToolUsePart:
    """`signature` is what the vendor wants back with the call, word for word."""

    id: str
    name: str
    arguments: dict[str, Any]
    signature: str = ""


@dataclass(frozen=True, slots=True)
class ToolResultPart:
    """What a tool answered."""

    id: str
    """The id of the call."""
    text: str
    """What the model reads."""
    error: bool = False
    """Whether the call failed, or did not run."""
    rule: str = ""
    """The id of the user's rule whose text this is. It is for our own use, and not sent."""


Part = TextPart | ReasoningPart | ImagePart | DocumentPart | ToolUsePart | ToolResultPart


@dataclass(frozen=True, slots=True)
class ChatMessage:
    """`role` is `user` (text, images, documents and tool results) or `assistant` (text, reasoning, tool uses)."""

    role: str
    parts: tuple[Part, ...]

    @property
    def text(self) -> str:
        return "".join(part.text for part in self.parts if isinstance(part, TextPart))


# What a model remembers of a chat. `history.remember` makes it of the events.
History = tuple[ChatMessage, ...]


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """`model` is the full `provider/model` name; `variant` one of those its configuration has (a reasoning effort)."""

    model: str
    system: str
    messages: tuple[ChatMessage, ...]
    tools: tuple[ToolSpec, ...] = field(default=())
    variant: str = ""
