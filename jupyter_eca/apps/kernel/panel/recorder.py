"""Owns the recorder of a panel, which decides when the record of the chat is written into the notebook. The record is
the chat as text (`record`), for readers of the saved notebook who have no kernel.

`make_bridge` is here too, so that `widget` imports all that a connected page needs with this one module. The imports
take a second (pydantic). So `widget` imports it when the first page connects, and not earlier.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from jupyter_eca.apps.kernel.engine.shell_kernel import ShellKernel
from jupyter_eca.apps.kernel.panel.bridge import PanelBridge
from jupyter_eca.apps.kernel.panel.record import Record
from jupyter_eca.apps.python_tools import LENT_TOOLS

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable

    from jupyter_eca.apps.kernel.cell_session import CellSession
    from jupyter_eca.apps.kernel.panel.bridge import MessageObserver
    from jupyter_eca.transport.link import Link

# During an answer, the record is written each time its size has grown by this factor. So the total that is written
# stays in proportion to the length of the answer. It is also written at the end of each turn.
_GROWTH: Final = 2
# The size of the record, in characters, at which it is first written during an answer.
_FIRST_SIZE: Final = 500

# Seconds from the end of a turn until the record is written. When a page opens a chat, all its turns are sent again.
# Many of them end within this time, and the record is written only once for them.
_DELAY: Final = 0.2


def make_bridge(session: CellSession, page: Link, engine: Link, observer: MessageObserver) -> PanelBridge:
    """Make the bridge that passes messages between `page` and `engine`, which are the links to both sides. `observer`
    sees the messages that pass, so that they can be recorded."""
    # The panel has a `ShellKernel` of its own. It is a sibling of the `ShellKernel` of the cells, which means that the
    # two never run code at the same time. `LENT_TOOLS` has the Python functions of the user that the model may call.
    return PanelBridge(page, engine, ShellKernel(session.shell, sibling=session.kernel), LENT_TOOLS, observer)


class Recorder:
    """Adds the messages between page and engine to the record, and writes the record when enough of it is new."""

    def __init__(self, write: Callable[[Record], None], loop: asyncio.AbstractEventLoop) -> None:
        """`write` writes the record into the notebook."""
        self.record = Record()
        self._write = write
        self._loop = loop
        self._next_size = _FIRST_SIZE  # the size from which on the record is written again during an answer
        self._ended_turns = 0  # how many turns had ended when it was last written, or was planned to be
        self._timer: asyncio.TimerHandle | None = None  # writes the record in a moment; None if that is not planned

    def add_page_message(self, method: str, params: Any) -> None:
        """Add a message of the page to the record."""
        self.record.add_page_message(method, params)

    def add_engine_message(self, method: str, params: Any) -> None:
        """Add a message of the engine to the record. Write the record if it has grown enough, or if a turn has
        ended."""
        record = self.record
        record.add_engine_message(method, params)
        if record.ended_turns != self._ended_turns:
            self._ended_turns = record.ended_turns
            self._timer = self._timer or self._loop.call_later(_DELAY, self._write_now)
        elif record.size >= self._next_size and self._timer is None:
            self._next_size = _GROWTH * record.size
            self._write_now()

    def _write_now(self) -> None:
        """Write the record. No timer runs when this is called."""
        self._timer = None
        self._write(self.record)

    def end(self) -> None:
        """Write the record for the last time, when the page has left."""
        if self._timer is not None:
            self._timer.cancel()
        self._write_now()
