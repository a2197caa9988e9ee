"""`Event`: the only thing that is stored, streamed and replayed. It is an envelope around ECA's content.

It says what that content cannot: the chat, the turn, the time, and the `Aside`, which is what the content means to the
model. It must not know what a model makes of it: `engine/model/history` does. The store is in `host/store`.
"""

from __future__ import annotations

from enum import StrEnum
from itertools import groupby
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field

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


class ContextAside(Model):
    """The model reads what the prompt points at, and what hooks add to it."""

    kind: Literal["context"] = "context"
    text: str


class DocumentAside(Model):
    """The model is given a PDF document, whole."""

    kind: Literal["document"] = "document"
    name: str
    """What the document is called where it came from."""
    base64: str
    """The raw data, without a prefix."""


class RewordedAside(Model):
    """A hook has put other words in the place of the prompt."""

    kind: Literal["reworded"] = "reworded"
    text: str


class WithdrawnAside(Model):
    """A hook did not let the prompt through: no model ever reads it."""

    kind: Literal["withdrawn"] = "withdrawn"


class SummaryAside(Model):
    """A summary stands for all that was said before it."""

    kind: Literal["summary"] = "summary"
    text: str
    """What the model reads: a heading, the summary, the list of tasks."""


class PrunedAside(Model):
    """The older results of tools are left out of requests from here on."""

    kind: Literal["pruned"] = "pruned"


class ImagesRefusedAside(Model):
    """The model's server refused an image or a document. Those that the model has not answered yet are not sent again;
    where there are none, no image and no document before this event is."""

    kind: Literal["imagesRefused"] = "imagesRefused"


class RefusedAside(Model):
    """The model's server refused the request. What the model has not answered yet is not sent again, or every later
    request would be refused too. Results of tools stay, but without their texts when `results` is set."""

    kind: Literal["refused"] = "refused"
    results: bool = False


class UnansweredAside(Model):
    """The turn ended before the model answered. The model reads that with the next request."""

    kind: Literal["unanswered"] = "unanswered"
    text: str


class NoteAside(Model):
    """Something happened beside the turns. The model reads of it with the next request that is made anyway."""

    kind: Literal["note"] = "note"
    text: str


class NotesSentAside(Model):
    """The model reads all notes that it had not read."""

    kind: Literal["notesSent"] = "notesSent"
    text: str


class SignatureAside(Model):
    """The vendor's proof that a reasoning or a call is its own. It goes back to the vendor word for word."""

    kind: Literal["signature"] = "signature"
    signature: str


class RejectionAside(Model):
    """The model reads why its call did not run."""

    kind: Literal["rejection"] = "rejection"
    text: str
    """All that the model reads: the reason, and the words."""
    words: str = ""
    """What the user, a rule or a hook said about it."""


class FetchedRuleAside(Model):
    """The result of the call is the text of one of the user's rules for paths."""

    kind: Literal["fetchedRule"] = "fetchedRule"
    id: str
    """The rule's id."""


Aside = Annotated[
    ContextAside
    | DocumentAside
    | RewordedAside
    | WithdrawnAside
    | SummaryAside
    | PrunedAside
    | ImagesRefusedAside
    | RefusedAside
    | UnansweredAside
    | NoteAside
    | NotesSentAside
    | SignatureAside
    | RejectionAside
    | FetchedRuleAside,
    Field(discriminator="kind"),
]


class Event(Model):
    """A fact about a chat."""

    chat: str
    """The id of the chat."""
    turn: str
    """The id of the turn; "" for a fact beside the turns."""
    role: Role
    """Who says it."""
    content: Content
    """What a reader is shown."""
    at: int = 0
    """The time in milliseconds since the epoch."""
    seq: int = 0
    """Given by the store: positive, rising over all chats, the cursor of every replay; 0 is "not stored yet"."""
    aside: Aside | None = None
    """What the content means to the model beyond what the reader is shown. It never leaves the server."""
    outcome: Outcome | None = None
    """How the turn ended; on its last event only."""
    local: bool = False
    """Between the reader and us, as a command and its answer are: the model does not read it."""


def merge_pieces(events: Iterable[Event]) -> list[Event]:
    """Join neighbouring pieces of the same text into one event, for a reader who is behind.

    Only pieces of what a model says are joined, of one chat, turn and kind, so order and text are unchanged; what we
    say is whole sentences. The joined event keeps the last `seq`: a replay after it repeats nothing.
    """
    return [_join(list(run)) for _, run in groupby(events, key=_run)]


def is_streamed_piece(event: Event) -> bool:
    """Return whether it is a piece of what a model says. More may follow at once, and nobody acts on one alone."""
    return event.role is Role.ASSISTANT and isinstance(event.content, _PIECES) and event.outcome is None


def _run(event: Event) -> object:
    """Return a key that neighbours share which may be joined. The key of an event that stands alone is unique."""
    if event.role is not Role.ASSISTANT or event.aside or event.outcome:
        return object()
    match event.content:
        case TextContent(content_id=None) as content:
            return event.chat, event.turn, content.type
        case ReasonTextContent(id=id) as content:
            return event.chat, event.turn, content.type, id
        case _:
            return object()


def _join(run: list[Event]) -> Event:
    last = run[-1]
    if len(run) == 1 or not isinstance(last.content, TextContent | ReasonTextContent):
        return last
    text = "".join(e.content.text for e in run if isinstance(e.content, TextContent | ReasonTextContent))
    return last.model_copy(update={"content": last.content.model_copy(update={"text": text})})
