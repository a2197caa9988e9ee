"""Help at the cursor: a selection rewritten to order, and the text that could come next."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from jupyter_eca.protocol.base import Model
from jupyter_eca.protocol.context import Position, Range


class RewritePromptParams(Model):
    """`id` is the client's: what comes of it is sent back under the same one."""

    id: str | int
    text: str
    prompt: str
    path: str | None = None
    range: Range | None = None


class RewritePromptResult(Model):
    status: Literal["prompting"] = "prompting"
    model: str


class RewriteStopParams(Model):
    """Our extension: nobody wants the rest of the rewrite of this `id`; nothing more is told of it."""

    id: str | int


class RewriteStarted(Model):
    type: Literal["started"] = "started"


class RewriteReasoning(Model):
    type: Literal["reasoning"] = "reasoning"


class RewriteText(Model):
    """Sent many times; the pieces are appended."""

    type: Literal["text"] = "text"
    text: str


class RewriteReplace(Model):
    """The whole text anew, in place of the pieces so far."""

    type: Literal["replace"] = "replace"
    text: str


class RewriteError(Model):
    type: Literal["error"] = "error"
    message: str


class RewriteFinished(Model):
    type: Literal["finished"] = "finished"
    total_time_ms: int


RewriteContent = Annotated[
    RewriteStarted | RewriteReasoning | RewriteText | RewriteReplace | RewriteError | RewriteFinished,
    Field(discriminator="type"),
]


class RewriteContentReceivedParams(Model):
    rewrite_id: str | int
    content: RewriteContent


class CompletionInlineParams(Model):
    """`position` counts from 1, as does what comes back; `doc_version` is sent back, so that a late answer can be told
    from a fresh one."""

    doc_text: str
    doc_version: int
    position: Position


class CompletionItem(Model):
    text: str
    doc_version: int
    range: Range


class CompletionInlineResult(Model):
    items: tuple[CompletionItem, ...] = ()
