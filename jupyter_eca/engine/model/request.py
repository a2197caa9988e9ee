"""Owns the request to a model and the parts of a conversation, in the same form for all vendors.

It must not know any vendor: the modules of `plugins/providers` translate the request for theirs. Its neighbour
`history` makes a conversation from the events of a chat.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final

from jupyter_eca.protocol.content import Origin

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


# How many pictures of one result or one notebook are sent to a model, at most. Each costs as much as a page of text,
# and the last ones matter most.
MAX_PICTURES: Final = 4


class ApprovalCoverage(StrEnum):
    """Which later calls an approval of a tool call covers, if the user chooses "approve for this session"."""

    TOOL = "tool"
    """All calls of the tool if it changes nothing. Otherwise those whose arguments name the same folders, addresses and
    texts, see `approval/named_arguments`."""
    ARGUMENTS = "arguments"
    """Calls with exactly the same arguments."""
    COMMANDS = "commands"
    """Calls with the same shell line in the argument `command`, or with the same programs if they only read."""
    FOLDER = "folder"
    """Calls whose `paths` are in the same folders."""
    NOTEBOOK = "notebook"
    """Calls for the same notebook."""


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """A tool as the model sees it."""

    name: str
    """The name of the tool. No other server has a tool of this name."""
    description: str
    """The description that the model reads."""
    parameters: dict[str, Any]
    """The JSON schema of the arguments."""
    server: str = "eca"
    """The server that offers the tool; `eca` for our own tools."""
    origin: Origin = Origin.NATIVE
    """The kind of the server, see `Origin`."""
    summary: str = ""
    """A line for the user, with places for arguments: "Reading {path}"."""
    approval_covers: ApprovalCoverage = ApprovalCoverage.TOOL
    """Which later calls "approve for this session" covers."""
    paths: tuple[str, ...] = ()
    """The names of the arguments that are paths. For a tool of another server, any argument may be a path."""
    code: tuple[str, ...] = ()
    """The names of the arguments with source code that runs in a kernel, now or later."""
    other_names: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    """For an argument, by its name: the other names that the tool accepts for it. {"cells": ("cell",)}"""
    changes: tuple[str, ...] = ()
    """Paths that the tool always changes, whatever its arguments are."""
    read_only_hint: bool = False
    """Whether the tool changes nothing, as those say who offer it. This is the `readOnlyHint` of MCP. For a tool of
    another server it is only a claim, and `is_read_only` does not believe it."""
    reading_agents: tuple[str, ...] = ()
    """For a tool that gives a task to the agent in its argument `agent`: the names of the agents that change nothing. A
    call with one of these names counts as a call that only reads."""
    revertible: bool = False
    """Whether the tool only edits cells or text files, and everything that it changes can be shown and undone."""
    client_asks: bool = False
    """Whether a client runs the tool and can ask its user itself. Then the user is asked only if a rule says so."""
    definition: str = ""
    """The command of a custom tool, which the user can change at any time. An approval for the session no longer counts
    when it has changed. Empty for other tools."""
    about_sandbox: tuple[str, ...] = ()
    """The names of the arguments that are about the sandbox. They are described to a model only if the user has
    switched the sandbox on."""
    parts: Mapping[str, ToolSpec] = field(default_factory=dict[str, "ToolSpec"])
    """For a tool that does several things in one call: for each of these things, the tool that does only this, see
    `engine/approval/call_parts.py`. A tool that is missing here is switched off."""
    replaced_by: str = ""
    """The name of our tool that replaces this one. This tool is no longer offered to models. It still works in chats
    that know it, in rules with its name, and over MCP. Empty for all other tools."""

    agent: str = ""
    """The name of the outside agent that runs the calls of this tool itself; empty for all other tools."""

    @property
    def is_read_only(self) -> bool:
        """Whether the tool certainly changes nothing. A server may claim falsely that its tool only reads."""
        return self.read_only_hint and self.origin is Origin.NATIVE

    def rename_arguments(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Return the arguments under their own names. The model may have used one of `other_names`."""
        own = dict(arguments)
        for name, others in self.other_names.items():
            used = next((other for other in others if other in own), None)
            if name not in own and used is not None:
                own[name] = own.pop(used)
        return own


@dataclass(frozen=True, slots=True)
class TextPart:
    """Text of the user or of the model."""

    text: str
    """The text."""


@dataclass(frozen=True, slots=True)
class ReasoningPart:
    """Reasoning of the model."""

    id: str
    """The id of the reasoning in the events of the chat."""
    text: str
    """The text of the reasoning."""
    signature: str = ""
    """The vendor's proof that the text comes from its model. Without it, the part must not be sent back."""


@dataclass(frozen=True, slots=True)
class ImagePart:
    """A picture."""

    media_type: str
    """The media type, such as `image/png`."""
    base64: str
    """The data in base64, without a `data:` prefix."""
    name: str = ""
    """The name of the picture in the text of a tool's result: "picture 1 of cell 27". Empty for none."""


@dataclass(frozen=True, slots=True)
class DocumentPart:
    """A whole PDF document."""

    name: str
    """The name of the file or the address that it comes from."""
    base64: str
    """The data in base64, without a `data:` prefix."""


@dataclass(frozen=True, slots=True)
class ToolUsePart:
    """A tool call that the model made."""

    id: str
    """The id of the call."""
    name: str
    """The name of the tool."""
    arguments: dict[str, Any]
    """The arguments of the call."""
    signature: str = ""
    """A text of the vendor that must be sent back with the call, unchanged; empty for none."""


@dataclass(frozen=True, slots=True)
class ToolResultPart:
    """The result of a tool call."""

    id: str
    """The id of the call."""
    text: str
    """The text that the model reads."""
    error: bool = False
    """Whether the call failed or did not run."""
    fetched_rule: str = ""
    """The id of the instruction rule whose text the result is; else empty. Instruction rules are texts of the user for
    some files, which the model fetches with `fetch_rule`. The id shows which rules the model has read. It is not sent
    to the vendor."""
    images: tuple[ImagePart, ...] = ()
    """The pictures of the result. A provider whose API cannot have them in a result sends them after the results."""


Part = TextPart | ReasoningPart | ImagePart | DocumentPart | ToolUsePart | ToolResultPart


@dataclass(frozen=True, slots=True)
class ChatMessage:
    """One message of a conversation."""

    role: str
    """`user` (text, images, documents and tool results) or `assistant` (text, reasoning, tool uses)."""
    parts: tuple[Part, ...]
    """The parts of the message, in order. There is at least one."""

    @property
    def text(self) -> str:
        """The text of all its text parts."""
        return "".join(part.text for part in self.parts if isinstance(part, TextPart))


# The conversation that a model reads. `history.add_event` computes it from the events of a chat.
History = tuple[ChatMessage, ...]


def list_offered(tools: Iterable[ToolSpec]) -> tuple[ToolSpec, ...]:
    """Return the tools that are offered to a model."""
    return tuple(tool for tool in tools if not tool.replaced_by)


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """A request to a model."""

    model: str
    """The full name `provider/model`."""
    system: str
    """The system prompt."""
    messages: tuple[ChatMessage, ...]
    """The conversation."""
    tools: tuple[ToolSpec, ...] = field(default=())
    """The tools that the model may call."""
    variant: str = ""
    """The name of a variant from the model's configuration, such as a reasoning effort; empty for no variant."""
    cached_for_hour: bool = False
    """Whether the vendor's cache should keep the request for an hour, if the vendor offers that. See
    `cache_lifetime`."""
