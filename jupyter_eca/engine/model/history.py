"""What the model remembers, as a fold over events. A live turn and a restart use the same fold, so they agree."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from jupyter_eca.engine.model.compaction import compacted, is_pruning, is_summary, pruned
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
from jupyter_eca.engine.model.texts import NO_DOCUMENT, NO_IMAGES, REWORDED, UNSAID, document_of
from jupyter_eca.protocol.content import (
    ImageContent,
    ProgressContent,
    ReasonFinishedContent,
    ReasonTextContent,
    Role,
    TextContent,
    ToolCalledContent,
    ToolCallRejectedContent,
    ToolCallRunContent,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from jupyter_eca.protocol.event import Event


def remember(history: History, event: Event) -> History:
    """Events that the model has no business with (progress, usage, system texts, what is local) change nothing. What
    it is told beside the turns is read with the next prompt."""
    if event.local:
        return history
    match event.content:
        case ImageContent(media_type=media_type, base64=base64):
            return _add(history, "user", ImagePart(media_type, base64))
        case ProgressContent(text=text) if event.role is Role.USER and text == REWORDED:
            return _reworded(history, TextPart(event.aside))
        case ProgressContent() if event.role is Role.USER and (document := document_of(event.aside)):
            return _add(history, "user", document)
        case ProgressContent() if event.role is Role.USER and event.aside:
            return _grow(history, TextPart(event.aside), lambda p: isinstance(p, TextPart), "user")
        case TextContent(text=text) if event.role is Role.USER:
            return _add(history, "user", TextPart(text + event.aside))
        case TextContent() if event.role is Role.SYSTEM and event.aside:
            return _made_shorter(history, event.aside)
        case TextContent(text=text) if event.role is Role.ASSISTANT:
            return _grow(history, TextPart(text), lambda p: isinstance(p, TextPart))
        case ReasonTextContent(id=id, text=text):
            return _grow(history, ReasoningPart(id, text), lambda p: isinstance(p, ReasoningPart) and p.id == id)
        case ReasonFinishedContent(id=id):
            return _sign(history, id, event.aside)
        case ToolCallRunContent(id=id, name=name, arguments=arguments):
            return _add(history, "assistant", ToolUsePart(id, name, arguments, event.aside))
        case ToolCalledContent(id=id, error=error, outputs=outputs):
            return _add(history, "user", ToolResultPart(id, "\n".join(o.text for o in outputs), error))
        case ToolCallRejectedContent(id=id) if uses(history, id):
            # A call that was stopped while its arguments were still being written was never part of a reply.
            return _add(history, "user", ToolResultPart(id, event.aside, error=True))
        case _:
            return history


def _made_shorter(history: History, aside: str) -> History:
    if aside == NO_IMAGES:
        return _without_images(history)
    if aside == UNSAID:
        return _reworded(history)
    return compacted(history, aside) if is_summary(aside) else pruned(history) if is_pruning(aside) else history


def _reworded(history: History, *parts: TextPart) -> History:
    """With these in the place of the prompt, which is the last that was said."""
    if not (history and isinstance(history[-1].parts[-1], TextPart)):
        return history
    said = (*history[-1].parts[:-1], *parts)
    return (*history[:-1], replace(history[-1], parts=said)) if said else history[:-1]


def _without_images(history: History) -> History:
    """One that a server refuses is refused with every later request, so none is sent again (ECA 6.1, class 11)."""
    return tuple(replace(m, parts=tuple(map(_unseen, m.parts))) for m in history)


def _unseen(part: Part) -> Part:
    match part:
        case ImagePart():
            return TextPart(NO_IMAGES)
        case DocumentPart(name=name):
            return TextPart(NO_DOCUMENT.format(name))
        case _:
            return part


def uses(history: History, id: str) -> bool:
    """Whether the model has made a call of this id."""
    return any(isinstance(part, ToolUsePart) and part.id == id for message in history for part in message.parts)


def _add(history: History, role: str, part: Part) -> History:
    if history and history[-1].role == role:
        last = history[-1]
        if isinstance(part, ToolResultPart):
            # Vendors want the results first, whatever was shown between them.
            results = sum(isinstance(p, ToolResultPart) for p in last.parts)
            return (*history[:-1], replace(last, parts=(*last.parts[:results], part, *last.parts[results:])))
        return (*history[:-1], replace(last, parts=(*last.parts, part)))
    return (*history, ChatMessage(role, (part,)))


def _grow(
    history: History, piece: TextPart | ReasoningPart, same: Callable[[Part], bool], role: str = "assistant"
) -> History:
    if not (history and history[-1].role == role and same(history[-1].parts[-1])):
        return _add(history, role, piece)
    last = history[-1]
    part = last.parts[-1]
    if isinstance(part, TextPart | ReasoningPart):
        part = replace(part, text=part.text + piece.text)
    return (*history[:-1], ChatMessage(last.role, (*last.parts[:-1], part)))


def _sign(history: History, id: str, signature: str) -> History:
    if not (history and signature):
        return history
    last = history[-1]
    parts = tuple(
        replace(p, signature=signature) if isinstance(p, ReasoningPart) and p.id == id else p for p in last.parts
    )
    return (*history[:-1], replace(last, parts=parts))
