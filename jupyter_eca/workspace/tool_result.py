"""Defines the result of a tool and the reports of its progress, and shortens texts that are too long for a model.

It must not know tools or chats. `plugins/tools/base.py` defines what a tool is, and the host sends the results on.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from jupyter_eca.engine.model.request import DocumentPart, ImagePart
    from jupyter_eca.protocol.content import ToolCallDetails, UrlContent

# Characters that one result may add to a model's context: about 5,600 tokens, which stay there for the rest of the
# chat. The whole result is kept, and can be searched.
MAX_RESULT_CHARS = 20_000


@dataclass(frozen=True, slots=True)
class Report:
    """The progress of a tool call. Each report replaces the previous one."""

    text: str = ""
    """The output so far, as a terminal would show it."""
    done: float | None = None
    """How much is done, in the unit of `total`; None when it is unknown."""
    total: float | None = None
    """How much there is to do, in a unit that the tool chooses; None when it is unknown."""
    background: bool = False
    """Whether the call can continue in the background. It does so as soon as the event `ToolContext.away` is set."""


def ignore_report(_report: Report) -> None:
    """Ignore a report. This is for calls whose progress nobody watches."""


@dataclass(frozen=True, slots=True)
class ToolResult:
    """What a tool returns at the end of a call."""

    text: str
    """The text for the model. A tool returns the whole text, and the host shortens it."""
    error: bool = False
    """Whether the call failed."""
    details: ToolCallDetails | None = None
    """What the user sees in addition to the text."""
    images: tuple[ImagePart, ...] = ()
    """Images for the user and the model."""
    links: tuple[UrlContent, ...] = ()
    """Links for the user. The model sees a link only if `text` contains it."""
    interrupted: bool = False
    """Whether the user interrupted the call by hand, which stops the whole turn."""
    whole: int | None = None
    """The number of characters of the whole text, when `text` has only its head and its tail; else None."""
    documents: tuple[DocumentPart, ...] = ()
    """Documents for the user and the model."""
    rule: str = ""
    """The id of the user's rule whose text `text` is; empty when it is no rule."""


def truncate_result(result: ToolResult) -> ToolResult:
    """Return the result with only the head and the tail of its text, if the text is too long. This is for callers that
    cannot store the whole text."""
    if len(result.text) <= MAX_RESULT_CHARS:
        return result
    head, tail = split_head_and_tail(result.text, MAX_RESULT_CHARS)
    left_out = len(result.text) - len(head) - len(tail)
    return replace(result, text=f"{head}\n\n[... {left_out} characters left out ...]\n\n{tail}")


def split_head_and_tail(text: str, size: int, lines: int | None = None) -> tuple[str, str]:
    """Return the head and the tail of a text that has more than `size` characters, or more than `lines` lines; None for
    any number of lines. The tail is as long as the head, because errors are usually at the end."""
    head, tail = text[: size // 2], text[-(size // 2) :]
    if lines is not None:
        head = "".join(head.splitlines(keepends=True)[: max(lines // 2, 1)])
        tail = "".join(tail.splitlines(keepends=True)[-max(lines // 2, 1) :])
    return head, tail
