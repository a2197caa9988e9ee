"""Owns the projection of the events of one chat to updates of the Agent Client Protocol (ACP). The contents of the
events are those of ECA, the protocol of our own clients. Each content becomes no update, one, or several.

It must not know the connection. `tool_calls.py` projects the events about tool calls.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal

from jupyter_eca.errors import FailureKind
from jupyter_eca.fronts.acp.tool_calls import CallProjection
from jupyter_eca.protocol.acp.content import ImageBlock, LinkBlock, TextBlock
from jupyter_eca.protocol.acp.updates import (
    CallChange,
    CallStart,
    ContextUpdate,
    InfoUpdate,
    MessageChunk,
    SessionCost,
    UpdateByPerson,
)
from jupyter_eca.protocol.content import (
    ImageContent,
    MetadataContent,
    ReasonTextContent,
    Role,
    TextContent,
    ToolCallContent,
    UrlContent,
    UsageContent,
)
from jupyter_eca.protocol.event import ResultImageAside

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

    from jupyter_eca.protocol.acp.content import ContentBlock
    from jupyter_eca.protocol.acp.updates import SessionUpdate
    from jupyter_eca.protocol.event import Event

ChunkKind = Literal["user_message_chunk", "agent_message_chunk", "agent_thought_chunk"]
"""The kind of a message: from the user, from the assistant, or a thought of the model."""

# Failures that the user can repair in the chat itself, for example by `/login`. They are shown as a message. Any other
# failure is the error with which the prompt is answered.
_SHOWN_FAILURES: Final = frozenset(
    {
        FailureKind.AUTH,
        FailureKind.SETUP,
        FailureKind.MODEL,
        FailureKind.BUDGET,
        FailureKind.BUDGET_EXCEEDED,
        FailureKind.QUOTA,
    }
)


# The key of our own data in the field `_meta` of an update.
_META_KEY: Final = "eca"


def is_shown_as_message(kind: FailureKind) -> bool:
    """Return whether a turn that failed for this reason is shown as a message, and not as the error of the prompt."""
    return kind in _SHOWN_FAILURES


class AcpProjection:
    """The projection of one session. It is stateful, because it numbers the messages."""

    def __init__(self, chat: str, root: Path, find_start: Callable[[str], Path]) -> None:
        """`chat` is the chat of the session. `root` and `find_start` are the folders that paths are relative to, see
        `CallProjection`."""
        self.calls = CallProjection(chat, root, find_start)
        """The projection of the tool calls."""
        self._own_turns: set[str] = set()  # the turns that this client has prompted
        # The key and the id of the last message. The next piece continues this message if it has the same key.
        self._message: tuple[object, str] | None = None
        self._message_count = 0

    def hide_prompt(self, turn: str) -> None:
        """Do not show the prompt of this turn, because the client that sent it shows it already."""
        self._own_turns.add(turn)

    def project(self, event: Event, before: str | None = None, *, live: bool = True) -> Iterator[SessionUpdate]:
        """Yield the updates of an event. `before` is the current text of the file that a tool call would change, see
        `CallProjection.project`. `live` is false for past events, which are sent again."""
        for update in self._project(event, before, live=live):
            yield name_person(update, event)

    def _project(self, event: Event, before: str | None, *, live: bool) -> Iterator[SessionUpdate]:
        """Yield the updates of an event without the person. See `project`."""
        # `own`: the event belongs to a turn that this client has prompted. Then the client shows the user's own text
        # and images itself.
        content, own = event.content, live and event.turn in self._own_turns
        match content:
            case TextContent(failure=failure) if own and failure is not None and not is_shown_as_message(failure.kind):
                pass  # the prompt is answered with this failure as its error
            case TextContent(text=text):
                if text and not (own and event.role is Role.USER):
                    yield self._make_chunk(event, TextBlock(text=text), content.content_id)
            case ReasonTextContent(text=text, id=id):
                if text:
                    yield self._make_chunk(event, TextBlock(text=text), id, "agent_thought_chunk")
            case ImageContent(media_type=type, base64=data):
                image = ImageBlock(data=data, mime_type=type)
                aside = event.aside
                added = self.calls.add_image(aside.call, image) if isinstance(aside, ResultImageAside) else None
                if added is not None:
                    yield added
                elif not (own and event.role is Role.USER):
                    yield self._make_chunk(event, image)
            case UrlContent(url=url, title=title):
                yield self._make_chunk(event, LinkBlock(uri=url, name=title or url))
            case ToolCallContent():
                self._message = None
                yield from self.calls.project(event.chat, content, before)
            case UsageContent():
                yield from _make_usage(content)
            case MetadataContent(title=title):
                yield InfoUpdate(title=title)
            case _:
                pass

    def _make_chunk(
        self, event: Event, block: ContentBlock, id: str | None = None, kind: ChunkKind | None = None
    ) -> MessageChunk:
        """Make a piece of a message. Pieces of the same role and turn that follow each other are one message, unless
        the content has an `id` of its own. `kind` is the kind of the message; None if it follows from the role of the
        event."""
        if kind is None:
            kind = "user_message_chunk" if event.role is Role.USER else "agent_message_chunk"
        key = (event.turn, event.role, kind, id)
        if self._message is None or self._message[0] != key:
            self._message_count += 1
            self._message = key, id or f"{event.turn or event.chat}-{self._message_count}"
        return MessageChunk(session_update=kind, content=block, message_id=self._message[1])


def name_person(update: SessionUpdate, event: Event) -> SessionUpdate:
    """Return the update of an event, with the name of the person who has sent the message, or has approved or rejected
    the call. If the server does not know the person, the update stays as it is."""
    if event.by is None or not isinstance(update, UpdateByPerson):
        return update
    return update.model_copy(update={"meta": {_META_KEY: {"by": event.by.as_json_object()}}})


def _make_usage(content: UsageContent) -> Iterator[ContextUpdate]:
    """Yield the update about tokens and costs, if the size of the context window is known."""
    if content.limit is not None and content.limit.context > 0:
        cost = SessionCost(amount=float(content.session_cost)) if content.session_cost else None
        yield ContextUpdate(used=max(0, content.session_tokens), size=content.limit.context, cost=cost)


def fold_calls(updates: Iterable[SessionUpdate]) -> list[SessionUpdate]:
    """Return the updates, in which all updates of one tool call are replaced by one, in the place where the call began.
    It has the last state of the call. This is for past events, because no client needs the steps of a past call."""
    folded: list[SessionUpdate] = []
    starts: dict[str, int] = {}
    for update in updates:
        if isinstance(update, CallStart):
            starts[update.tool_call_id] = len(folded)
            folded.append(update)
        elif isinstance(update, CallChange) and update.tool_call_id in starts:
            place = starts[update.tool_call_id]
            changes = {name: value for name in update.model_fields_set if (value := getattr(update, name)) is not None}
            folded[place] = folded[place].model_copy(update={**changes, "session_update": "tool_call"})
        else:
            folded.append(update)
    return folded
