"""Owns the projection of a turn's events to the events of the MCP chat contract, which is the HTTP API of the REST
front. The contract has three kinds of events: the start and the end of a tool call, and a piece of the final answer.
Pure.

It must not know where the events come from (`readers.py`) or how they are sent (`stream.py`).
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from math import inf
from typing import TYPE_CHECKING, Final

from jupyter_eca.protocol import rest
from jupyter_eca.protocol.content import (
    Role,
    TextContent,
    ToolCallContent,
    ToolCalledContent,
    ToolCallRunningContent,
)
from jupyter_eca.protocol.event import Event, Outcome

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

# The largest number of characters in one text event. Clients of this contract parse each network packet alone: an event
# that arrives in two packets is lost. 1,000 characters, as ASCII JSON, fit into the 1,460 bytes of an Ethernet packet
# for most texts.
PIECE_CHARACTERS: Final = 1_000


@dataclass(frozen=True, slots=True)
class TurnCompleted:
    """Says that the turn has ended with an answer."""


@dataclass(frozen=True, slots=True)
class TurnFailed:
    """Says that the turn failed or was stopped."""

    message: str
    """Why it has no answer."""


@dataclass(frozen=True, slots=True)
class StreamItem:
    """One item of a stream."""

    seq: int
    """The number of the event that it was made from; 0 for an item that was made from no event."""

    content: rest.StreamEvent | TurnCompleted | TurnFailed
    """The event of the contract, or the end of the turn."""


@dataclass
class RestProjection:
    """The projection of one turn. It gets the events from the beginning of the turn. Stored events give the same items
    as they did when they were new.

    Only the text after the last tool call is the answer. While a text comes, nobody knows whether a call will follow.
    So its first `held_characters` are held back, and are dropped if a call follows: texts before a call are usually
    short. If the text becomes longer, it is sent as it comes.
    """

    tool_names: Mapping[str, str]
    """The servers' own names of tools, by the names that models use."""

    held_characters: float = inf
    """How many characters are held back: 0 for a turn without tools, infinity if the client gets the answer as a
    whole."""

    messages: list[str] = field(default_factory=list[str])
    """Messages to the user that are not part of the chat. They follow the answer, because the contract has only
    text."""

    calls: list[rest.CalledTool] = field(default_factory=list[rest.CalledTool])
    """The tool calls that have ended."""

    has_ended: bool = False
    """Whether the turn has ended."""

    _held: list[StreamItem] = field(default_factory=list[StreamItem])
    """The items of the text that is held back."""

    _length: int = 0
    """The number of characters since the last tool call."""

    _is_split: bool = False
    """Whether a call has followed a text that was already sent. Then the next text begins with a blank line."""

    _started: set[str] = field(default_factory=set[str])
    """The ids of the calls that have started."""

    _remarks: list[StreamItem] = field(default_factory=list[StreamItem])
    """The texts since the last tool call that come from us and not from the model."""

    _has_text: bool = False
    """Whether the model has sent a text since the last tool call."""

    def project(self, event: Event) -> Iterator[StreamItem]:
        """Yield the items that can be sent after an event."""
        match event.content:
            case TextContent(text=text) if event.role is Role.ASSISTANT:
                self._has_text = True
                self._length += len(text)
                self._held.append(StreamItem(event.seq, rest.Text(content=f"\n\n{text}" if self._is_split else text)))
                self._is_split = False
                if self._length > self.held_characters:
                    yield from self._release()
            case TextContent(text=text) if event.role is Role.SYSTEM:
                self._remarks.append(StreamItem(event.seq, rest.Text(content=text)))
            case ToolCallContent() as call:
                self._is_split = self._is_split or self._length > self.held_characters
                self._held, self._has_text, self._length = [], False, 0
                self._remarks = []
                yield from self._project_call(event.seq, call)
            case _:
                pass
        if event.outcome is not None:
            yield from self._project_end(event.seq, event.outcome)

    def _project_call(self, seq: int, call: ToolCallContent) -> Iterator[StreamItem]:
        """Yield the start or the end of a call. A call that was refused has neither, because it never started."""
        name = self.tool_names.get(call.name) or call.name.removeprefix(f"{call.server}__")
        if isinstance(call, ToolCallRunningContent):
            self._started.add(call.id)
            yield StreamItem(seq, rest.ToolStart(id=call.id, name=name, args=call.arguments))
        elif isinstance(call, ToolCalledContent) and call.id in self._started:
            result = "\n".join(output.text for output in call.outputs)
            self.calls.append(rest.CalledTool(name=name, args=call.arguments, result=result))
            yield StreamItem(seq, rest.ToolEnd(id=call.id, name=name))

    def _project_end(self, seq: int, outcome: Outcome) -> Iterator[StreamItem]:
        """Yield the last items of the turn. If the model has sent no text, our own texts are the answer, for example
        the text of a command."""
        self.has_ended = True
        if outcome is not Outcome.COMPLETED:
            reasons = [item.content.content for item in self._remarks if isinstance(item.content, rest.Text)]
            message = " ".join((*(reasons or [f"The answer is {outcome.value}."]), *self.messages))
            yield StreamItem(seq, TurnFailed(message))
            return
        yield from self._release() if self._has_text else self._remarks
        for message in self.messages:
            # These items have no number (0). A client that reads the turn again gets the messages that exist then.
            yield StreamItem(0, rest.Text(content=f"\n\n{message}"))
        yield StreamItem(seq, TurnCompleted())

    def _release(self) -> Iterator[StreamItem]:
        """Yield the text that was held back."""
        held, self._held = self._held, []
        yield from held


def write_frames(item: StreamItem, *, ids: bool) -> Iterator[bytes]:
    """Yield the server-sent events of an item. With `ids`, they have the number of the item as their id.

    If a text is sent in several pieces, only the last piece has the id: a client that has not received the last piece
    needs all pieces again. The id comes after the data, because some clients look only at the start of an event.
    """
    *earlier, last = _write_data(item.content)
    for data in earlier:
        yield f"data: {data}\n\n".encode()
    id = f"\nid: {item.seq}" if ids and item.seq > 0 else ""
    yield f"data: {last}{id}\n\n".encode()


def _write_data(event: rest.StreamEvent | TurnCompleted | TurnFailed) -> list[str]:
    """Return the data of each server-sent event. It is ASCII JSON, so a cut between two bytes never splits a
    character."""
    match event:
        case TurnCompleted():
            return ["[DONE]"]
        case TurnFailed(message=message):
            return [f"[ERROR] {' '.join(message.split())}"]
        case rest.Text(content=text):
            starts = range(0, len(text), PIECE_CHARACTERS)
            pieces = [text[start : start + PIECE_CHARACTERS] for start in starts] or [""]
            return [json.dumps(rest.Text(content=piece).model_dump()) for piece in pieces]
        case _:
            return [json.dumps(event.model_dump())]
