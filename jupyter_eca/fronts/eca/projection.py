"""Owns how events become ECA notifications. Pure.

It must not know the session, which sends them. `send_queue.py` has what waits to be sent.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from jupyter_eca.engine.approval.reason import add_warning
from jupyter_eca.protocol import chat, chats
from jupyter_eca.protocol.content import (
    FileChangeDetails,
    FlagContent,
    MetadataContent,
    ProgressContent,
    Role,
    RunCellsDetails,
    ShellCommandDetails,
    TextContent,
    ToolCallContent,
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
    event: Event, wire_id: ChatId, *, envelope: bool, replayed: bool = False, parent: ChatId | None = None
) -> Iterator[Notice]:
    """Yield the content, and the status changes that clients expect around it.

    ECA 2.3: `running` comes first, `idle` just before the final progress. `aside` is for the model alone and is never
    sent.

    `replayed`: the event is part of a replay. The status is sent once after the replay, and it does not matter what
    the chat was waiting for.
    `parent`: the chat is a subagent's, which clients show within the parent: it has no status and no title.
    """
    running = isinstance(event.content, ProgressContent) and event.content.state == "running"
    if running and (replayed or event.role is Role.USER):
        return
    if parent is not None and isinstance(event.content, MetadataContent):
        return
    if replayed or parent is not None:
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
    """Write the content of an event. With `envelope`, its turn, number and time are written too."""
    content = event.content if envelope else _plain(event.content)
    received = chat.ChatContentReceivedParams(chat_id=wire_id, role=event.role, content=content, parent_chat_id=parent)
    if envelope:
        turn_fields = {"turn": event.turn, "seq": event.seq, "at": event.at, "outcome": event.outcome}
        received = received.model_copy(update=turn_fields)
    return received


def _plain(content: Content) -> Content:
    """Return the content without the fields that are not ECA's."""
    match content:
        case UsageContent():
            return content.model_copy(update={"replayed": None, "message_cached_tokens": None})
        case ToolCallRunContent():
            own = {"cause": None, "remembers": None, "waits_for": None}
            return content.model_copy(update={**_plain_details(content), **own, "summary": _make_summary(content)})
        case ToolCallRejectedContent():
            return content.model_copy(update={**_plain_details(content), "cause": None})
        case ProgressContent():
            return content.model_copy(update={"plan": None})
        case ToolCalledContent():
            return content.model_copy(update={**_plain_details(content), "whole": None})
        case ToolCallContent():
            return content.model_copy(update=_plain_details(content))
        case _:
            return content


def _make_summary(content: ToolCallRunContent) -> str | None:
    """Return the summary, which is what editors show of a call that they ask about."""
    if not content.manual_approval:
        return content.summary
    return add_warning(content.summary or content.name, content.cause)


def _plain_details(content: ToolCallContent) -> dict[str, object]:
    match content.details:
        case ShellCommandDetails() as details:
            return {"details": details.model_copy(update={"line": None, "parsed": None})}
        case FileChangeDetails(loads=str()) as details:
            return {"details": details.model_copy(update={"loads": None})}
        case RunCellsDetails():
            return {"details": None}
        case _:
            return {}


def place_flags(events: Sequence[Event], of_chat: Sequence[Event] = ()) -> list[Event]:
    """Put each flag after its message: clients draw it where it comes.

    `of_chat` are flags that stand on another page; they are placed if their message is here.
    """
    numbers = {event.seq for event in events}
    flags = [event for event in events if isinstance(event.content, FlagContent)]
    flags += [event for event in of_chat if event.seq not in numbers]
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
    """Yield events of a chat and its subagents in the order of their numbers; flags stay where they are."""
    waiting = list(reversed(of_subagents))
    for event in events:
        while waiting and waiting[-1].seq < event.seq and not isinstance(event.content, FlagContent):
            yield waiting.pop()
        yield event
    yield from reversed(waiting)


def reset_chat(wire_id: ChatId, title: str | None) -> Iterator[Notice]:
    """Yield what comes before a chat's replay: the client shows the chat from the beginning."""
    yield "chat/cleared", chats.ChatClearedParams(chat_id=wire_id)
    yield "chat/opened", chats.ChatOpenedParams(chat_id=wire_id, title=title)


def _status(wire_id: ChatId, status: chats.ChatStatus) -> Model:
    return chats.ChatStatusChangedParams(chat_id=wire_id, status=status)
