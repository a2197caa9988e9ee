"""Finds what a chat has shown in plan mode, so that exactly this can be carried out.

It must not carry anything out: `plugins/tools/notebook_change.py` does.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from jupyter_eca.plugins.tools.cell_preview import make_preview_id, preview_notebook_change
from jupyter_eca.protocol.content import FileChangeDetails, ToolCalledContent

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
        """Return what was shown under this id. See `ShownPreviews.find`. Raises: NotSaved."""
        await self.store.settle()
        for event in reversed(await self.store.events(self.chat)):
            match event.content:
                case ToolCalledContent(id=call, name=name, error=False, details=FileChangeDetails() as details):
                    if name == preview_notebook_change.spec.name and make_preview_id(call) == id:
                        return details
                case _:
                    pass
        return None
