"""Events as ECA notifications. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jupyter_eca.protocol import chat, chats
from jupyter_eca.protocol.content import (
    FlagContent,
    MetadataContent,
    ProgressContent,
    Role,
    TextContent,
    ToolCalledContent,
    ToolCallRejectedContent,
    ToolCallRunContent,
    UsageContent,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from jupyter_eca.protocol.base import ChatId, Model
    from jupyter_eca.protocol.content import Content
    from jupyter_eca.protocol.event import Event

Notice = tuple[str, "Model"]


def project(
    event: Event, wire_id: ChatId, *, envelope: bool, again: bool = False, parent: ChatId | None = None
) -> Iterator[Notice]:
    """The content, with the status changes that ECA's clients want around it (ECA 2.3: `running` comes first, `idle`
    just before the final progress). `aside` is the model's alone and never leaves.

    `again`: in a replay, where the chat's status is told once, after it, and what it was waiting for is of no interest.
    `parent`: the chat is a subagent's, which clients show within that one: it has no status and no title of its own.
    """
    running = isinstance(event.content, ProgressContent) and event.content.state == "running"
    if running and (again or event.role is Role.USER):
        return
    if parent is not None and isinstance(event.content, MetadataContent):
        return
    if again or parent is not None:
        yield "chat/contentReceived", make_content(event, wire_id, envelope=envelope, parent=parent)
        return
    if event.role is Role.USER and isinstance(event.content, TextContent):
        yield "chat/statusChanged", _status(wire_id, chats.ChatStatus.RUNNING)
    if event.outcome is not None:
        yield "chat/statusChanged", _status(wire_id, chats.ChatStatus.IDLE)
    yield "chat/contentReceived", make_content(event, wire_id, envelope=envelope)


def make_content(
    event: Event, wire_id: ChatId, *, envelope: bool, parent: ChatId | None = None
) -> chat.ChatContentReceivedParams:
    content = event.content if envelope else _plain(event.content)
    received = chat.ChatContentReceivedParams(chat_id=wire_id, role=event.role, content=content, parent_chat_id=parent)
    if envelope:
        more = {"turn": event.turn, "seq": event.seq, "at": event.at, "outcome": event.outcome}
        received = received.model_copy(update=more)
    return received


def _plain(content: Content) -> Content:
    """Without what is ours in it."""
    match content:
        case UsageContent():
            return content.model_copy(update={"replayed": None, "message_cached_tokens": None})
        case ToolCallRunContent() | ToolCallRejectedContent():
            return content.model_copy(update={"cause": None})
        case ProgressContent():
            return content.model_copy(update={"plan": None})
        case ToolCalledContent():
            return content.model_copy(update={"whole": None})
        case _:
            return content


def place_flags(events: Sequence[Event], of_chat: Sequence[Event] = ()) -> list[Event]:
    """Each flag after the message it is at: clients draw it where it comes. Flags of the chat that stand on another
    page are here too when their message is."""
    here = {event.seq for event in events}
    flags = [event for event in events if isinstance(event.content, FlagContent)]
    flags += [event for event in of_chat if event.seq not in here]
    placed: list[Event] = []
    for event in events:
        if isinstance(event.content, FlagContent):
            continue
        placed.append(event)
        if isinstance(event.content, TextContent) and (id := event.content.content_id):
            placed += [
                flag for flag in flags if isinstance(flag.content, FlagContent) and flag.content.content_id == id
            ]
    return placed


def merge_subagents(events: Iterable[Event], of_subagents: Sequence[Event]) -> Iterator[Event]:
    """In the order in which all of it was said; flags stay where they are."""
    others = list(reversed(of_subagents))
    for event in events:
        while others and others[-1].seq < event.seq and not isinstance(event.content, FlagContent):
            yield others.pop()
        yield event
    yield from reversed(others)


def reset_chat(wire_id: ChatId, title: str | None) -> Iterator[Notice]:
    """What comes before a chat's replay: the client shows it from the beginning."""
    yield "chat/cleared", chats.ChatClearedParams(chat_id=wire_id)
    yield "chat/opened", chats.ChatOpenedParams(chat_id=wire_id, title=title)


def _status(wire_id: ChatId, status: chats.ChatStatus) -> Model:
    return chats.ChatStatusChangedParams(chat_id=wire_id, status=status)
