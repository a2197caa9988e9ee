"""Owns the parts of messages and of tool calls in the Agent Client Protocol (ACP): texts, images, resources, diffs.

It must not know where they are used: `requests.py` and `updates.py` beside it use them.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from jupyter_eca.protocol.base import Model


class TextBlock(Model):
    """A text, in Markdown."""

    type: Literal["text"] = "text"
    text: str


class ImageBlock(Model):
    """An image."""

    type: Literal["image"] = "image"
    data: str
    """The data in base64."""
    mime_type: str
    uri: str | None = None
    """Where the image comes from."""


class AudioBlock(Model):
    """A sound."""

    type: Literal["audio"] = "audio"
    data: str
    """The data in base64."""
    mime_type: str


class LinkBlock(Model):
    """A link to a resource, which the agent can read."""

    type: Literal["resource_link"] = "resource_link"
    uri: str
    name: str
    """The name of the resource for the user."""
    title: str | None = None
    mime_type: str | None = None


class TextResource(Model):
    """A resource that is text."""

    uri: str
    text: str
    mime_type: str | None = None


class BlobResource(Model):
    """A resource that is not text."""

    uri: str
    blob: str
    """The data in base64."""
    mime_type: str | None = None


class ResourceBlock(Model):
    """A resource with its content."""

    type: Literal["resource"] = "resource"
    resource: TextResource | BlobResource


ContentBlock = Annotated[
    TextBlock | ImageBlock | AudioBlock | LinkBlock | ResourceBlock,
    Field(discriminator="type"),
]


class BlockContent(Model):
    """A content block (a text, an image, a resource) as a part of what a tool call shows."""

    type: Literal["content"] = "content"
    content: ContentBlock


class DiffContent(Model):
    """The change of a file."""

    type: Literal["diff"] = "diff"
    path: str
    """An absolute path."""
    old_text: str | None = None
    """The text before the change; absent for a new file."""
    new_text: str


class TerminalContent(Model):
    """A terminal of the client, in which the call runs."""

    type: Literal["terminal"] = "terminal"
    terminal_id: str


CallContent = Annotated[BlockContent | DiffContent | TerminalContent, Field(discriminator="type")]


class CallLocation(Model):
    """A place that a tool call works on."""

    path: str
    """An absolute path."""
    line: int | None = None
    """The number of the line, counted from 1."""


RawJson = Any
"""The arguments or the result of a tool call, as the tool has them."""
