"""What a tool gives back: its result, how far it has come, and how much of a text a model is sent."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from jupyter_eca.engine.model.request import DocumentPart, ImagePart
    from jupyter_eca.protocol.content import ToolCallDetails, UrlContent

# What one result may put into a model's context; the same cap as ECA's (3.9, layer one).
MAX_RESULT_CHARS = 50_000


@dataclass(frozen=True, slots=True)
class Report:
    """How far a call has come, in place of what it said before: `text` as a terminal would show it, `done` of `total`
    in whatever unit. `background`: it goes on there as soon as `ToolContext.away` is set."""

    text: str = ""
    done: float | None = None
    total: float | None = None
    background: bool = False


def unheard(_report: Report) -> None:
    """Where nobody looks on."""


@dataclass(frozen=True, slots=True)
class ToolResult:
    """`interrupted`: the user ended it by hand, and means the whole turn. `images` are shown, and sent to the model, as
    `documents` are; `links` are shown, and of the model's business only as far as `text` has them. `whole` is how many
    characters were kept of a text that was too long; a tool gives all of it."""

    text: str
    error: bool = False
    details: ToolCallDetails | None = None
    images: tuple[ImagePart, ...] = ()
    links: tuple[UrlContent, ...] = ()
    interrupted: bool = False
    whole: int | None = None
    documents: tuple[DocumentPart, ...] = ()


def capped(result: ToolResult) -> ToolResult:
    """The head and the tail of a text that is too long, for those who have no place where the whole could be kept."""
    if len(result.text) <= MAX_RESULT_CHARS:
        return result
    head, tail = shortened(result.text, MAX_RESULT_CHARS)
    left_out = len(result.text) - len(head) - len(tail)
    return replace(result, text=f"{head}\n\n[... {left_out} characters left out ...]\n\n{tail}")


def shortened(text: str, size: int, lines: int | None = None) -> tuple[str, str]:
    """Head and tail of a text that has more characters, or more lines: errors stand at the end."""
    head, tail = text[: size // 2], text[-(size // 2) :]
    if lines is not None:
        head = "".join(head.splitlines(keepends=True)[: max(lines // 2, 1)])
        tail = "".join(tail.splitlines(keepends=True)[-max(lines // 2, 1) :])
    return head, tail
