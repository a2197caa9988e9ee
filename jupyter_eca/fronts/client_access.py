"""Owns what a client of a front may do: read the chats, ask the assistant, or approve what it wants to do.

The application that a client connects to decides this once, when the connection or the request comes. Each front then
refuses everything else, with the reason that the application gives. This module must not know how the decision is
made: for a Jupyter server, `apps/server/authorization.py` decides.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

    from jupyter_eca.protocol.event import Person


class AccessLevel(IntEnum):
    """How much a client may do. Each level includes the ones before it."""

    READ = 1
    """The client sees the chats and their events."""

    ASK = 2
    """The client may prompt, steer, stop and delete, and do everything else that no user has to approve."""

    APPROVE = 3
    """The client may approve tool calls, answer questions and change the rules of approval."""


@dataclass(frozen=True, slots=True)
class ClientAccess:
    """What a client may do."""

    level: AccessLevel = AccessLevel.APPROVE

    reason: str = ""
    """The sentence for a client that tries to do more than it may. The sentence says who can do that instead. It is ""
    at the highest level."""

    user: Person | None = None
    """The user of the client, on a server that tells its users apart."""

    may_ask: bool = field(init=False)
    """Whether the client may prompt."""

    may_approve: bool = field(init=False)
    """Whether the client may approve. Code in a kernel can find the token of the server. So a client that shows only
    this token may be code that a model wrote. It may prompt, but not approve."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "may_ask", self.level >= AccessLevel.ASK)
        object.__setattr__(self, "may_approve", self.level >= AccessLevel.APPROVE)


FULL_ACCESS: Final = ClientAccess()
"""The access of a client whose user owns the whole process, for example an editor that has started it."""

_SCOPE_KEY: Final = "access"


def make_access_entry(access: ClientAccess) -> Mapping[str, Any]:
    """Return the entry for the ASGI scope of a request in which `read_access` finds the access."""
    return {_SCOPE_KEY: access}


def read_access(scope: Mapping[str, Any]) -> ClientAccess:
    """Return the access of the client that sent a request, from the ASGI scope. A process without a Jupyter server adds
    no entry to the scope: every client that knows its token may do everything."""
    access = scope.get(_SCOPE_KEY)
    return access if isinstance(access, ClientAccess) else FULL_ACCESS
