"""Owns `add_event` and `build_history`, which compute the conversation that a model reads from the events of a chat.

`add_event` adds one event. A live turn and a restart use the same function, so both get the same conversation. An event
may have an *aside*: what only the model reads, or how the event changes the conversation before it. The kind of the
aside decides, and never the wording of a text. The neighbours are `request`, which has the parts of a conversation, and
`compaction`, which makes one shorter.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from jupyter_eca.engine.model.compaction import compact, prune
from jupyter_eca.engine.model.request import (
    ChatMessage,
    DocumentPart,
    History,
    ImagePart,
    Part,
    ReasoningPart,
    TextPart,
    ToolResultPart,
    ToolUsePart,
)
from jupyter_eca.engine.model.texts import NO_DOCUMENT, NO_IMAGES, REFUSED_RESULT
from jupyter_eca.protocol.content import (
    ImageContent,
    ReasonFinishedContent,
    ReasonTextContent,
    Role,
    TextContent,
    ToolCalledContent,
    ToolCallRejectedContent,
    ToolCallRunContent,
)
from jupyter_eca.protocol.event import (
    BeginningAside,
    ContextAside,
    DocumentAside,
    FetchedRuleAside,
    ImagesRefusedAside,
    NoteAside,
    NotesSentAside,
    PrunedAside,
    RefusedAside,
    RejectionAside,
    ResultImageAside,
    RewordedAside,
    SignatureAside,
    SummaryAside,
    UnansweredAside,
    WithdrawnAside,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from jupyter_eca.protocol.content import Content
    from jupyter_eca.protocol.event import Aside, Event


# `build_history` adds an event to the last messages alone, at least so many. An event looks at two.
_MIN_LAST: Final = 8
# From so many last messages on, all but `_MIN_LAST` are put aside.
_MAX_LAST: Final = 64


def build_history(events: Iterable[Event]) -> History:
    """Return the conversation of a chat with these events: what `add_event` gives when they are added one after the
    other. That would copy all messages for each event, and take seconds for 10,000 turns."""
    earlier: list[ChatMessage] = []
    last: History = ()
    for event in events:
        if earlier and (_may_change_all(event) or len(last) < _MIN_LAST):
            earlier, last = [], (*earlier, *last)
        last = add_event(last, event)
        if len(last) > _MAX_LAST:
            earlier += last[:-_MIN_LAST]
            last = last[-_MIN_LAST:]
    return (*earlier, *last)


def _may_change_all(event: Event) -> bool:
    """Return whether an event may change any message, or looks at all of them. Others look at the last two."""
    return isinstance(event.aside, SummaryAside | PrunedAside | ImagesRefusedAside) or isinstance(
        event.content, ToolCallRejectedContent
    )


def add_event(history: History, event: Event) -> History:
    """Return the conversation with an event added.

    Events that are not for the model change nothing: progress, usage, texts by the system, and local events.
    """
    if event.local:
        return history
    match event.aside:
        case SummaryAside(text=text):
            return compact(history, text)
        case PrunedAside():
            return prune(history)
        case ImagesRefusedAside():
            return _leave_out_images(history)
        case RefusedAside(results=results):
            return _leave_out_refused(history, results=results)
        case UnansweredAside(text=text) if is_unanswered(history):
            return _add_part(history, "user", TextPart(text))
        case WithdrawnAside():
            return _replace_prompt(history)
        case RewordedAside(text=text):
            return _replace_prompt(history, TextPart(text))
        case DocumentAside(name=name, base64=base64):
            return _add_part(history, "user", DocumentPart(name, base64))
        case BeginningAside(text=text):
            return _add_part(history, "user", TextPart(text))
        case ContextAside(text=text) | NotesSentAside(text=text):
            history = _add_content(history, event.content, event.role, None)
            return _append_text(history, TextPart(text), lambda part: isinstance(part, TextPart), "user")
        case (
            SignatureAside()
            | RejectionAside()
            | FetchedRuleAside()
            | ResultImageAside()
            | NoteAside()
            | UnansweredAside()
            | None
        ):
            return _add_content(history, event.content, event.role, event.aside)


def _add_content(history: History, content: Content, role: Role, aside: Aside | None) -> History:
    """Return the conversation with one content added. `aside` is an aside that only completes the content, for example
    by a signature. `add_event` handles the asides that change the conversation in another way."""
    match content:
        case ImageContent(media_type=media_type, base64=base64) if isinstance(aside, ResultImageAside):
            return _add_to_result(history, aside.call, ImagePart(media_type, base64, aside.name))
        case ImageContent(media_type=media_type, base64=base64):
            return _add_part(history, "user", ImagePart(media_type, base64))
        case TextContent(text=text) if role is Role.USER:
            return _add_part(history, "user", TextPart(text))
        case TextContent(text=text) if role is Role.ASSISTANT:
            return _append_text(history, TextPart(text), lambda part: isinstance(part, TextPart))
        case ReasonTextContent(id=id, text=text):
            return _append_text(
                history, ReasoningPart(id, text), lambda part: isinstance(part, ReasoningPart) and part.id == id
            )
        case ReasonFinishedContent(id=id):
            return _sign_reasoning(history, id, _get_signature(aside))
        case ToolCallRunContent(id=id, name=name, arguments=arguments) if not has_call(history[-2:], id):
            # This content is emitted a second time when a call is approved but still waits for an earlier call. Then
            # the call is in one of the last two messages: the reply, and the results of other calls of the reply.
            return _add_part(history, "assistant", ToolUsePart(id, name, arguments, _get_signature(aside)))
        case ToolCalledContent(id=id, error=error, outputs=outputs):
            fetched_rule = aside.id if isinstance(aside, FetchedRuleAside) else ""
            return _add_part(
                history, "user", ToolResultPart(id, "\n".join(output.text for output in outputs), error, fetched_rule)
            )
        case ToolCallRejectedContent(id=id) if has_call(history, id):
            # A call that was stopped before its arguments were complete is not in the conversation and gets no result.
            reason = aside.text if isinstance(aside, RejectionAside) else ""
            return _add_part(history, "user", ToolResultPart(id, reason, error=True))
        case _:
            return history


def _get_signature(aside: Aside | None) -> str:
    """Return the vendor's signature of a reasoning or a tool call; "" for none."""
    return aside.signature if isinstance(aside, SignatureAside) else ""


def _replace_prompt(history: History, *parts: TextPart) -> History:
    """Replace the prompt, which is the last part of the conversation, by these parts. Without parts, the prompt is
    removed."""
    if not (history and isinstance(history[-1].parts[-1], TextPart)):
        return history
    replaced = (*history[-1].parts[:-1], *parts)
    return (*history[:-1], replace(history[-1], parts=replaced)) if replaced else history[:-1]


def is_unanswered(history: History) -> bool:
    """Return whether the last message is the user's, so that the model has not answered it yet."""
    return bool(history) and history[-1].role == "user"


def has_unanswered_words(history: History) -> bool:
    """Return whether the last message is the user's and contains text.

    A message with only results of tools does not count: each result says itself how its call ended.
    """
    return is_unanswered(history) and any(isinstance(part, TextPart) for part in history[-1].parts)


def has_media(history: History) -> bool:
    """Return whether the conversation contains an image or a document."""
    return any(map(_is_media, (part for message in history for part in message.parts)))


def _is_media(part: Part) -> bool:
    """Return whether a part is an image or a document, or a result with pictures."""
    return isinstance(part, ImagePart | DocumentPart) or (isinstance(part, ToolResultPart) and bool(part.images))


def _leave_out_images(history: History) -> History:
    """Replace refused images and documents by a text, because the server would refuse every later request with them.

    The server has accepted everything that the model has answered. So only the new message is changed, if it has an
    image or a document. Otherwise all messages are changed.
    """
    new = history[-1:] if is_unanswered(history) else ()
    old = history[: len(history) - len(new)]
    if has_media(new):
        return (*old, *map(_replace_all_media, new))
    return tuple(map(_replace_all_media, history))


def _replace_all_media(message: ChatMessage) -> ChatMessage:
    """Return a message with texts in place of its images and documents."""
    return replace(message, parts=tuple(map(_replace_media, message.parts)))


def _leave_out_refused(history: History, *, results: bool) -> History:
    """Leave out the message that the model has not answered, because the server refused it.

    Results of tools stay, because each call must have a result, but without their pictures. With `results`, their texts
    are replaced.
    """
    if not is_unanswered(history):
        return history
    parts = [replace(part, images=()) for part in history[-1].parts if isinstance(part, ToolResultPart)]
    if results:
        parts = [replace(part, text=REFUSED_RESULT, fetched_rule="") for part in parts]
    return (*history[:-1], replace(history[-1], parts=tuple(parts))) if parts else history[:-1]


def _replace_media(part: Part) -> Part:
    """Return a text in place of an image or a document."""
    match part:
        case ImagePart():
            return TextPart(NO_IMAGES)
        case DocumentPart(name=name):
            return TextPart(NO_DOCUMENT.format(name))
        case ToolResultPart(text=text, images=images) if images:
            return replace(part, text="\n".join((text, *(NO_IMAGES for _ in images))), images=())
        case _:
            return part


def has_call(history: History, id: str) -> bool:
    """Return whether the conversation contains a tool call of this id."""
    return any(isinstance(part, ToolUsePart) and part.id == id for message in history for part in message.parts)


def _add_part(history: History, role: str, part: Part) -> History:
    """Add a part to the last message, or a new message if the last one has another role."""
    if history and history[-1].role == role:
        last = history[-1]
        if isinstance(part, ToolResultPart):
            # Vendors want the results first in a message. But images may have been shown between two results.
            results = sum(isinstance(other, ToolResultPart) for other in last.parts)
            return (*history[:-1], replace(last, parts=(*last.parts[:results], part, *last.parts[results:])))
        return (*history[:-1], replace(last, parts=(*last.parts, part)))
    return (*history, ChatMessage(role, (part,)))


def _add_to_result(history: History, call: str, image: ImagePart) -> History:
    """Add a picture to the result of a call. The result is in the last message, because the picture follows it."""
    last = history[-1] if history else ChatMessage("user", ())
    if not any(isinstance(part, ToolResultPart) and part.id == call for part in last.parts):
        return _add_part(history, "user", image)
    parts = tuple(
        replace(part, images=(*part.images, image)) if isinstance(part, ToolResultPart) and part.id == call else part
        for part in last.parts
    )
    return (*history[:-1], replace(last, parts=parts))


def _append_text(
    history: History, piece: TextPart | ReasoningPart, belongs_to: Callable[[Part], bool], role: str = "assistant"
) -> History:
    """Append a piece of text to the last part if it continues that part. Otherwise add it as a new part.
    `belongs_to(part)` returns whether the piece continues this part."""
    if not (history and history[-1].role == role and belongs_to(history[-1].parts[-1])):
        return _add_part(history, role, piece)
    last = history[-1]
    part = last.parts[-1]
    if isinstance(part, TextPart | ReasoningPart):
        part = replace(part, text=part.text + piece.text)
    return (*history[:-1], ChatMessage(last.role, (*last.parts[:-1], part)))


def _sign_reasoning(history: History, id: str, signature: str) -> History:
    """Add the vendor's signature to the reasoning of this id, which is in the last message."""
    if not (history and signature):
        return history
    last = history[-1]
    parts = tuple(
        replace(part, signature=signature) if isinstance(part, ReasoningPart) and part.id == id else part
        for part in last.parts
    )
    return (*history[:-1], replace(last, parts=parts))
