"""A model that obeys everything it is told, wherever in a request it stands: in a message, a result, the system prompt,
the description of a tool or a picture.

It is a server of the Anthropic API on this machine, so what it sees is what has really been sent. An order is known by
its mark, such as `ORDER-write`.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from jupyter_eca.plugins.providers.scripted import ReplyPart, Script
from tests.support.anthropic_server import Fault, LoopbackAnthropic, events

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from tests.support.anthropic_server import Json, Recorded

Rounds = list[list[ReplyPart]]

DONE = [ReplyPart(text="Done.")]


class ObedientModel(LoopbackAnthropic):
    """`orders` are the replies to each mark, one a request. `reads` are the calls that the user's prompt asks for; they
    come first. `transcriptions` are the texts of pictures, by their base64: a model that sees pictures reads them.
    `speaks` are answers to whoever is told such words, for subagents."""

    def __init__(
        self,
        orders: Mapping[str, Rounds],
        reads: Sequence[ReplyPart] = (),
        transcriptions: Mapping[str, str] | None = None,
        speaks: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(Script(rules=()))
        self._left = {mark: [*rounds] for mark, rounds in orders.items()}
        self._reads = [*reads]
        self._transcriptions = transcriptions or {}
        self._speaks = speaks or {}
        self.obeyed: list[str] = []
        """The marks that have arrived, in order."""
        self.on_obeyed: Callable[[], None] = lambda: None
        """Called before the first order is obeyed."""

    @property
    def sent(self) -> str:
        """All that it was sent."""
        return "\n".join(json.dumps(asked.body, ensure_ascii=False) for asked in self.requests)

    def answered(self, asked: Recorded) -> tuple[Fault, Iterable[tuple[float, bytes]]]:
        if not asked.path.startswith("/v1/messages"):
            return Fault(404, "404 page not found", plain=True), ()
        return Fault(), events(asked.body, self._reply(asked.body))

    def _reply(self, body: Json) -> list[ReplyPart]:
        seen = self._read(body)
        for words, answer in self._speaks.items():
            if words in str(body["messages"][0]):
                return [ReplyPart(text=answer)]
        if not body.get("tools"):
            return [ReplyPart(text="A title")]
        for mark, left in self._left.items():
            if mark in seen and left:
                if not self.obeyed:
                    self.on_obeyed()
                if mark not in self.obeyed:
                    self.obeyed.append(mark)
                return left.pop(0)
        if self._reads:
            reads, self._reads = self._reads, []
            return reads
        return DONE

    def _read(self, body: Json) -> str:
        """Return all the words of a request, also those in pictures."""
        written = json.dumps(body, ensure_ascii=False)
        return written + "".join(text for picture, text in self._transcriptions.items() if picture in written)


def call(tool: str, **arguments: Any) -> ReplyPart:
    return ReplyPart(tool=tool, arguments=arguments)
