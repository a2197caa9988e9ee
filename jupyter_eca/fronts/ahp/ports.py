"""Owns what the parts of the front need of each other: a session and a terminal of the front, the notes of a session.

It must not know any of them. `front.py` and `session/session.py` implement these ports.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Coroutine

    from jupyter_eca.fronts.ahp.hub import Hub
    from jupyter_eca.fronts.ahp.reducers.base import Json
    from jupyter_eca.host.host import Host


class NotedSession(Protocol):
    """A session as far as notes of it are written to disk."""

    @property
    def chat(self) -> str:
        """The id of its chat, under which the notes are stored."""
        ...

    @property
    def state(self) -> Json: ...

    @property
    def messages(self) -> dict[str, Json]:
        """The messages with attachments, by turn."""
        ...

    @property
    def starting(self) -> dict[str, Json]:
        """The messages of turns that have not begun yet, by turn."""
        ...


class TerminalFront(Protocol):
    """The front as far as terminals need it."""

    @property
    def host(self) -> Host: ...

    @property
    def hub(self) -> Hub: ...

    def has_session(self, uri: str) -> bool:
        """Return whether there is a session of this URI, in memory or in the store."""
        ...


class SessionFront(TerminalFront, Protocol):
    """The front as far as one session needs it."""

    def start(self, work: Coroutine[Any, Any, Any]) -> asyncio.Task[None]:
        """Run work that ends with the front at the latest."""
        ...

    def keep(self, session: NotedSession) -> None:
        """Write the notes of a session to disk, soon."""
        ...

    async def save_note(self, session: NotedSession, state: Json) -> None:
        """Write the notes of a session that is about to have this state. Raises: NotSaved."""
        ...

    def add_to_hub(self, session: NotedSession, state: Json) -> None:
        """Put the state that was read from the store, completed by the notes, into the hub."""
        ...
