"""Defines the result of a tool and the reports of its progress.

It must not know tools or chats. `plugins/tools/base.py` defines what a tool is, and the host sends the results on.
`head_and_tail.py` shortens a result that is too long for a model.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from jupyter_eca.engine.model.request import DocumentPart, ImagePart
    from jupyter_eca.protocol.content import ToolCallDetails, UrlContent


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
    """Whether the call can continue in the background. If so, it does this as soon as the event
    `ToolContext.moved_to_background` is set."""


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
    whole_length: int | None = None
    """The number of characters of the whole text, when `text` has only its head and its tail; else None."""
    documents: tuple[DocumentPart, ...] = ()
    """Documents for the user and the model."""
    fetched_rule: str = ""
    """The id of the instruction rule (a text of the user for some files) whose text `text` is, if the call has fetched
    one; else empty."""
