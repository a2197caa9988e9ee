"""A widget on several pages. Each page speaks ECA on a channel of its own, in the widget's messages. It knows nothing
of chats: `widget` makes a panel of it.
"""

from __future__ import annotations

import asyncio
from contextvars import copy_context
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from anywidget import AnyWidget  # pyright: ignore[reportMissingTypeStubs]  # ships none that pyright can read

if TYPE_CHECKING:
    from collections.abc import Coroutine

    from jupyter_eca.transport.comm import CommLink

_STATIC: Final = Path(__file__).parent.parent / "static"


class Paged(AnyWidget):
    """A widget with several pages. Make it in the cell that it is for: outputs that its messages cause appear there."""

    _esm = _STATIC / "panel.js"
    _css = _STATIC / "panel.css"

    def __init__(self) -> None:
        super().__init__()  # pyright: ignore[reportUnknownMemberType]  # untyped library
        self._loop = asyncio.get_running_loop()
        self._context = copy_context()
        # The links of the connected pages, by channel.
        self._links: dict[str, CommLink] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self.on_msg(self._take)  # pyright: ignore[reportUnknownMemberType]  # untyped library

    async def _serve(self, channel: str) -> None:
        """Serve one page until it leaves; its link is in `_links` meanwhile."""
        raise NotImplementedError

    def _hear_state(self, content: Any) -> None:
        """Handle a message that belongs to no channel."""

    def _take(self, _widget: object, content: Any, _buffers: object) -> None:
        # JupyterLab sends it to a subshell, which has a thread of its own. Its work is done in the context of the cell,
        # because it changes the cell's outputs; in the context of the message, the server's answers would go to that
        # thread too.
        self._loop.call_soon_threadsafe(self._hear, content, context=self._context)

    def _hear(self, content: Any) -> None:
        match content:
            case {"channel": str(channel), "open": True}:
                self.start(self._serve(channel))
            case {"channel": str(channel), "close": True}:
                self._end(channel)
            case {"channel": str(channel)}:
                if link := self._links.get(channel):
                    link.receive(content)
            case _:
                self._hear_state(content)

    def start(self, work: Coroutine[Any, Any, None]) -> None:
        """Start a task. The kernel's loop is not ours: these tasks end with their channels."""
        task = self._loop.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _say(self, channel: str, words: dict[str, Any]) -> None:
        if self.comm is not None:
            self.send({"channel": channel, **words})  # pyright: ignore[reportUnknownMemberType]  # untyped library

    def _end(self, channel: str) -> None:
        if link := self._links.get(channel):
            link.end()

    def close(self) -> None:
        for channel in list(self._links):
            self._end(channel)
        super().close()
