"""The neutral request to a model, and the parts of a conversation.

It must not know any vendor: the modules of `plugins/providers` put it in their vendor's words. How a conversation is
made of events is in `history`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from jupyter_eca.protocol.content import Origin


class Remembers(StrEnum):
    """What "approve for this session" remembers: the tool with what its arguments name (of a tool that changes
    nothing, just the tool), the tool with exactly these arguments, the shell line in its `command`, the tool in the
    folders of its `paths`, or the tool in one notebook."""

    TOOL = "tool"
    ARGUMENTS = "arguments"
    COMMANDS = "commands"
    FOLDER = "folder"
    NOTEBOOK = "notebook"


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """A tool as the model sees it."""

    name: str
    """Unique over all servers."""
    description: str
    """What the model reads about it."""
    parameters: dict[str, Any]
    """A JSON schema."""
    server: str = "eca"
    """The server that offers it; `eca` is ours."""
    origin: Origin = Origin.NATIVE
    """Where it comes from."""
    summary: str = ""
    """A line for the reader with `{argument}` in it: "Reading {path}"."""
    remembers: Remembers = Remembers.TOOL
    """What an approval for the session remembers of a call."""
    paths: tuple[str, ...] = ()
    """The arguments that name a file or a folder. Any argument of another server's tool may name one."""
    code: tuple[str, ...] = ()
    """The arguments with source code that runs in a kernel, now or later."""
    changes: tuple[str, ...] = ()
    """Paths that it changes whatever its arguments are."""
    reads: bool = False
    """Whether it changes nothing. Of a tool of another server, this is only what the server says."""
    reading_agents: tuple[str, ...] = ()
    """For a tool that gives a task to an `agent`: the agents that change nothing."""
    definition: str = ""
    """What a tool that can change is made of, besides its description and its schema."""

    @property
    def is_read_only(self) -> bool:
        """Whether it is certain that it changes nothing. What a server says of its own tool is not certain."""
        return self.reads and self.origin is Origin.NATIVE


@dataclass(frozen=True, slots=True)
class TextPart:
    """Text of the user or of the model."""

    text: str


@dataclass(frozen=True, slots=True)
class ReasoningPart:
    """What the model thought."""

    id: str
    text: str
    signature: str = ""
    """The vendor's proof that the text is its own. Without it the part must not be sent back."""


@dataclass(frozen=True, slots=True)
class ImagePart:
    """A picture."""

    media_type: str
    base64: str
    """The raw data, without a prefix."""


@dataclass(frozen=True, slots=True)
class DocumentPart:
    """A PDF document, whole."""

    name: str
    """What it is called where it came from."""
    base64: str
    """The raw data, without a prefix."""


@dataclass(frozen=True, slots=True)
class ToolUsePart:
    """A call that the model made."""

    id: str
    name: str
    arguments: dict[str, Any]
    signature: str = ""
    """What the vendor wants back with the call, word for word."""


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
    """One message of a conversation."""

    role: str
    """`user` (text, images, documents and tool results) or `assistant` (text, reasoning, tool uses)."""
    parts: tuple[Part, ...]

    @property
    def text(self) -> str:
        """The text of all its text parts."""
        return "".join(part.text for part in self.parts if isinstance(part, TextPart))


# What a model remembers of a chat. `history.remember` makes it of the events.
History = tuple[ChatMessage, ...]


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """What is sent to a model."""

    model: str
    """The full name `provider/model`."""
    system: str
    """The system prompt."""
    messages: tuple[ChatMessage, ...]
    """The conversation."""
    tools: tuple[ToolSpec, ...] = field(default=())
    """What the model may call."""
    variant: str = ""
    """One of those that the model's configuration has, such as a reasoning effort."""
