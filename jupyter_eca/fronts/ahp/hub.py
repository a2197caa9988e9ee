"""Owns the shared states: the hub numbers every action, applies it, sends it to subscribers, and keeps the last ones.

It must not know what a state means: that is in `reducers/`. Everything here is synchronous, so a snapshot and its
number belong together, and the order of the numbers is the order of events.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Protocol

from jupyter_eca.fronts.ahp.reducers import reduce_root, reduce_session, reduce_terminal
from jupyter_eca.protocol.ahp import ROOT

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from jupyter_eca.fronts.ahp.reducers.base import Json, Reducer
    from jupyter_eca.protocol.ahp.actions import AhpAction

# Envelopes that are kept for clients that come back. The protocol's own host keeps 1,000.
KEPT: Final = 2_000


@dataclass(frozen=True, slots=True)
class ActionOrigin:
    """Which client sent an action, and the number that the client gave it."""

    client: str
    seq: int
    """The client's own count of its actions."""


@dataclass(frozen=True, slots=True)
class Envelope:
    """An action with its number.

    A refused action says why, and is sent to its sender alone: today's clients would apply an action that was refused
    to another client.
    """

    resource: str
    """The URI of the state that the action changes."""

    action: Json
    seq: int
    origin: ActionOrigin | None = None
    """The client that sent the action; None for an action of the server."""

    refused: str | None = None
    """Why the action was refused; None if it was applied."""

    def is_for(self, client: str) -> bool:
        return self.refused is None or (self.origin is not None and self.origin.client == client)


@dataclass(frozen=True, slots=True)
class Snapshot:
    resource: str
    state: Json
    seq: int


@dataclass(frozen=True, slots=True)
class MissedActions:
    """What a client has missed."""

    envelopes: tuple[Envelope, ...]
    missing: tuple[str, ...]
    """The URIs of subscriptions to resources that are gone."""


class HubClient(Protocol):
    """A connected client. `send` and `notify` must not wait."""

    @property
    def client(self) -> str: ...

    @property
    def subscriptions(self) -> set[str]: ...

    @property
    def language(self) -> str: ...

    @property
    def approves(self) -> bool: ...

    def send(self, envelope: Envelope) -> None: ...

    def notify(self, notification: Json) -> None: ...

    async def request(self, method: str, params: Json) -> Any:
        """Send a request to the client, and return its result. Raises: RemoteError."""
        ...


class Hub:
    """The shared states and their subscribers. `changed` is called with the URI and the earlier state of each resource
    that changed. `more` is called when the numbers reach `mark`, and returns the next mark."""

    def __init__(
        self, start: int, root: Json, changed: Callable[[str, Json], None], more: Callable[[], int] = lambda: 2**53
    ) -> None:
        """Make a hub. The first action gets the number after `start`."""
        self.seq = start
        self.mark = 2**53
        self._more = more
        self._floor = start  # the last number whose action cannot be replayed
        self._kept: deque[Envelope] = deque()
        self._forgotten: dict[str, int] = {}  # the same, for each forgotten resource
        self._states: dict[str, Json] = {ROOT: root}
        self._reducers: dict[str, Reducer] = {ROOT: reduce_root}
        self._listeners: dict[str, HubClient] = {}
        self._changed = changed

    # -- resources

    def add_session(self, uri: str, state: Json) -> None:
        self._states[uri], self._reducers[uri] = state, reduce_session

    def add_terminal(self, uri: str, state: Json) -> None:
        self._states[uri], self._reducers[uri] = state, reduce_terminal

    def remove(self, uri: str) -> None:
        """Remove a resource, and all subscriptions to it."""
        del self._states[uri], self._reducers[uri]
        self._forgotten.pop(uri, None)
        for listener in self._listeners.values():
            listener.subscriptions.discard(uri)

    def forget(self, uri: str) -> None:
        """Drop a resource that may be added again. Actions sent before do not lead to its new state, so they are not
        replayed.
        """
        del self._states[uri], self._reducers[uri]
        self._forgotten = {resource: seq for resource, seq in self._forgotten.items() if seq > self._floor}
        self._forgotten[uri] = self._next()

    def state(self, uri: str) -> Json:
        return self._states[uri]

    def has(self, uri: str) -> bool:
        return uri in self._states

    def snapshot(self, uri: str) -> Snapshot:
        return Snapshot(uri, self._states[uri], self.seq)

    # -- clients

    def join(self, listener: HubClient) -> HubClient | None:
        """Add a client. Return its earlier connection, which this one replaces."""
        before = self._listeners.get(listener.client)
        self._listeners[listener.client] = listener
        return before

    def leave(self, listener: HubClient) -> bool:
        """Remove a client's connection. Return False if a newer one has replaced it already."""
        if self._listeners.get(listener.client) is not listener:
            return False
        del self._listeners[listener.client]
        return True

    def find_client(self, client: str) -> HubClient | None:
        return self._listeners.get(client)

    def is_watched(self, uri: str) -> bool:
        return any(uri in listener.subscriptions for listener in self._listeners.values())

    def has_approver(self, uri: str) -> bool:
        return any(uri in listener.subscriptions and listener.approves for listener in self._listeners.values())

    def language(self, uri: str) -> str | None:
        """Return the language of the newest subscriber: all subscribers share one state."""
        newest = reversed(self._listeners.values())
        return next((client.language for client in newest if uri in client.subscriptions), None)

    def notify(self, notification: Json) -> None:
        for listener in list(self._listeners.values()):
            listener.notify(notification)

    # -- actions

    def dispatch(self, uri: str, action: AhpAction, at: int) -> None:
        """Apply an action of the server. See `apply`."""
        self.apply(uri, action.wire(), at)

    def apply(self, uri: str, action: Json, at: int, origin: ActionOrigin | None = None) -> None:
        """Change the state of a resource, and send the action to all its subscribers, the sender among them.

        The action of a client is passed on unchanged, with fields that are unknown here.
        """
        before = self._states[uri]
        after = self._states[uri] = self._reducers[uri](before, action, at)
        envelope = self._number(uri, action, origin, None)
        for listener in list(self._listeners.values()):
            if uri in listener.subscriptions:
                listener.send(envelope)
        if after is not before:
            self._changed(uri, before)

    def refuse(self, uri: str, action: Json, origin: ActionOrigin, reason: str) -> None:
        envelope = self._number(uri, action, origin, reason)
        if listener := self._listeners.get(origin.client):
            listener.send(envelope)

    def _number(self, uri: str, action: Json, origin: ActionOrigin | None, refused: str | None) -> Envelope:
        envelope = Envelope(uri, action, self._next(), origin, refused)
        self._kept.append(envelope)
        if len(self._kept) > KEPT:
            self._floor = self._kept.popleft().seq
        return envelope

    def _next(self) -> int:
        self.seq += 1
        if self.seq >= self.mark:
            self.mark = self._more()
        return self.seq

    def replay(self, client: str, after: int, uris: Iterable[str]) -> MissedActions | None:
        """Return what a client has missed after a number; None if that is no longer known."""
        if not self._floor <= after <= self.seq:
            return None
        wanted = list(dict.fromkeys(uris))
        if any(after < self._forgotten.get(uri, 0) for uri in wanted):
            return None
        existing = {uri for uri in wanted if uri in self._states}
        missed = (
            envelope
            for envelope in self._kept
            if envelope.seq > after and envelope.resource in existing and envelope.is_for(client)
        )
        return MissedActions(tuple(missed), tuple(uri for uri in wanted if uri not in existing))
