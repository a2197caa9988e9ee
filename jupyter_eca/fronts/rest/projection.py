"""A turn's events as the contract's: tool starts and ends, and of the text the final answer alone. Pure."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
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
# reaches them in two pieces, of which they understand neither. 1,000 in JSON's ASCII stay below Ethernet's 1,460 bytes
# for most texts.
PIECE: Final = 1_000


@dataclass(frozen=True, slots=True)
class TurnCompleted:
    """The turn is complete."""


@dataclass(frozen=True, slots=True)
class TurnFailed:
    message: str


@dataclass(frozen=True, slots=True)
class StreamItem:
    """`seq` is that of the event it came from: each event becomes one item at most."""

    seq: int
    what: rest.StreamEvent | TurnCompleted | TurnFailed


@dataclass
class RestProjection:
    """One turn from its beginning. `names` are the tools' own names by those that models use. With `at_once` text goes
    out as it comes: right for a turn without tools only, since whether a text is the final answer is known when no tool
    call has followed it. Replayed from the store it gives the same items."""

    names: Mapping[str, str]
    at_once: bool = False
    calls: list[rest.CalledTool] = field(default_factory=list[rest.CalledTool])
    ended: bool = False
    _held: list[StreamItem] = field(default_factory=list[StreamItem])
    _started: set[str] = field(default_factory=set[str])
    _remarks: list[StreamItem] = field(default_factory=list[StreamItem])
    _said: bool = False

    def items(self, event: Event) -> Iterator[StreamItem]:
        match event.content:
            case TextContent(text=text) if event.role is Role.ASSISTANT:
                self._said = True
                self._held.append(StreamItem(event.seq, rest.Text(content=text)))
                if self.at_once:
                    yield from self._released()
            case TextContent(text=text) if event.role is Role.SYSTEM:
                self._remarks.append(StreamItem(event.seq, rest.Text(content=text)))
            case ToolCallContent() as call:
                self._held, self._said = [], False
                self._remarks = []
                yield from self._call(event.seq, call)
            case _:
                pass
        if event.outcome is not None:
            yield from self._end(event.seq, event.outcome)

    def _call(self, seq: int, call: ToolCallContent) -> Iterator[StreamItem]:
        """A call that was refused, or could not be tried, never began: nobody is told of its end either."""
        name = self.names.get(call.name) or call.name.removeprefix(f"{call.server}__")
        if isinstance(call, ToolCallRunningContent):
            self._started.add(call.id)
            yield StreamItem(seq, rest.ToolStart(id=call.id, name=name, args=call.arguments))
        elif isinstance(call, ToolCalledContent) and call.id in self._started:
            result = "\n".join(output.text for output in call.outputs)
            self.calls.append(rest.CalledTool(name=name, args=call.arguments, result=result))
            yield StreamItem(seq, rest.ToolEnd(id=call.id, name=name))

    def _end(self, seq: int, outcome: Outcome) -> Iterator[StreamItem]:
        """What we have to say ourselves is the answer where the model gave none: to a command of ours."""
        self.ended = True
        if outcome is not Outcome.COMPLETED:
            reasons = (item.what.content for item in self._remarks if isinstance(item.what, rest.Text))
            yield StreamItem(seq, TurnFailed(" ".join(reasons) or f"The answer is {outcome.value}."))
            return
        yield from self._released() if self._said else self._remarks
        yield StreamItem(seq, TurnCompleted())

    def _released(self) -> Iterator[StreamItem]:
        held, self._held = self._held, []
        yield from held


def frames(item: StreamItem, *, ids: bool) -> Iterator[bytes]:
    """Each is one event. Of a text in several pieces only the last one has the id: who has not got it wants all.

    The id comes behind the data: there are clients that look at the beginning of an event only.
    """
    *others, last = _said(item.what)
    for data in others:
        yield f"data: {data}\n\n".encode()
    id = f"\nid: {item.seq}" if ids and item.seq > 0 else ""
    yield f"data: {last}{id}\n\n".encode()


def _said(what: rest.StreamEvent | TurnCompleted | TurnFailed) -> list[str]:
    """JSON in ASCII: cut anywhere, it is still characters."""
    match what:
        case TurnCompleted():
            return ["[DONE]"]
        case TurnFailed(message=message):
            return [f"[ERROR] {' '.join(message.split())}"]
        case rest.Text(content=text):
            pieces = [text[at : at + PIECE] for at in range(0, len(text), PIECE)] or [""]
            return [json.dumps(rest.Text(content=piece).model_dump()) for piece in pieces]
        case _:
            return [json.dumps(what.model_dump())]
