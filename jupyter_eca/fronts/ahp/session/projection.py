"""From events of a chat to actions of its session. Replayed from the store it gives the same turns."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jupyter_eca.fronts.ahp.reducers.base import Json, items, present
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
from jupyter_eca.protocol.event import Event, Outcome

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from jupyter_eca.fronts.ahp.locales import Wording
    from jupyter_eca.protocol.ahp.content import ResponsePart


class SessionProjection:
    """Of one session; `state` gives what it is now. `messages` has those of turns that a client of the protocol began,
    with their attachments, by turn: the store keeps only their text."""

    def __init__(
        self,
        session: str,
        state: Callable[[], Json],
        root: Path,
        messages: dict[str, Json],
        owner: Callable[[], str],
        words: Callable[[], Wording],
    ) -> None:
        self._session = session
        self._state = state
        self._messages = messages
        self._calls = ToolCallProjection(session, state, root, owner, words)
        self._asked = ""  # the last turn whose prompt was seen
        self._remark = ""  # the last thing that we said ourselves: why a turn failed

    def actions(self, event: Event) -> Iterator[actions.Action]:
        """To be dispatched one by one: each is made for the state that the one before has left."""
        content = event.content
        if isinstance(content, MetadataContent):
            # The title that a first question makes does not stand over one that somebody gave before.
            title = self._state()["summary"]["title"]
            if content.title != title and not (title and event.turn):
                yield actions.TitleChanged(session=self._session, title=content.title)
        elif event.role is Role.USER and isinstance(content, TextContent):
            yield from self._asks(event.turn, content.text)
        elif self._active() == event.turn != "":
            yield from self._says(event)
        if event.outcome is not None and self._active() == event.turn:
            yield from self._ends(event.turn, event.outcome)

    def forget(self) -> None:
        """Turns were taken away: one may come again."""
        self._asked = ""

    def _asks(self, turn: str, text: str) -> Iterator[actions.Action]:
        """The first words of a turn begin it, unless a client did; later ones were said into it."""
        if turn == self._asked:
            if self._active() == turn:
                yield from self._steered(turn, text)
            return
        self._asked, self._remark = turn, ""
        active = self._active()
        if active and active != turn:
            error = ErrorInfo(error_type="busy", message="The chat was asked something else first.")
            yield actions.TurnError(session=self._session, turn_id=active, error=error)
        if active != turn and all(one["id"] != turn for one in items(self._state(), "turns")):
            message = UserMessage.model_validate(self._messages.get(turn, {"text": text}))
            yield actions.TurnStarted(session=self._session, turn_id=turn, user_message=message)

    def _steered(self, turn: str, text: str) -> Iterator[actions.Action]:
        steering = self._state().get("steeringMessage")
        if steering is not None and steering["userMessage"]["text"] in text:
            yield actions.PendingMessageRemoved(session=self._session, kind="steering", id=steering["id"])
        yield self._part(turn, SystemPart(content=f"The user added: {text}"))

    def _says(self, event: Event) -> Iterator[actions.Action]:
        turn, content = event.turn, event.content
        match content:
            case ToolCallContent():
                yield from self._calls.actions(turn, content, event.aside)
            case TextContent(text=text) if event.role is Role.ASSISTANT or event.local:
                yield from self._text(turn, "markdown", "", text)
            case TextContent(text=text):
                self._remark = text
                yield self._part(turn, SystemPart(content=text))
            case ReasonTextContent(id=id, text=text):
                yield from self._text(turn, "reasoning", id, text)
            case UsageContent():
                yield actions.UsageChanged(session=self._session, turn_id=turn, usage=_usage(content))
            case ImageContent(media_type=media_type) if event.role is Role.ASSISTANT and event.seq > 0:
                uri = uris.picture(self._session, event.seq)
                yield self._part(turn, _referred(uri, media_type, content.base64))
            case UrlContent(title=title, url=url):
                yield from self._text(turn, "markdown", "", f"\n\n[{title}]({url})\n\n")
            case ProgressContent(state="running", text=text) if event.role is Role.SYSTEM:
                if text and text != self._state()["summary"].get("activity"):
                    yield actions.ActivityChanged(session=self._session, activity=text)
            case _:
                pass

    def _text(self, turn: str, kind: str, id: str, text: str) -> Iterator[actions.Action]:
        """A new part, or more of the last one."""
        parts = items(self._state()["activeTurn"], "responseParts")
        last = parts[-1] if parts else {}
        if last.get("kind") == kind and id in {"", last.get("id")}:
            delta = actions.TextDelta if kind == "markdown" else actions.ReasoningDelta
            yield delta(session=self._session, turn_id=turn, part_id=last["id"], content=text)
            return
        id = id or f"text-{len(parts)}"
        if any(part.get("id") == id for part in parts):
            id = f"{id}-{len(parts)}"
        part = MarkdownPart if kind == "markdown" else AhpReasoningPart
        yield self._part(turn, part(id=id, content=text))

    def _ends(self, turn: str, outcome: Outcome) -> Iterator[actions.Action]:
        match outcome:
            case Outcome.COMPLETED:
                yield actions.TurnComplete(session=self._session, turn_id=turn)
            case Outcome.STOPPED:
                yield actions.TurnCancelled(session=self._session, turn_id=turn)
            case Outcome.FAILED:
                error = ErrorInfo(error_type="failed", message=self._remark or "The answer failed.")
                yield actions.TurnError(session=self._session, turn_id=turn, error=error)
        if self._state()["summary"].get("activity"):
            yield actions.ActivityChanged(session=self._session)

    def _active(self) -> str:
        turn = self._state().get("activeTurn")
        return str(turn["id"]) if turn else ""

    def _part(self, turn: str, part: ResponsePart) -> actions.PartAdded:
        return actions.PartAdded(session=self._session, turn_id=turn, part=part)


def _usage(content: UsageContent) -> Json:
    about = {"cost": content.last_message_cost, "sessionCost": content.session_cost}
    about |= {"contextTokens": content.session_tokens, "contextWindow": content.limit and content.limit.context}
    tokens = {"inputTokens": content.message_input_tokens, "outputTokens": content.message_output_tokens}
    return present(**tokens, cacheReadTokens=content.message_cached_tokens, _meta=present(**about))


def _referred(uri: str, media_type: str, base64: str) -> ContentPart:
    """Refer to an image. The size is that of its bytes, not of the base64 that is stored."""
    return ContentPart(uri=uri, content_type=media_type, size_hint=len(base64) * 3 // 4)
