"""Owns the Jupyter event that says that files may have changed, after which pages reload the files they have open.

Jupyter sends its events to every page of JupyterLab. So no panel needs to be open, and the prompt may come from a cell.
The page's side is `labextension/src/files/plugin.ts`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from jupyter_eca.errors import RemoteError

if TYPE_CHECKING:
    from jupyter_eca.host.host import Host
    from jupyter_eca.host.subscribers import Again, Notice
    from jupyter_eca.protocol.event import Event
    from jupyter_eca.protocol.question import ChatAskQuestionParams, ChatAskQuestionResult
    from jupyter_eca.workspace.ports import Editor, Kernel, Notebooks

# The page (`labextension/src/files/plugin.ts`) has the same id.
SCHEMA_ID: Final = "https://events.jupyter.org/jupyter_eca/files/v1"
# It names no files: a tool may be any program, and nobody knows which files it changed.
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
    """Register the event. Call it when the server starts: a page gets only events that were registered before."""
    serverapp.event_logger.register_event_schema(_SCHEMA)


class FileEventEmitter:
    """A subscriber of the host to all chats. It emits an event after everything that may have changed a file."""

    def __init__(self, event_logger: Any) -> None:
        self.kernel: Kernel | None = None
        self.editor: Editor | None = None
        self.notebooks: Notebooks | None = None
        self._events = event_logger

    def follow(self, host: Host) -> None:
        host.join(self)
        host.changes.on_decision.append(lambda _: self._emit())

    def sees(self, chat: str) -> bool:  # noqa: ARG002
        return True

    def approves(self, chat: str) -> bool:  # noqa: ARG002
        return False

    def answers(self, chat: str) -> bool:  # noqa: ARG002
        return False

    def show(self, events: list[Event]) -> None:
        """Emit after tool calls, and after system messages, because one of them says that files were restored."""
        if any(event.content.type == "toolCalled" or event.role == "system" for event in events):
            self._emit()

    def tell(self, notice: Notice) -> None:
        """Emit when a background job has changed, because a job ends without a tool call."""
        if notice.method == "jobs/updated":
            self._emit()

    def show_anew(self, again: Again) -> None:  # noqa: ARG002
        """Emit after a rollback, which restores files."""
        self._emit()

    async def ask(self, question: ChatAskQuestionParams) -> ChatAskQuestionResult:  # noqa: ARG002
        raise RemoteError("there is no user to ask")

    def _emit(self) -> None:
        self._events.emit(schema_id=SCHEMA_ID, data={})
