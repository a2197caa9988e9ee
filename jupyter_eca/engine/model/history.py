"""`remember`: what a model knows of a chat, as a fold over its events.

A live turn and a restart use the same fold, so they agree. It goes by the kinds of `Aside`, never by the wording of a
text. The parts that it makes are in `request`; how a conversation becomes shorter is in `compaction`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

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
    ContextAside,
    DocumentAside,
    FetchedRuleAside,
    ImagesRefusedAside,
    NoteAside,
    NotesSentAside,
    PrunedAside,
    RefusedAside,
    RejectionAside,
    RewordedAside,
    SignatureAside,
    SummaryAside,
    UnansweredAside,
    WithdrawnAside,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from jupyter_eca.protocol.content import Content
    from jupyter_eca.protocol.event import Aside, Event


def remember(history: History, event: Event) -> History:
    """Return the conversation with an event added.

    Events that the model has no business with (progress, usage, texts by the system, what is local) change nothing.
    """
    if event.local:
        return history
    match event.aside:
        case SummaryAside(text=text):
            return compact(history, text)
        case PrunedAside():
            return prune(history)
        case ImagesRefusedAside():
            return _without_images(history)
        case RefusedAside(results=results):
            return _without_refused(history, results=results)
        case UnansweredAside(text=text) if is_unanswered(history):
            return _add(history, "user", TextPart(text))
        case WithdrawnAside():
            return _replace_prompt(history)
        case RewordedAside(text=text):
            return _replace_prompt(history, TextPart(text))
        case DocumentAside(name=name, base64=base64):
            return _add(history, "user", DocumentPart(name, base64))
        case ContextAside(text=text) | NotesSentAside(text=text):
            history = _remember_content(history, event.content, event.role, None)
            return _grow(history, TextPart(text), lambda p: isinstance(p, TextPart), "user")
        case SignatureAside() | RejectionAside() | FetchedRuleAside() | NoteAside() | UnansweredAside() | None:
            return _remember_content(history, event.content, event.role, event.aside)


def _remember_content(history: History, content: Content, role: Role, aside: Aside | None) -> History:
    match content:
        case ImageContent(media_type=media_type, base64=base64):
            return _add(history, "user", ImagePart(media_type, base64))
        case TextContent(text=text) if role is Role.USER:
            return _add(history, "user", TextPart(text))
        case TextContent(text=text) if role is Role.ASSISTANT:
            return _grow(history, TextPart(text), lambda p: isinstance(p, TextPart))
        case ReasonTextContent(id=id, text=text):
            return _grow(history, ReasoningPart(id, text), lambda p: isinstance(p, ReasoningPart) and p.id == id)
        case ReasonFinishedContent(id=id):
            return _sign(history, id, _signature_of(aside))
        case ToolCallRunContent(id=id, name=name, arguments=arguments) if not has_call(history[-2:], id):
            # It is shown once more when it is approved and still waits for a call before it.
            return _add(history, "assistant", ToolUsePart(id, name, arguments, _signature_of(aside)))
        case ToolCalledContent(id=id, error=error, outputs=outputs):
            rule = aside.id if isinstance(aside, FetchedRuleAside) else ""
            return _add(history, "user", ToolResultPart(id, "\n".join(o.text for o in outputs), error, rule))
        case ToolCallRejectedContent(id=id) if has_call(history, id):
            # A call that was stopped while its arguments were still being written was never part of a reply.
            why = aside.text if isinstance(aside, RejectionAside) else ""
            return _add(history, "user", ToolResultPart(id, why, error=True))
        case _:
            return history


def _signature_of(aside: Aside | None) -> str:
    return aside.signature if isinstance(aside, SignatureAside) else ""


def _replace_prompt(history: History, *parts: TextPart) -> History:
    """Put these in the place of the prompt, which is the last that was said."""
    if not (history and isinstance(history[-1].parts[-1], TextPart)):
        return history
    replaced = (*history[-1].parts[:-1], *parts)
    return (*history[:-1], replace(history[-1], parts=replaced)) if replaced else history[:-1]


def is_unanswered(history: History) -> bool:
    """Return whether the last word is not the model's."""
    return bool(history) and history[-1].role == "user"


def has_unanswered_words(history: History) -> bool:
    """Return whether the user said something after the model's last word. Results of tools say themselves how they
    ended."""
    return is_unanswered(history) and any(isinstance(part, TextPart) for part in history[-1].parts)


def has_media(history: History) -> bool:
    """Return whether there is an image or a document in it."""
    return any(isinstance(part, ImagePart | DocumentPart) for message in history for part in message.parts)


def _without_images(history: History) -> History:
    """Leave out what a server refuses: it is refused with every later request too (ECA 6.1, class 11).

    What the model has answered was accepted, so what is new is left out first.
    """
    new = history[-1:] if is_unanswered(history) else ()
    old = history[: len(history) - len(new)]
    if has_media(new):
        return (*old, *map(_replace_all_media, new))
    return tuple(map(_replace_all_media, history))


def _replace_all_media(message: ChatMessage) -> ChatMessage:
    return replace(message, parts=tuple(map(_replace_media, message.parts)))


def _without_refused(history: History, *, results: bool) -> History:
    """Leave out what the model has not answered. A call must keep its result, but not the text of it."""
    if not is_unanswered(history):
        return history
    kept = [part for part in history[-1].parts if isinstance(part, ToolResultPart)]
    if results:
        kept = [replace(part, text=REFUSED_RESULT, rule="") for part in kept]
    return (*history[:-1], replace(history[-1], parts=tuple(kept))) if kept else history[:-1]


def _replace_media(part: Part) -> Part:
    match part:
        case ImagePart():
            return TextPart(NO_IMAGES)
        case DocumentPart(name=name):
            return TextPart(NO_DOCUMENT.format(name))
        case _:
            return part


def has_call(history: History, id: str) -> bool:
    """Return whether the model has made a call of this id."""
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
