"""The Event: the only thing stored, streamed and replayed. What ECA's content cannot say is in this envelope."""

from __future__ import annotations

from enum import StrEnum
from itertools import groupby
from typing import TYPE_CHECKING

from jupyter_eca.protocol.base import Model
from jupyter_eca.protocol.content import Content, ReasonTextContent, Role, TextContent, ToolCallPrepareContent

if TYPE_CHECKING:
    from collections.abc import Iterable


_PIECES = TextContent | ReasonTextContent | ToolCallPrepareContent


class Outcome(StrEnum):
    """How a turn ended; on its last event only."""

    COMPLETED = "completed"
    STOPPED = "stopped"
    FAILED = "failed"


class Event(Model):
    """A fact about a chat.

    `seq` is given by the store: positive, rising over all chats, the cursor of every replay; 0 is "not stored yet".
    `at` is milliseconds since the epoch. `aside` is what the model is told with this content and a reader is not shown:
    the text of contexts, why a call was rejected, the signature of a reasoning. What is `local` is between the reader
    and us (a command and its answer): the model is not told.
    """

    chat: str
    turn: str
    role: Role
    content: Content
    at: int = 0
    seq: int = 0
    aside: str = ""
    outcome: Outcome | None = None
    local: bool = False


def merged(events: Iterable[Event]) -> list[Event]:
    """Neighbouring pieces of the same text as one event: what a reader who is behind is given.

    Only pieces of what a model says are joined, of one chat, turn and kind, so order and text are unchanged; what we
    say is whole sentences. The joined event keeps the last `seq`: a replay after it repeats nothing.
    """
    return [_joined(list(run)) for _, run in groupby(events, key=_run)]


def streams(event: Event) -> bool:
    """Whether it is a piece of what a model says, of which more may follow at once, and which nobody acts on alone."""
    return event.role is Role.ASSISTANT and isinstance(event.content, _PIECES) and event.outcome is None


def _run(event: Event) -> object:
    """Equal for neighbours that may be joined; unlike anything else for an event that stands alone."""
    if event.role is not Role.ASSISTANT or event.aside or event.outcome:
        return object()
    match event.content:
        case TextContent(content_id=None) as content:
            return event.chat, event.turn, content.type
        case ReasonTextContent(id=id) as content:
            return event.chat, event.turn, content.type, id
        case _:
            return object()


def _joined(run: list[Event]) -> Event:
    last = run[-1]
    if len(run) == 1 or not isinstance(last.content, TextContent | ReasonTextContent):
        return last
    text = "".join(e.content.text for e in run if isinstance(e.content, TextContent | ReasonTextContent))
    return last.model_copy(update={"content": last.content.model_copy(update={"text": text})})
