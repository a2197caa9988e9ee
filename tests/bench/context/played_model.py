"""A server of the Messages API whose answers a task gives, which plays the model.

The model of a chat is a generator: it yields an answer, and gets the next request. So a task reads like a story, and a
request that needs no answer of its own does not exist. Subagents and other chats are generators of their own.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from jupyter_eca.plugins.providers.scripted import ReplyPart, Script
from tests.bench.context.prefix_cache import PrefixCache
from tests.bench.context.request_view import RequestView
from tests.support.anthropic_server import NO_FAULT, Fault, LoopbackAnthropic, Recorded, events

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable

    Reply = tuple[ReplyPart, ...]
    Story = Generator[Reply, RequestView, None]

MODEL = "claude-sonnet-5-5"


def say(text: str) -> Reply:
    """The end of a turn."""
    return (ReplyPart(text=text),)


def call(tool: str, **arguments: Any) -> ReplyPart:
    return ReplyPart(tool=tool, arguments=arguments)


class Player(Protocol):
    """Plays the model."""

    def name_chat(self, view: RequestView) -> str:
        """Return the same text for all requests of a chat."""
        ...

    def play(self, view: RequestView) -> Story:
        """Begin the story of a chat, with its first request. Each `yield` is an answer, and its value is the next
        request."""
        ...


@dataclass
class Count:
    """What the requests of a task cost."""

    requests: int = 0
    tokens: float = 0
    cached: float = 0
    """The tokens that were read from the cache."""


class PlayedModel(LoopbackAnthropic):
    """The model of one task."""

    def __init__(self, player: Player, normalise: Callable[[str], str]) -> None:
        """`normalise` takes out of a request what differs from run to run, such as the names of temporary folders. It
        is used only to count."""
        super().__init__(Script(rules=()))
        self.count = Count()
        self.bodies: list[dict[str, Any]] = []
        self._failure: Exception | None = None
        self._player = player
        self._normalise = normalise
        self._cache = PrefixCache()
        self._stories: dict[str, Story] = {}

    def check(self) -> None:
        """Raises: what the task raised while it played the model."""
        if self._failure is not None:
            raise self._failure

    def begin_count(self) -> None:
        """Forget what was counted. What the cache has stays there."""
        self.count = Count()
        self.bodies.clear()

    def answered(self, asked: Recorded) -> tuple[Fault, Iterable[tuple[float, bytes]]]:
        if asked.path != "/v1/messages":
            return super().answered(asked)
        body = json.loads(self._normalise(json.dumps(asked.body)))
        self.bodies.append(body)
        tokens, cached = self._cache.send(body)
        self.count.requests += 1
        self.count.tokens += tokens
        self.count.cached += cached
        try:
            reply = self._continue(RequestView(asked.body))
        except Exception as error:  # noqa: BLE001  # a task failed: the turn must end, and the bench raises it
            self._failure = self._failure or error
            return Fault(400, f"the task failed: {error!r}"), ()
        return NO_FAULT, events(asked.body, reply, {"input_tokens": round(tokens)})

    def _continue(self, view: RequestView) -> Reply:
        """Go on with the story of the chat that a request belongs to."""
        chat = self._player.name_chat(view)
        if chat in self._stories:
            return self._stories[chat].send(view)
        story = self._stories[chat] = self._player.play(view)
        return next(story)
