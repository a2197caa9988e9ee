"""Owns the base class of our widgets. A widget may be shown on several pages at the same time. Each page speaks ECA,
the protocol of the panel, with the kernel on a channel of its own.

All channels use the messages of the one widget, so each message names its channel: `{"channel": ID, "open": True}`
opens a channel, `{"channel": ID, "messages": [...]}` carries messages. This module must not know chats: the
panel (`widget.py`) and the card of a cell (`answer/card.py`) are subclasses. The page's end of a channel is
`labextension/src/widget/channel.ts`.
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

# The folder of the JavaScript bundle.
_STATIC: Final = Path(__file__).parent.parent / "static"


class MultiPageWidget(AnyWidget):
    """A widget with several pages. Create it in the cell in which it is shown, because outputs that its messages cause
    appear in that cell."""

    _esm = _STATIC / "panel.js"
    _css = _STATIC / "panel.css"

    def __init__(self) -> None:
        super().__init__()  # pyright: ignore[reportUnknownMemberType]  # untyped library
        self._loop = asyncio.get_running_loop()
        self._context = copy_context()
        """The context of the cell, which tells ipykernel where outputs belong."""
        self._links: dict[str, CommLink] = {}
        """The links to the connected pages, by the ids of their channels."""
        self._tasks: set[asyncio.Task[None]] = set()  # asyncio itself does not keep running tasks from being deleted
        self.on_msg(self._receive)  # pyright: ignore[reportUnknownMemberType]  # untyped library

    async def _serve(self, channel: str) -> None:
        """Serve a page until it leaves. During that time its link must be in `_links`."""
        raise NotImplementedError

    def _handle_state(self, content: Any) -> None:
        """Handle a message that belongs to no channel."""

    def _receive(self, _widget: object, content: Any, _buffers: object) -> None:
        """Receive a message of a page, in any thread."""
        # JupyterLab sends the message to a subshell, which has a thread of its own. The message is handled on the
        # kernel's loop, and in the context of the cell, because its outputs belong to the cell. In the context of the
        # message, the server's answers would go to the subshell's thread, too.
        self._loop.call_soon_threadsafe(self._handle, content, context=self._context)

    def _handle(self, content: Any) -> None:
        """Handle a message of a page."""
        match content:
            case {"channel": str(channel), "open": True}:
                self.start_task(self._serve(channel))
            case {"channel": str(channel), "close": True}:
                self._end_channel(channel)
            case {"channel": str(channel)}:
                if link := self._links.get(channel):
                    link.receive(content)
            case _:
                self._handle_state(content)

    def start_task(self, work: Coroutine[Any, Any, None]) -> None:
        """Start a task, which runs the coroutine `work` and must end with its channel. It has no parent task, because
        the loop belongs to the kernel."""
        task = self._loop.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _send_to_page(self, channel: str, content: dict[str, Any]) -> None:
        """Send a message on a channel, unless the widget is closed."""
        if self.comm is not None:
            self.send({"channel": channel, **content})  # pyright: ignore[reportUnknownMemberType]  # untyped library

    def _end_channel(self, channel: str) -> None:
        """End the link of a channel, if it is still connected."""
        if link := self._links.get(channel):
            link.end()

    def close(self) -> None:
        """End all channels, and close the widget on all pages."""
        for channel in list(self._links):
            self._end_channel(channel)
        super().close()
