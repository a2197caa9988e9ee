"""Owns how the events of a turn become the contract's: tool starts and ends, and the text of the final answer. Pure.

It must not know who reads them (`readers.py`) or how they are sent (`stream.py`).
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

# Characters of one text event. Clients of this contract keep no buffer between reads: what does not fit into one packet
# reaches them in two pieces, and they understand neither. 1,000 characters of ASCII JSON stay below Ethernet's 1,460
# bytes for most texts.
PIECE: Final = 1_000


@dataclass(frozen=True, slots=True)
class TurnCompleted:
    """The turn is complete."""


@dataclass(frozen=True, slots=True)
class TurnFailed:
    """The turn failed or was stopped."""

    message: str


@dataclass(frozen=True, slots=True)
class StreamItem:
    """One item of a stream. `seq` is the number of its event; an event becomes at most one item."""

    seq: int
    what: rest.StreamEvent | TurnCompleted | TurnFailed


@dataclass
class RestProjection:
    """The projection of one turn, from its beginning. Replayed from the store it gives the same items.

    `names` has the tools' own names by those that models use. A text is known to be the final answer only when no tool
    call has followed it. So its first `held_characters` are held back, and dropped if a call follows: what a model says
    before a call is short. A longer text is sent as it comes. 0 is right for a turn without tools, and infinity for a
    client that gets the answer as a whole.
    """

    names: Mapping[str, str]
    held_characters: float = inf
    messages: list[str] = field(default_factory=list[str])
    """Messages to the user that are no part of the chat. They follow the answer, because the contract has only text."""
    calls: list[rest.CalledTool] = field(default_factory=list[rest.CalledTool])
    ended: bool = False
    _held: list[StreamItem] = field(default_factory=list[StreamItem])
    _length: int = 0
    _is_split: bool = False
    """Whether a call has followed a text that was sent already."""
    _started: set[str] = field(default_factory=set[str])
    _remarks: list[StreamItem] = field(default_factory=list[StreamItem])
    _has_text: bool = False

    def items(self, event: Event) -> Iterator[StreamItem]:
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
                yield from self._call(event.seq, call)
            case _:
                pass
        if event.outcome is not None:
            yield from self._end(event.seq, event.outcome)

    def _call(self, seq: int, call: ToolCallContent) -> Iterator[StreamItem]:
        """Yield the start and the end of a call. A refused call never starts, so it has no end either."""
        name = self.names.get(call.name) or call.name.removeprefix(f"{call.server}__")
        if isinstance(call, ToolCallRunningContent):
            self._started.add(call.id)
            yield StreamItem(seq, rest.ToolStart(id=call.id, name=name, args=call.arguments))
        elif isinstance(call, ToolCalledContent) and call.id in self._started:
            result = "\n".join(output.text for output in call.outputs)
            self.calls.append(rest.CalledTool(name=name, args=call.arguments, result=result))
            yield StreamItem(seq, rest.ToolEnd(id=call.id, name=name))

    def _end(self, seq: int, outcome: Outcome) -> Iterator[StreamItem]:
        """End the turn. If the model sent no text, our own remarks are the answer, for example to a command."""
        self.ended = True
        if outcome is not Outcome.COMPLETED:
            reasons = [item.what.content for item in self._remarks if isinstance(item.what, rest.Text)]
            why = " ".join((*(reasons or [f"The answer is {outcome.value}."]), *self.messages))
            yield StreamItem(seq, TurnFailed(why))
            return
        yield from self._release() if self._has_text else self._remarks
        for message in self.messages:
            # Without a number: a client that reads the turn again is told what holds then.
            yield StreamItem(0, rest.Text(content=f"\n\n{message}"))
        yield StreamItem(seq, TurnCompleted())

    def _release(self) -> Iterator[StreamItem]:
        held, self._held = self._held, []
        yield from held


def frames(item: StreamItem, *, ids: bool) -> Iterator[bytes]:
    """Yield the server-sent events of an item. Of a text in several pieces only the last one has the id.

    A client that has not received the last piece needs all pieces again. The id comes after the data, because some
    clients look only at the beginning of an event.
    """
    *earlier, last = _write_data(item.what)
    for data in earlier:
        yield f"data: {data}\n\n".encode()
    id = f"\nid: {item.seq}" if ids and item.seq > 0 else ""
    yield f"data: {last}{id}\n\n".encode()


def _write_data(event: rest.StreamEvent | TurnCompleted | TurnFailed) -> list[str]:
    """Write the data as ASCII JSON, which stays valid text wherever it is cut."""
    match event:
        case TurnCompleted():
            return ["[DONE]"]
        case TurnFailed(message=message):
            return [f"[ERROR] {' '.join(message.split())}"]
        case rest.Text(content=text):
            pieces = [text[at : at + PIECE] for at in range(0, len(text), PIECE)] or [""]
            return [json.dumps(rest.Text(content=piece).model_dump()) for piece in pieces]
        case _:
            return [json.dumps(event.model_dump())]
