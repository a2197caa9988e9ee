"""Lets the pages of this server know that files may have changed: editors that have one open look at it again.

By Jupyter's own events, which every page of JupyterLab hears: the assistant's panel need not be open, and whoever asked
(a cell, another client) need not be a page.
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

# The page (`labextension/src/files/plugin.ts`) knows it, too.
SCHEMA_ID: Final = "https://events.jupyter.org/jupyter_eca/files/v1"
# A tool may be any program: which files it changed is not known here, so the event says nothing of them.
_SCHEMA: Final[dict[str, Any]] = {
    "$id": SCHEMA_ID,
    "version": "1",
    "title": "Files may have changed",
    "personal-data": False,
    "description": "A tool of the assistant has ended, or changes of its were taken back.",
    "type": "object",
    "properties": {},
}


def declare_event(serverapp: Any) -> None:
    """At the start of the server: a page hears only of what was declared before it came."""
    serverapp.event_logger.register_event_schema(_SCHEMA)


class FileEventEmitter:
    """An audience of the host that is shown every chat and only listens for what may have changed a file."""

    def __init__(self, event_logger: Any) -> None:
        self.kernel: Kernel | None = None
        self.editor: Editor | None = None
        self.notebooks: Notebooks | None = None
        self._events = event_logger

    def follow(self, host: Host) -> None:
        host.join(self)
        host.changes.decided.append(lambda _: self._emit())

    def sees(self, chat: str) -> bool:  # noqa: ARG002
        return True

    def approves(self, chat: str) -> bool:  # noqa: ARG002
        return False

    def answers(self, chat: str) -> bool:  # noqa: ARG002
        return False

    def show(self, events: list[Event]) -> None:
        """What is told outside of a turn may be that files were put back."""
        if any(event.content.type == "toolCalled" or event.role == "system" for event in events):
            self._emit()

    def tell(self, notice: Notice) -> None:
        """Jobs in the background end with no call."""
        if notice.method == "jobs/updated":
            self._emit()

    def show_anew(self, again: Again) -> None:  # noqa: ARG002
        """A chat was rolled back, and with it what it had changed."""
        self._emit()

    async def ask(self, question: ChatAskQuestionParams) -> ChatAskQuestionResult:  # noqa: ARG002
        raise RemoteError("nobody is there to ask")

    def _emit(self) -> None:
        self._events.emit(schema_id=SCHEMA_ID, data={})
