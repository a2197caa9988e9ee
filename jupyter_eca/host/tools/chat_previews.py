"""Finds a change of cells that a chat has shown without making it, as it does in plan mode, so that exactly this change
can be carried out. Such a change is a preview, and has an id.

It must not carry anything out: `plugins/tools/notebook_change.py` does.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from jupyter_eca.engine.model.proposals import NOTEBOOK_CHANGE_TOOL, make_preview_id
from jupyter_eca.plugins.tools.cell_preview import preview_notebook_change
from jupyter_eca.protocol.content import (
    FileChangeDetails,
    RejectReason,
    ToolCallContent,
    ToolCalledContent,
    ToolCallRejectedContent,
)

if TYPE_CHECKING:
    from jupyter_eca.host.store import Store


@dataclass(frozen=True, slots=True)
class ChatPreviews:
    """The previews of one chat. They are read from its stored events, so they are there after a restart too."""

    chat: str
    """The id of the chat."""
    store: Store
    """The store with its events."""

    async def find(self, id: str) -> FileChangeDetails | None:
        """Return the change that was shown under this id of a preview; None if there was none. Raises: NotSaved."""
        await self.store.settle()
        for event in reversed(await self.store.read_events(self.chat)):
            content = event.content
            if (
                isinstance(content, ToolCallContent)
                and make_preview_id(content.id) == id
                and isinstance(content.details, FileChangeDetails)
                and _is_preview(content)
            ):
                return content.details
        return None


def _is_preview(content: ToolCallContent) -> bool:
    """Return whether a content is the last one of a call that has only shown a change of cells."""
    match content:
        case ToolCallRejectedContent(reason=RejectReason.PLAN):
            return content.name == NOTEBOOK_CHANGE_TOOL
        case ToolCalledContent(error=False):
            return content.name == preview_notebook_change.spec.name
        case _:
            return False
