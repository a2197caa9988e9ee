"""Owns the projection of events to notifications of ECA: it decides which notifications a client gets for an event.
Pure.

It must not know the session, which sends the notifications. `send_queue.py` owns the events that wait to be sent.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from jupyter_eca.engine.approval.reason import add_warning
from jupyter_eca.engine.text.shown_arguments import format_runs
from jupyter_eca.protocol import chat, chats
from jupyter_eca.protocol.content import (
    FileChangeDetails,
    FlagContent,
    MetadataContent,
    ProgressContent,
    RatingContent,
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

Notification = tuple[str, "Model"]
"""A method and its params."""

# The fields that a file change has in ECA. The other fields are ours, and only our own clients get them.
_CHANGE_FIELDS: Final = frozenset({"type", "path", "diff", "lines_added", "lines_removed"})
_CHANGE_EXTENSIONS: Final = FileChangeDetails.model_fields.keys() - _CHANGE_FIELDS
# The argument with the sources of the cells that a call runs, for editors.
_RUNS: Final = "runs"


def project(
    event: Event, wire_id: ChatId, *, envelope: bool, replayed: bool = False, parent: ChatId | None = None
) -> Iterator[Notification]:
    """Yield the notifications of one event: its content, and the changes of the chat's status that clients expect.

    The status `running` comes before the content of a prompt, and `idle` just before the last progress of the turn (the
    event with an `outcome`), as in ECA 2.3. The `aside` of an event is only for the model, and is never sent. Running
    progress with the role of the user only carries an aside, so it is not sent at all.

    `wire_id` is the client's id of the chat, and `envelope` says whether the client gets the fields that are not ECA's.
    With `replayed`, the event is part of a replay: the status and the progress of running work are left out, because
    the status is sent once after the replay. `parent` is set if the chat belongs to a subagent. Clients show such a
    chat within the chat `parent`, without a status and a title of its own.
    """
    is_running_progress = isinstance(event.content, ProgressContent) and event.content.state == "running"
    if is_running_progress and (replayed or event.role is Role.USER):
        return
    if parent is not None and isinstance(event.content, MetadataContent):
        return
    if isinstance(event.content, RatingContent) and not envelope:
        return
    if replayed or parent is not None:
        yield "chat/contentReceived", make_content(event, wire_id, envelope=envelope, parent=parent)
        return
    if event.is_message:
        yield "chat/statusChanged", _make_status(wire_id, chats.ChatStatus.RUNNING)
    if event.outcome is not None:
        yield "chat/statusChanged", _make_status(wire_id, chats.ChatStatus.IDLE)
    yield "chat/contentReceived", make_content(event, wire_id, envelope=envelope)


def make_content(
    event: Event, wire_id: ChatId, *, envelope: bool, parent: ChatId | None = None
) -> chat.ChatContentReceivedParams:
    """Make the params of `chat/contentReceived` for an event. With `envelope`, they include the turn, the number and
    the time of the event, and the person."""
    content = event.content if envelope else _remove_extensions(event.content)
    received = chat.ChatContentReceivedParams(chat_id=wire_id, role=event.role, content=content, parent_chat_id=parent)
    if envelope:
        turn_fields = {"turn": event.turn, "seq": event.seq, "at": event.at, "outcome": event.outcome, "by": event.by}
        received = received.model_copy(update=turn_fields)
    return received


def _remove_extensions(content: Content) -> Content:
    """Return the content without the fields that we have added to ECA."""
    match content:
        case TextContent():
            return content.model_copy(update={"contexts": None, "question": None})
        case UsageContent():
            return content.model_copy(update={"replayed": None, "message_cached_tokens": None, "agent": None})
        case ToolCallRunContent():
            changed = {"cause": None, "remembers": None, "waits_for": None, "summary": _make_summary(content)}
            changed |= {"arguments": _add_runs(content)}
            return content.model_copy(update={**_remove_detail_extensions(content), **changed})
        case ToolCallRejectedContent():
            return content.model_copy(update={**_remove_detail_extensions(content), "cause": None})
        case ProgressContent():
            return content.model_copy(update={"plan": None})
        case ToolCalledContent():
            return content.model_copy(update={**_remove_detail_extensions(content), "whole": None})
        case ToolCallContent():
            return content.model_copy(update=_remove_detail_extensions(content))
        case _:
            return content


def _make_summary(content: ToolCallRunContent) -> str | None:
    """Return the summary of a call; None if it has none. Editors show it when they ask whether the call may run, so it
    then contains the warning about the call."""
    if not content.manual_approval:
        return content.summary
    return add_warning(content.summary or content.name, content.cause)


def _add_runs(content: ToolCallRunContent) -> dict[str, Any]:
    """Return the arguments of a call. If the user is asked about it and it runs cells, their sources are added: an
    editor shows the arguments, which only name the cells."""
    runs = format_runs(content.details) if content.manual_approval else ""
    return {**content.arguments, _RUNS: runs} if runs else content.arguments


def _remove_detail_extensions(content: ToolCallContent) -> dict[str, object]:
    """Return the field `details` without what we have added to ECA; {} if it needs no change."""
    match content.details:
        case ShellCommandDetails() as details:
            return {"details": details.model_copy(update={"line": None, "parsed": None})}
        case FileChangeDetails() as details:
            return {"details": details.model_copy(update=dict.fromkeys(_CHANGE_EXTENSIONS))}
        case RunCellsDetails():
            return {"details": None}
        case _:
            return {}


def place_flags(events: Sequence[Event], chat_flags: Sequence[Event] = ()) -> list[Event]:
    """Put each flag right after its message, because clients draw a flag where they receive it.

    `chat_flags` are all flags of the chat. A flag may be on another page than its message. It is added if its message
    is among the events.
    """
    numbers = {event.seq for event in events}
    flags = [event for event in events if isinstance(event.content, FlagContent)]
    flags += [event for event in chat_flags if event.seq not in numbers]
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


def merge_subagents(events: Iterable[Event], subagent_events: Sequence[Event]) -> Iterator[Event]:
    """Yield the events of a chat and of its subagents together, in the order of their numbers. A flag stays after its
    message."""
    waiting = list(reversed(subagent_events))  # the next one is the last of the list
    for event in events:
        while waiting and waiting[-1].seq < event.seq and not isinstance(event.content, FlagContent):
            yield waiting.pop()
        yield event
    yield from reversed(waiting)


def project_reset(wire_id: ChatId, title: str | None) -> Iterator[Notification]:
    """Yield the notifications before a chat is replayed from the beginning: the client clears the chat and opens it."""
    yield "chat/cleared", chats.ChatClearedParams(chat_id=wire_id)
    yield "chat/opened", chats.ChatOpenedParams(chat_id=wire_id, title=title)


def _make_status(wire_id: ChatId, status: chats.ChatStatus) -> Model:
    """Make the params of `chat/statusChanged`."""
    return chats.ChatStatusChangedParams(chat_id=wire_id, status=status)
