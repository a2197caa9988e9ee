"""Owns the states that the host shares with the clients of the Agent Host Protocol. A state is a JSON object with a
URI: the whole host (the root), a session, or a terminal. The hub numbers every action, applies it to a state, sends it
to the subscribers of this state, and keeps the last actions for clients that reconnect.

It must not know what a state means: the reducers (`reducers/`) do, which are the functions that return the state after
an action. Nothing in this module is awaited. So no action can come between a snapshot and its number, and the actions
are applied in the order of their numbers.
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
    from jupyter_eca.fronts.client_access import ClientAccess
    from jupyter_eca.protocol.ahp.actions import AhpAction

# How many envelopes are kept for clients that reconnect. The protocol's own host keeps 1,000.
MAX_RECENT: Final = 2_000


@dataclass(frozen=True, slots=True)
class ActionOrigin:
    """Says which client sent an action."""

    client: str
    """The id of the client."""

    seq: int
    """The number that the client gave the action. Each client counts its own actions."""


@dataclass(frozen=True, slots=True)
class Envelope:
    """An action with its number in the order of all actions.

    A refused action is sent only to the client that has dispatched it. Clients ignore that an action of another client
    was refused, and would apply it.
    """

    resource: str
    """The URI of the state that the action changes."""

    action: Json
    """The action itself, as it is sent."""

    seq: int
    """The number of the action. The hub counts all actions of all states together."""

    origin: ActionOrigin | None = None
    """The client that sent the action; None for an action of the server."""

    refusal: str | None = None
    """Why the action was refused; None if it was applied."""

    def is_for(self, client: str) -> bool:
        """Return whether a client that is subscribed to the state gets this envelope."""
        return self.refusal is None or (self.origin is not None and self.origin.client == client)


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A state at one moment."""

    resource: str
    """The URI of the state."""

    state: Json
    """The whole state."""

    seq: int
    """The number of the last action before the snapshot was made."""


@dataclass(frozen=True, slots=True)
class MissedActions:
    """The actions that a client has missed while it was not connected."""

    envelopes: tuple[Envelope, ...]
    """The missed actions on the states that the client was subscribed to and that still exist."""

    missing: tuple[str, ...]
    """The URIs of the states that the client was subscribed to and that do not exist any more."""


class HubClient(Protocol):
    """The connection of a client, as the hub uses it."""

    @property
    def client(self) -> str:
        """The id of the client."""
        ...

    @property
    def subscriptions(self) -> set[str]:
        """The URIs of the states that the client is subscribed to."""
        ...

    @property
    def language(self) -> str:
        """The language of the client's user: a key of `locales.LANGUAGES`."""
        ...

    @property
    def access(self) -> ClientAccess:
        """What the client may do."""
        ...

    def send(self, envelope: Envelope) -> None:
        """Queue an action for the client. Must not wait for the client."""
        ...

    def notify(self, notification: Json) -> None:
        """Queue a notification for the client. Must not wait for the client."""
        ...

    async def request(self, method: str, params: Json) -> Any:
        """Send a request to the client, and return its result. Raises: RemoteError."""
        ...


class Hub:
    """The shared states, by their URIs, and the connections of the clients."""

    def __init__(
        self,
        start: int,
        root: Json,
        on_change: Callable[[str, Json], None],
        reserve_numbers: Callable[[], int] = lambda: 2**53,
    ) -> None:
        """Make a hub with the state `root` for the whole host. The first action gets the number after `start`.

        `on_change` is called after an action has changed a state, with the URI and the earlier state.
        `reserve_numbers` is called when the numbers reach `reserve_at`. It returns the next value of `reserve_at`. The
        default reserves nothing.
        """
        self.seq = start
        """The number of the last action."""
        self.reserve_at = 2**53
        """The number at which more numbers must be reserved. By default it is never reached: no JSON number is exact
        beyond 2**53."""
        self._reserve_numbers = reserve_numbers
        self._replay_floor = start  # only actions with a higher number than this one can be replayed
        self._recent: deque[Envelope] = deque()  # the last envelopes, the oldest first
        self._added_at: dict[str, int] = {ROOT: start}  # the number at which each resource was added
        # The state of each resource, and the function that applies an action to it, by the URI of the resource.
        self._states: dict[str, Json] = {ROOT: root}
        self._reducers: dict[str, Reducer] = {ROOT: reduce_root}
        self._connections: dict[str, HubClient] = {}  # by the id of the client
        self._on_change = on_change

    # -- resources

    def add_session(self, uri: str, state: Json) -> None:
        """Add the state of a session."""
        self._add(uri, state, reduce_session)

    def add_terminal(self, uri: str, state: Json) -> None:
        """Add the state of a terminal."""
        self._add(uri, state, reduce_terminal)

    def _add(self, uri: str, state: Json, reducer: Reducer) -> None:
        """Add a state, and the function that applies actions to it."""
        self._states[uri], self._reducers[uri], self._added_at[uri] = state, reducer, self.seq

    def remove(self, uri: str) -> None:
        """Remove a state, and all subscriptions to it. Its URI may later be used for another resource."""
        self.forget(uri)
        for connection in self._connections.values():
            connection.subscriptions.discard(uri)

    def forget(self, uri: str) -> None:
        """Drop a state that may be added again later. Subscriptions to it stay.

        Actions from before this moment must not be replayed to the new state. So this call uses up a number: the state
        is then added with a higher number than these actions have.
        """
        del self._states[uri], self._reducers[uri], self._added_at[uri]
        self._take_number()

    def get_state(self, uri: str) -> Json:
        """Return the state with this URI, which must exist."""
        return self._states[uri]

    def has(self, uri: str) -> bool:
        """Return whether there is a state with this URI."""
        return uri in self._states

    def make_snapshot(self, uri: str) -> Snapshot:
        """Return the state with this URI, which must exist, together with the number of the last action."""
        return Snapshot(uri, self._states[uri], self.seq)

    # -- clients

    def join(self, connection: HubClient) -> HubClient | None:
        """Add the connection of a client. Return the earlier connection of the same client, which it replaces; None if
        there was none."""
        before = self._connections.get(connection.client)
        self._connections[connection.client] = connection
        return before

    def leave(self, connection: HubClient) -> bool:
        """Remove a connection. Return False if a newer connection of the same client has replaced it before."""
        if self._connections.get(connection.client) is not connection:
            return False
        del self._connections[connection.client]
        return True

    def find_client(self, client: str) -> HubClient | None:
        """Return the connection of a client; None if the client is not connected."""
        return self._connections.get(client)

    def is_watched(self, uri: str) -> bool:
        """Return whether any client is subscribed to a state."""
        return any(uri in connection.subscriptions for connection in self._connections.values())

    def has_approver(self, uri: str) -> bool:
        """Return whether a client that may approve tool calls is subscribed to a state."""
        return any(
            uri in connection.subscriptions and connection.access.may_approve
            for connection in self._connections.values()
        )

    def find_language(self, uri: str) -> str | None:
        """Return the language of the newest subscriber of a state; None without subscribers. All subscribers share one
        state, so its texts can have only one language."""
        newest = reversed(self._connections.values())
        return next((connection.language for connection in newest if uri in connection.subscriptions), None)

    def notify(self, notification: Json) -> None:
        """Queue a notification for all clients, whatever they are subscribed to."""
        for connection in list(self._connections.values()):
            connection.notify(notification)

    # -- actions

    def dispatch(self, uri: str, action: AhpAction, at: int) -> None:
        """Apply an action of the server, and send it to all subscribers. See `apply`."""
        self.apply(uri, action.as_json_object(), at)

    def apply(self, uri: str, action: Json, at: int, origin: ActionOrigin | None = None) -> None:
        """Apply an action to a state, and send it to all subscribers of the state. The client that sent it gets it too.

        `at` is the time in milliseconds since 1970. An action of a client is passed on unchanged, with fields that we
        do not know.
        """
        before = self._states[uri]
        after = self._states[uri] = self._reducers[uri](before, action, at)
        envelope = self._number_action(uri, action, origin, None)
        for connection in list(self._connections.values()):
            if uri in connection.subscriptions:
                connection.send(envelope)
        if after is not before:
            self._on_change(uri, before)

    def refuse(self, uri: str, action: Json, origin: ActionOrigin, reason: str) -> None:
        """Send an action back to the client that sent it, with the reason why it was not applied."""
        envelope = self._number_action(uri, action, origin, reason)
        if connection := self._connections.get(origin.client):
            connection.send(envelope)

    def _number_action(self, uri: str, action: Json, origin: ActionOrigin | None, refusal: str | None) -> Envelope:
        """Put an action into an envelope with the next number, and keep the envelope for clients that reconnect."""
        envelope = Envelope(uri, action, self._take_number(), origin, refusal)
        self._recent.append(envelope)
        if len(self._recent) > MAX_RECENT:
            self._replay_floor = self._recent.popleft().seq
        return envelope

    def _take_number(self) -> int:
        """Return the next number. Reserve more numbers if few are left."""
        self.seq += 1
        if self.seq >= self.reserve_at:
            self.reserve_at = self._reserve_numbers()
        return self.seq

    def replay(self, client: str, after: int, uris: Iterable[str]) -> MissedActions | None:
        """Return the actions on the states `uris` that a client has missed: those with a higher number than `after`.
        Return None if they are no longer known: then the client needs snapshots."""
        if not self._replay_floor <= after <= self.seq:
            return None
        wanted = list(dict.fromkeys(uris))
        existing = {uri for uri in wanted if uri in self._states}
        if any(after < self._added_at[uri] for uri in existing):
            return None
        missed = (
            envelope
            for envelope in self._recent
            if envelope.seq > after and envelope.resource in existing and envelope.is_for(client)
        )
        return MissedActions(tuple(missed), tuple(uri for uri in wanted if uri not in existing))
