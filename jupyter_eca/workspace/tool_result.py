"""What a tool returns: its result and its progress, and how much of a text a model is sent.

It knows no tool and no chat: `plugins/tools/base.py` says what a tool is, and the host sends the result on.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from jupyter_eca.engine.model.request import DocumentPart, ImagePart
    from jupyter_eca.protocol.content import ToolCallDetails, UrlContent

# Characters that one result may add to a model's context; the same cap as ECA's (3.9, layer one).
MAX_RESULT_CHARS = 50_000


@dataclass(frozen=True, slots=True)
class Report:
    """The progress of a call. Each report replaces the one before."""

    text: str = ""
    """The output so far, as a terminal would show it."""
    done: float | None = None
    """How much is done, in the unit of `total`."""
    total: float | None = None
    background: bool = False
    """Whether the call goes on in the background as soon as `ToolContext.away` is set."""


def unheard(_report: Report) -> None:
    """Ignore a report: for calls that nobody watches."""


@dataclass(frozen=True, slots=True)
class ToolResult:
    text: str
    """The text for the model. A tool returns all of it: the host shortens it."""
    error: bool = False
    details: ToolCallDetails | None = None
    """What the reader sees besides the text."""
    images: tuple[ImagePart, ...] = ()
    """Pictures for the reader and the model."""
    links: tuple[UrlContent, ...] = ()
    """Links for the reader. The model knows of them only what `text` says."""
    interrupted: bool = False
    """Whether the user interrupted the call by hand, which stops the whole turn."""
    whole: int | None = None
    """How many characters were kept of a text that was too long; None when it was not too long."""
    documents: tuple[DocumentPart, ...] = ()
    """Documents for the reader and the model."""
    rule: str = ""
    """The id of the user's rule whose text this is."""


def truncate_result(result: ToolResult) -> ToolResult:
    """Return the result with the head and the tail of a text that is too long, for callers that cannot keep the
    whole."""
    if len(result.text) <= MAX_RESULT_CHARS:
        return result
    head, tail = split_head_and_tail(result.text, MAX_RESULT_CHARS)
    left_out = len(result.text) - len(head) - len(tail)
    return replace(result, text=f"{head}\n\n[... {left_out} characters left out ...]\n\n{tail}")


def split_head_and_tail(text: str, size: int, lines: int | None = None) -> tuple[str, str]:
    """Return the head and the tail of a text with more characters, or more lines. The tail is as long as the head:
    errors stand at the end."""
    head, tail = text[: size // 2], text[-(size // 2) :]
    if lines is not None:
        head = "".join(head.splitlines(keepends=True)[: max(lines // 2, 1)])
        tail = "".join(tail.splitlines(keepends=True)[-max(lines // 2, 1) :])
    return head, tail
