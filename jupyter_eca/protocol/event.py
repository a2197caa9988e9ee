"""Owns `Event`, the envelope around one content of a chat. A chat is stored, streamed and replayed as its events.

A content is what the user sees: a piece of text, a tool call and so on. The envelope adds the chat, the turn (a prompt
with everything up to the end of its answer), the time and the `Aside`. An aside says what the event means to the model,
if this is not the same as what the user sees. An event must not know how a conversation is built from it:
`engine/model/history` does that. The neighbour `content` has the contents, and `host/store` stores the events.
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

# The contents that arrive in many pieces.
_PIECES = TextContent | ReasonTextContent | ToolCallPrepareContent


class Outcome(StrEnum):
    """How a turn ended. Only the last event of a turn has an outcome."""

    COMPLETED = "completed"
    STOPPED = "stopped"
    FAILED = "failed"


class ContextAside(Model):
    """The model reads the contexts that the prompt mentions, and the text that hooks add to them."""

    kind: Literal["context"] = "context"
    text: str
    """The text for the model."""


class DocumentAside(Model):
    """The model gets a whole PDF document."""

    kind: Literal["document"] = "document"
    name: str
    """The name of the file or the address that the document comes from."""
    base64: str
    """The data in base64, without a `data:` prefix."""


class RewordedAside(Model):
    """A hook has replaced the prompt. The model reads this text in its place."""

    kind: Literal["reworded"] = "reworded"
    text: str
    """The new prompt."""


class WithdrawnAside(Model):
    """A hook has refused the prompt, or it could not be prepared. No model and no outside agent ever reads it."""

    kind: Literal["withdrawn"] = "withdrawn"


class SummaryAside(Model):
    """From now on, the model reads a summary in place of the conversation before this event."""

    kind: Literal["summary"] = "summary"
    text: str
    """The text for the model: a heading, the summary, and the list of tasks."""


class PrunedAside(Model):
    """From now on, the model no longer reads the old results of tools, to make its context window emptier."""

    kind: Literal["pruned"] = "pruned"


class ImagesRefusedAside(Model):
    """The model's server refused an image or a document. The images and documents that the model has not answered yet
    are not sent again. If there are none, all images and documents before this event are not sent again."""

    kind: Literal["imagesRefused"] = "imagesRefused"


class RefusedAside(Model):
    """The model's server refused the request. The part of the conversation that the model has not answered yet is not
    sent again, because otherwise every later request would be refused too."""

    kind: Literal["refused"] = "refused"
    results: bool = False
    """Whether the texts of the tool results in this part are left out too. The results themselves stay, because each
    tool call must have a result."""


class UnansweredAside(Model):
    """The turn ended before the model answered. The model reads a sentence about that with the next request."""

    kind: Literal["unanswered"] = "unanswered"
    text: str
    """The sentence."""


class NoteAside(Model):
    """Something happened outside of the turns. The model reads about it with its next request."""

    kind: Literal["note"] = "note"
    text: str
    """The text for the model."""


class BeginningAside(Model):
    """The turn begins although the user has sent no message, because something has happened: for example, a background
    job has ended. The content says so to the user, and the model reads this text."""

    kind: Literal["beginning"] = "beginning"
    text: str
    """The text for the model."""


class NotesSentAside(Model):
    """The notes (`NoteAside`) that the model had not read are now part of the conversation."""

    kind: Literal["notesSent"] = "notesSent"
    text: str
    """The texts of these notes."""


class SignatureAside(Model):
    """The vendor's proof that a reasoning or a tool call comes from its model. It is sent back unchanged."""

    kind: Literal["signature"] = "signature"
    signature: str
    """The proof."""


class RejectionAside(Model):
    """The model reads why its tool call did not run."""

    kind: Literal["rejection"] = "rejection"
    text: str
    """The whole text for the model: the reason, and `words`."""
    words: str = ""
    """What the user, a rule or a hook said about the rejection."""


class ResultImageAside(Model):
    """The picture is a part of the result of a tool call, which came directly before it."""

    kind: Literal["resultImage"] = "resultImage"
    call: str
    """The id of the call."""
    name: str = ""
    """The name of the picture, which the text of the result has too; empty for none."""


class FetchedRuleAside(Model):
    """The tool call has read a rule: an instruction of the user that holds for some paths only. Its result is the text
    of this rule."""

    kind: Literal["fetchedRule"] = "fetchedRule"
    id: str
    """The id of the rule."""


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
    | BeginningAside
    | NotesSentAside
    | SignatureAside
    | RejectionAside
    | FetchedRuleAside
    | ResultImageAside,
    Field(discriminator="kind"),
]


class Person(Model):
    """Who has asked or decided something, as the server's identity provider knows them."""

    username: str
    """The name by which the server distinguishes its users."""
    name: str
    """The name for people."""


class Event(Model):
    """A fact about a chat."""

    chat: str
    """The id of the chat."""
    turn: str
    """The id of the turn; "" when the event belongs to no turn."""
    role: Role
    """Who the content comes from."""
    content: Content
    """The content for the user."""
    at: int = 0
    """The time in milliseconds since the epoch."""
    seq: int = 0
    """The sequence number, which the store assigns. It is positive and grows over all chats, and a replay uses it as
    its cursor. 0 means "not stored yet"."""
    aside: Aside | None = None
    """What the content means to the model, besides what the user sees. It never leaves the server."""
    outcome: Outcome | None = None
    """How the turn ended. Only the last event of a turn has it."""
    local: bool = False
    """Whether the event is only for the user and never for the model, such as a command and its answer."""
    by: Person | None = None
    """Who has sent the message, or has approved or rejected the tool call. None where the server does not tell its
    users apart."""

    @property
    def is_message(self) -> bool:
        """Whether the event is a message that the model reads like one of the user: a text of the user, or the text
        with which a turn begins without the user. The first such event of a turn begins the turn."""
        is_for_model = self.role is Role.USER or isinstance(self.aside, BeginningAside)
        return is_for_model and isinstance(self.content, TextContent)


def merge_pieces(events: Iterable[Event]) -> list[Event]:
    """Join neighbouring pieces of the same text into one event, so that a slow client has fewer events to read.

    Only pieces of a model's reply are joined, of the same chat, turn and kind. So the order and the text stay the same.
    The joined event has the `seq` of the last piece, so that a replay after it repeats nothing.
    """
    return [_join_pieces(list(pieces)) for _, pieces in groupby(events, key=_get_merge_key)]


def is_streamed_piece(event: Event) -> bool:
    """Return whether an event is a piece of a model's reply, so that more pieces may follow immediately."""
    return event.role is Role.ASSISTANT and isinstance(event.content, _PIECES) and event.outcome is None


def _get_merge_key(event: Event) -> object:
    """Return a key that is equal for neighbouring events that may be joined. Other events have a unique key."""
    if event.role is not Role.ASSISTANT or event.aside or event.outcome:
        return object()
    match event.content:
        case TextContent(content_id=None) as content:
            return event.chat, event.turn, content.type
        case ReasonTextContent(id=id) as content:
            return event.chat, event.turn, content.type, id
        case _:
            return object()


def _join_pieces(pieces: list[Event]) -> Event:
    """Return one event with the text of all the pieces, which have the same merge key."""
    last = pieces[-1]
    if len(pieces) == 1 or not isinstance(last.content, TextContent | ReasonTextContent):
        return last
    contents = (piece.content for piece in pieces)
    text = "".join(content.text for content in contents if isinstance(content, TextContent | ReasonTextContent))
    return last.model_copy(update={"content": last.content.model_copy(update={"text": text})})
