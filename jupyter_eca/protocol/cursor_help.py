"""Owns the messages for help at the cursor: rewriting a selection, and completing the text at the cursor.

It must not know which model answers. This help is not part of a chat: the neighbour `chat` has the messages of chats. A
message marked "Not in ECA" is our addition to ECA, the protocol that our clients speak.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from jupyter_eca.protocol.base import Model
from jupyter_eca.protocol.context import Position, Range


class RewritePromptParams(Model):
    """Asks for a new version of a selected text."""

    id: str | int
    """An id that the client makes. The contents of the rewrite have it as `rewriteId`."""
    text: str
    """The selected text."""
    prompt: str
    """What to change."""
    path: str | None = None
    """The file that the text is from."""
    range: Range | None = None
    """Where the text is in the file."""


class RewritePromptResult(Model):
    """The model that rewrites the text."""

    status: Literal["prompting"] = "prompting"
    model: str


class RewriteStopParams(Model):
    """Not in ECA: stop a rewrite. No more contents are sent for this id."""

    id: str | int


class RewriteStarted(Model):
    """The rewrite has started."""

    type: Literal["started"] = "started"


class RewriteReasoning(Model):
    """The model reasons before it writes."""

    type: Literal["reasoning"] = "reasoning"


class RewriteText(Model):
    """A piece of the new text. Clients append the pieces."""

    type: Literal["text"] = "text"
    text: str


class RewriteReplace(Model):
    """The whole new text. It replaces the pieces sent before."""

    type: Literal["replace"] = "replace"
    text: str


class RewriteError(Model):
    """The rewrite has failed."""

    type: Literal["error"] = "error"
    message: str


class RewriteFinished(Model):
    """The rewrite is complete."""

    type: Literal["finished"] = "finished"
    total_time_ms: int


RewriteContent = Annotated[
    RewriteStarted | RewriteReasoning | RewriteText | RewriteReplace | RewriteError | RewriteFinished,
    Field(discriminator="type"),
]


class RewriteContentReceivedParams(Model):
    """One content of a rewrite."""

    rewrite_id: str | int
    content: RewriteContent


class CompletionInlineParams(Model):
    """Asks for the text that could come next at the cursor."""

    doc_text: str
    """The whole text of the document."""
    doc_version: int
    """The version of the document. The result repeats it, so that the client can drop a late result."""
    position: Position
    """Where the cursor is. Its line and character are counted from 1."""


class CompletionItem(Model):
    """A text that could come next."""

    text: str
    doc_version: int
    """The version of the document that the text is for."""
    range: Range
    """The part of the document that the text replaces. Its lines and characters are counted from 1."""


class CompletionInlineResult(Model):
    """The texts that could come next."""

    items: tuple[CompletionItem, ...] = ()
