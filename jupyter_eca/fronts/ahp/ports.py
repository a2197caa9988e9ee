"""Owns the interfaces between the parts of the front for the Agent Host Protocol. `session/` and `terminals/` use the
front by these interfaces, and `persistence.py` uses a session. Without them, these modules and `front.py` would import
each other in a ring.

It must not know the parts. `front.py` and `session/session.py` implement the interfaces.
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
    """The parts of a session from which its note on disk is made. The note has what the events of the chat do not
    contain."""

    @property
    def chat(self) -> str:
        """The id of the session's chat. The note is stored under this id."""
        ...

    @property
    def state(self) -> Json:
        """The current state, which clients see."""
        ...

    @property
    def messages(self) -> dict[str, Json]:
        """The messages with attachments, by the id of the turn."""
        ...

    @property
    def starting(self) -> dict[str, Json]:
        """The messages of turns that have not begun yet, by the id of the turn."""
        ...


class TerminalFront(Protocol):
    """The parts of the front that terminals use."""

    @property
    def host(self) -> Host:
        """The object that runs all chats."""
        ...

    @property
    def hub(self) -> Hub:
        """The states that all clients share."""
        ...

    def has_session(self, uri: str) -> bool:
        """Return whether clients see a session with this URI. It may be only in the store."""
        ...


class SessionFront(TerminalFront, Protocol):
    """The parts of the front that one session uses."""

    def start(self, work: Coroutine[Any, Any, Any]) -> asyncio.Task[None]:
        """Run work in a task. The task is cancelled when the front ends."""
        ...

    def schedule_note(self, session: NotedSession) -> None:
        """Write the note of a session to disk soon."""
        ...

    async def save_note(self, session: NotedSession, state: Json) -> None:
        """Write the note of a session to disk now. `state` is the state that the session will have next.

        Raises: NotSaved.
        """
        ...

    def add_to_hub(self, session: NotedSession, state: Json) -> None:
        """Put the state of a session, which was built from stored events, into the hub. Add the fields that only the
        note contains."""
        ...
