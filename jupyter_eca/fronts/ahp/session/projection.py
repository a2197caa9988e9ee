"""Owns the projection of a chat's events to actions of its session in the Agent Host Protocol. An event is a stored
fact about a chat. An action is a message that changes the state of the session, which all clients share. Events that
are read from the store again give the same turns as they did when they were new.

It must not know the session, which dispatches the actions. `tool_calls.py` projects the events of tool calls.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from jupyter_eca.fronts.ahp.reducers.base import Json, get_list, omit_none
from jupyter_eca.fronts.ahp.resources import uris
from jupyter_eca.fronts.ahp.session.tool_calls import ToolCallProjection
from jupyter_eca.protocol.ahp import actions
from jupyter_eca.protocol.ahp.content import (
    AhpReasoningPart,
    ContentPart,
    ErrorInfo,
    MarkdownPart,
    SystemPart,
    UserMessage,
)
from jupyter_eca.protocol.content import (
    ImageContent,
    MetadataContent,
    ProgressContent,
    ReasonTextContent,
    Role,
    TextContent,
    ToolCallContent,
    UrlContent,
    UsageContent,
)
from jupyter_eca.protocol.event import Event, Outcome, RejectionAside

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from jupyter_eca.fronts.ahp.locales import Wording
    from jupyter_eca.protocol.ahp.content import ResponsePart


class SessionProjection:
    """The projection of one session."""

    def __init__(
        self,
        session: str,
        get_state: Callable[[], Json],
        root: Path,
        messages: dict[str, Json],
        find_owner: Callable[[], str],
        get_wording: Callable[[], Wording],
    ) -> None:
        """Make the projection of the session with this URI.

        `get_state` returns its current state. `messages` has the messages with attachments that clients sent, by the id
        of the turn, because the store has only their text. For the other arguments see `ToolCallProjection`.
        """
        self._session = session
        self._get_state = get_state
        self._messages = messages
        self._calls = ToolCallProjection(session, get_state, root, find_owner, get_wording)
        self._last_prompted = ""  # the id of the last turn whose prompt was projected
        # A reasoning has several parts if something else was shown in between. For each such reasoning, the id of its
        # newest part.
        self._continued: dict[str, str] = {}
        self._last_remark = ""  # our last text in the turn; if the turn fails, this text says why

    def project(self, event: Event) -> Iterator[actions.AhpAction]:
        """Yield the actions of an event. The caller must dispatch each action before it takes the next one, because the
        next one is made from the state after it."""
        content = event.content
        if isinstance(content, MetadataContent):
            # An event with a turn has the title that was made from the first prompt. It does not replace a title that
            # the user has set.
            title = self._get_state()["summary"]["title"]
            if content.title != title and not (title and event.turn):
                yield actions.TitleChanged(session=self._session, title=content.title)
        elif event.is_message and isinstance(content, TextContent):
            yield from self._start_turn(event.turn, content.text)
        elif event.turn and self._get_active_turn() == event.turn:
            yield from self._add_content(event)
        if event.outcome is not None and self._get_active_turn() == event.turn:
            yield from self._end_turn(event.turn, event.outcome)

    def forget(self) -> None:
        """Forget the last turn. Called after turns were removed: a removed turn may be added again with its prompt."""
        self._last_prompted = ""

    def _start_turn(self, turn: str, text: str) -> Iterator[actions.AhpAction]:
        """Start a turn with the first text of the user, unless a client has started it. A later text of the user in the
        same turn is a steering message."""
        if turn == self._last_prompted:
            if self._get_active_turn() == turn:
                yield from self._add_steering(turn, text)
            return
        self._last_prompted, self._last_remark = turn, ""
        active = self._get_active_turn()
        if active and active != turn:
            error = ErrorInfo(error_type="busy", message="The chat was prompted by another client first.")
            yield actions.AhpTurnError(session=self._session, turn_id=active, error=error)
        if active != turn and all(known_turn["id"] != turn for known_turn in get_list(self._get_state(), "turns")):
            message = UserMessage.model_validate(self._messages.get(turn, {"text": text}))
            yield actions.TurnStarted(session=self._session, turn_id=turn, user_message=message)

    def _add_steering(self, turn: str, text: str) -> Iterator[actions.AhpAction]:
        """Add a steering message, which the model reads while the turn runs. If the state still shows it as pending,
        remove it there."""
        steering = self._get_state().get("steeringMessage")
        # The host joins several steering messages that follow each other to one text.
        if steering is not None and steering["userMessage"]["text"] in text:
            yield actions.PendingMessageRemoved(session=self._session, kind="steering", id=steering["id"])
        yield self._add_part(turn, SystemPart(content=f"The user added: {text}"))

    def _add_content(self, event: Event) -> Iterator[actions.AhpAction]:
        """Yield the actions that add the content of an event to the active turn."""
        turn, content = event.turn, event.content
        match content:
            case ToolCallContent():
                # The aside of an event is a text that only the model reads. For a rejected call, it has the reason.
                refusal = event.aside.text if isinstance(event.aside, RejectionAside) else ""
                yield from self._calls.project(turn, content, refusal)
            # A local event is the answer of a command, such as `/costs`, which no model reads.
            case TextContent(text=text) if event.role is Role.ASSISTANT or event.local:
                yield from self._add_text(turn, "markdown", "", text)
            case TextContent(text=text):
                self._last_remark = text
                yield self._add_part(turn, SystemPart(content=text))
            case ReasonTextContent(id=id, text=text):
                yield from self._add_text(turn, "reasoning", id, text)
            case UsageContent():
                yield actions.UsageChanged(session=self._session, turn_id=turn, usage=_describe_usage(content))
            case ImageContent(media_type=media_type) if event.role is Role.ASSISTANT and event.seq > 0:
                uri = uris.make_picture_uri(self._session, event.seq)
                yield self._add_part(turn, _refer_to_image(uri, media_type, content.base64))
            case UrlContent(title=title, url=url):
                yield from self._add_text(turn, "markdown", "", f"\n\n[{title}]({url})\n\n")
            case ProgressContent(state="running", text=text) if event.role is Role.SYSTEM:
                if text and text != self._get_state()["summary"].get("activity"):
                    yield actions.ActivityChanged(session=self._session, activity=text)
            case _:
                pass

    def _add_text(self, turn: str, kind: str, id: str, text: str) -> Iterator[actions.AhpAction]:
        """Append text to the last part if that is of the same kind, `markdown` or `reasoning`. Otherwise append it to a
        new part. `id` is the id of the reasoning, or "".

        A new part is empty, and all of its text follows in deltas. The protocol's own host does the same, and the
        client ahpx shows only the text in deltas.
        """
        is_markdown = kind == "markdown"
        parts = get_list(self._get_state()["activeTurn"], "responseParts")
        last = parts[-1] if parts else {}
        if last.get("kind") == kind and (not id or last.get("id") in {id, self._continued.get(id)}):
            id = str(last["id"])
        else:
            reasoning = id
            id = id or f"text-{len(parts)}"
            if any(part.get("id") == id for part in parts):
                id = f"{id}-{len(parts)}"
                self._continued[reasoning] = id
            yield self._add_part(turn, (MarkdownPart if is_markdown else AhpReasoningPart)(id=id, content=""))
        delta = actions.MarkdownDelta if is_markdown else actions.ReasoningPartDelta
        yield delta(session=self._session, turn_id=turn, part_id=id, content=text)

    def _end_turn(self, turn: str, outcome: Outcome) -> Iterator[actions.AhpAction]:
        """Yield the actions that end a turn."""
        match outcome:
            case Outcome.COMPLETED:
                yield actions.TurnComplete(session=self._session, turn_id=turn)
            case Outcome.STOPPED:
                yield actions.TurnCancelled(session=self._session, turn_id=turn)
            case Outcome.FAILED:
                error = ErrorInfo(error_type="failed", message=self._last_remark or "The answer failed.")
                yield actions.AhpTurnError(session=self._session, turn_id=turn, error=error)
        if self._get_state()["summary"].get("activity"):
            yield actions.ActivityChanged(session=self._session)

    def _get_active_turn(self) -> str:
        """Return the id of the active turn; "" if there is none."""
        turn = self._get_state().get("activeTurn")
        return str(turn["id"]) if turn else ""

    def _add_part(self, turn: str, part: ResponsePart) -> actions.PartAdded:
        """Make the action that adds a part to the answer of a turn."""
        return actions.PartAdded(session=self._session, turn_id=turn, part=part)


def _describe_usage(content: UsageContent) -> Json:
    """Describe the tokens of a model's reply. `_meta` has what the protocol has no field for: costs and the context."""
    extras = {"cost": content.last_message_cost, "sessionCost": content.session_cost}
    extras |= {"contextTokens": content.session_tokens, "contextWindow": content.limit and content.limit.context}
    tokens = {"inputTokens": content.message_input_tokens, "outputTokens": content.message_output_tokens}
    return omit_none(**tokens, cacheReadTokens=content.message_cached_tokens, _meta=omit_none(**extras))


def _refer_to_image(uri: str, media_type: str, base64: str) -> ContentPart:
    """Make a reference to an image. `size_hint` is the size of the image in bytes, which is smaller than its base64
    text."""
    return ContentPart(uri=uri, content_type=media_type, size_hint=len(base64) * 3 // 4)
