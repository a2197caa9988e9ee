"""Rebuilds the state of a chat from its stored events. If the server ended during a turn, it ends that turn.

It must not know the store: the caller passes the events. Its neighbour `model/history` computes the conversation that
the model reads from the events. A live turn uses the same function.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from jupyter_eca.engine.model.compaction import WindowUsage
from jupyter_eca.engine.model.history import add_event, build_history, has_unanswered_words, is_unanswered
from jupyter_eca.engine.model.task_plan import restore_plan
from jupyter_eca.engine.model.texts import CRASHED_CALL, CRASHED_HOOK, CRASHED_TURN, REJECTED, UNANSWERED_FAILED
from jupyter_eca.engine.state import ChatState, TitleState
from jupyter_eca.protocol.content import (
    Content,
    HookActionFinishedContent,
    HookActionStartedContent,
    MetadataContent,
    ProgressContent,
    ReasonFinishedContent,
    ReasonStartedContent,
    RejectReason,
    Role,
    TextContent,
    TextOutput,
    ToolCallContent,
    ToolCalledContent,
    ToolCallPrepareContent,
    ToolCallRejectedContent,
    ToolCallRunContent,
    ToolCallRunningContent,
    UsageContent,
)
from jupyter_eca.protocol.event import (
    Event,
    NoteAside,
    NotesSentAside,
    Outcome,
    RefusedAside,
    RejectionAside,
    SummaryAside,
    UnansweredAside,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from jupyter_eca.engine.model.request import History
    from jupyter_eca.protocol.event import Aside


@dataclass(frozen=True, slots=True)
class RestoredChat:
    """A chat that was rebuilt from its events."""

    state: ChatState
    """The state of the chat, with no turn under way."""
    missing: tuple[Event, ...]
    """Events that must be stored now. They end the interrupted turn and everything in it that has not ended."""


def restore(chat: str, events: Sequence[Event], at: int) -> RestoredChat:
    """Rebuild a chat from its events. `chat` is its id. `at` is the time for the missing events, in milliseconds since
    the epoch."""
    calls = frozenset(event.content.id for event in events if isinstance(event.content, ToolCallContent))
    history = build_history(events)
    state = ChatState(
        chat,
        history=history,
        call_ids=calls,
        cost=_get_cost(events),
        window=_get_window_usage(events),
        notes=_list_unread_notes(events),
    )
    state = replace(
        state,
        tasks=restore_plan(event.content for event in events).tasks,
        ended_in_plan=_has_ended_in_plan(events),
        title=_get_title_state(events),
    )
    # Some events belong to no turn, such as a flag or a new title.
    last = next((event for event in reversed(events) if event.turn), None)
    if last is None or last.outcome is not None:
        return RestoredChat(state, ())
    turn = last.turn
    state = replace(state, turn=turn)
    missing: list[Event] = []
    for content, aside in _close_unfinished(event for event in events if event.turn == turn):
        event = Event(chat=chat, turn=turn, role=Role.ASSISTANT, content=content, at=at, aside=aside)
        state = replace(state, history=add_event(state.history, event))
        missing.append(event)
    note = Event(chat=chat, turn=turn, role=Role.SYSTEM, content=TextContent(text=CRASHED_TURN), at=at)
    finished = ProgressContent(state="finished", plan=state.ended_in_plan or None)
    aside = UnansweredAside(text=UNANSWERED_FAILED) if has_unanswered_words(state.history) and not last.local else None
    end = note.model_copy(update={"content": finished, "outcome": Outcome.FAILED, "aside": aside})
    state = replace(state, history=add_event(state.history, end))
    return RestoredChat(state, (*missing, note, end))


def _list_unread_notes(events: Sequence[Event]) -> tuple[str, ...]:
    """Return the notes that the model has not read yet, see `NoteAdded`.

    Notes are sent with a request. If the model's server refuses the request, they must be sent again. The server may
    also refuse after a reply has begun, as long as nothing of the reply is in the conversation. An example is a tool
    call whose arguments have not arrived.
    """
    if not any(isinstance(event.aside, NoteAside) for event in events):
        return ()
    notes: list[str] = []
    sent: list[str] = []
    history: History = ()
    for event in events:
        history = add_event(history, event)
        match event.aside:
            case NoteAside(text=text):
                notes.append(text)
            case NotesSentAside():
                sent, notes = sent + notes, []
            case RefusedAside():
                sent, notes = [], sent + notes
            case _:
                # The notes of a request were read if the model has answered it, or if a summary has taken their place.
                is_read = not is_unanswered(history) or isinstance(event.aside, SummaryAside)
                sent = [] if is_read or event.outcome else sent
    return tuple(notes)


def _has_ended_in_plan(events: Sequence[Event]) -> bool:
    """Return whether the last turn ended with a plan that the user can accept."""
    ends = (event.content for event in reversed(events) if event.outcome is not None)
    last = next(ends, None)
    return isinstance(last, ProgressContent) and bool(last.plan)


def _get_title_state(events: Sequence[Event]) -> TitleState:
    """Return where the title of the chat comes from. The event of a title that was made from a prompt has a turn. A
    chat whose model has answered already gets no other title, so chats of earlier versions keep theirs."""
    title = next((event for event in reversed(events) if isinstance(event.content, MetadataContent)), None)
    has_answer = any(event.outcome is Outcome.COMPLETED and not event.local for event in events)
    return TitleState.FROM_PROMPT if title is not None and title.turn and not has_answer else TitleState.SETTLED


def _get_cost(events: Iterable[Event]) -> float | None:
    """Return what the chat has cost so far, in US dollars; None if a price was unknown."""
    costs = [event.content.session_cost for event in events if isinstance(event.content, UsageContent)]
    last = costs[-1] if costs else "0"
    return None if last is None else float(last)


def _get_window_usage(events: Sequence[Event]) -> WindowUsage:
    """Return how full the model's context window was with the last reply. It is unknown after a summary, until the next
    reply."""
    for event in reversed(events):
        match event.aside, event.content:
            case SummaryAside(), _:
                return WindowUsage()
            case _, UsageContent(session_tokens=used, limit=limit) if used:
                return WindowUsage(used, limit.context if limit else 0)
            case _:
                pass
    return WindowUsage()


def _close_unfinished(events: Iterable[Event]) -> list[tuple[Content, Aside | None]]:
    """Return, for each tool call, reasoning and hook that has not ended, the content that ends it. An aside (what only
    the model reads) may belong to it."""
    calls: dict[str, ToolCallContent] = {}
    reasonings: dict[str, None] = {}
    hooks: dict[str, str] = {}
    for event in events:
        match event.content:
            case ToolCalledContent(id=id) | ToolCallRejectedContent(id=id):
                calls.pop(id, None)
            case ToolCallPrepareContent() | ToolCallRunContent() | ToolCallRunningContent() as content:
                calls[content.id] = content
            case ReasonStartedContent(id=id):
                reasonings[id] = None
            case ReasonFinishedContent(id=id):
                reasonings.pop(id, None)
            case HookActionStartedContent(id=id, name=name):
                hooks[id] = name
            case HookActionFinishedContent(id=id):
                hooks.pop(id, None)
            case _:
                pass
    closed: list[tuple[Content, Aside | None]] = [(ReasonFinishedContent(id=id), None) for id in reasonings]
    ended = (HookActionFinishedContent(id=id, name=name, status=1, error=CRASHED_HOOK) for id, name in hooks.items())
    return closed + [(content, None) for content in ended] + [_close_call(call) for call in calls.values()]


def _close_call(call: ToolCallContent) -> tuple[Content, Aside | None]:
    """Return the content that ends a call which had not ended when the server ended, and the aside of the content."""
    fields: dict[str, Any] = {"id": call.id, "name": call.name, "server": call.server, "origin": call.origin}
    if isinstance(call, ToolCallRunningContent):
        outputs = (TextOutput(text=CRASHED_CALL),)
        return ToolCalledContent(**fields, arguments=call.arguments, error=True, outputs=outputs), None
    arguments = call.arguments if isinstance(call, ToolCallRunContent) else {}
    reason = RejectReason.STOP
    return ToolCallRejectedContent(**fields, arguments=arguments, reason=reason), RejectionAside(text=REJECTED[reason])
