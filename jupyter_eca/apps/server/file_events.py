"""Owns the Jupyter event "files may have changed". When a page of JupyterLab receives it, the page checks its open
files, and reads those again that have changed on disk.

An event of Jupyter reaches every page, so it works without an open panel, and for prompts of cells too. This module
must not know which files have changed: the page compares them. The page's side is `labextension/src/files/plugin.ts`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from jupyter_eca.apps.server.silent_subscriber import SilentSubscriber

if TYPE_CHECKING:
    from jupyter_eca.host.host import Host
    from jupyter_eca.host.subscribers import ChatReload, Notice
    from jupyter_eca.protocol.event import Event

# `labextension/src/files/plugin.ts` has the same id.
SCHEMA_ID: Final = "https://events.jupyter.org/jupyter_eca/files/v1"
# The event names no files, because a tool may be any program, and we do not know which files a program has changed.
_SCHEMA: Final[dict[str, Any]] = {
    "$id": SCHEMA_ID,
    "version": "1",
    "title": "Files may have changed",
    "personal-data": False,
    "description": "A tool of the assistant has ended, or changes of the assistant were undone.",
    "type": "object",
    "properties": {},
}


def declare_event(serverapp: Any) -> None:
    """Register the event. Call this when the server starts: a page receives only events that were registered before it
    connected."""
    serverapp.event_logger.register_event_schema(_SCHEMA)


class FileEventEmitter(SilentSubscriber):
    """Emits the event after everything that may have changed a file.

    It is a `Subscriber` of the host, which calls its methods (`host/subscribers.py` describes them). It sees all chats.
    It has no user, no kernel and no editor, so it approves nothing and answers no question.
    """

    def __init__(self, event_logger: Any) -> None:
        """`event_logger` is Jupyter's logger of events."""
        self._events = event_logger

    def follow(self, host: Host) -> None:
        """Subscribe to the host. Changes that a user keeps or undoes are not events of a chat, so they are followed,
        too."""
        host.connect(self)
        host.changes.on_decision.append(lambda _: self._emit())

    def show(self, events: list[Event]) -> None:
        """Emit after a tool call, and after a system message, because it may report that files were restored."""
        if any(event.content.type == "toolCalled" or event.role == "system" for event in events):
            self._emit()

    def tell(self, notice: Notice) -> None:
        """Emit when the list of background jobs has changed, because a job ends after its tool call."""
        if notice.method == "jobs/updated":
            self._emit()

    def reload_chat(self, reload: ChatReload) -> None:  # noqa: ARG002
        """Emit after a rollback, which restores files."""
        self._emit()

    def _emit(self) -> None:
        """Emit the event to all pages."""
        self._events.emit(schema_id=SCHEMA_ID, data={})
