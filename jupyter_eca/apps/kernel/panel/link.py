"""What a panel needs once a page is connected: the join of the page to the engine, and the record of their messages.
It imports pydantic, so `widget` imports it when the first page comes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from jupyter_eca.apps.kernel.engine.shell_kernel import ShellKernel
from jupyter_eca.apps.kernel.panel.bridge import PanelBridge
from jupyter_eca.apps.kernel.panel.record import Record
from jupyter_eca.apps.python_tools import LENT

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable

    from jupyter_eca.apps.kernel.cell_session import CellSession
    from jupyter_eca.apps.kernel.panel.bridge import PassingMessages
    from jupyter_eca.transport.link import Link

# The record is written when it has grown by this factor since it was last written, and at the end of a turn. So the
# total written during one answer stays in proportion to its length.
_GROWN: Final = 2
_FIRST: Final = 500

# Seconds from the end of a turn until it is in the record. The turns of a replay end together, so they are written
# once.
_REST: Final = 0.2


def make_bridge(session: CellSession, page: Link, engine: Link, ears: PassingMessages) -> PanelBridge:
    return PanelBridge(page, engine, ShellKernel(session.shell, beside=session.kernel), LENT, ears)


class Recorder:
    """Observes the messages that pass, and writes the record when enough of it is new."""

    def __init__(self, write: Callable[[Record], None], loop: asyncio.AbstractEventLoop) -> None:
        self.record = Record()
        self._write = write
        self._loop = loop
        self._next = _FIRST
        self._ended = 0
        self._timer: asyncio.TimerHandle | None = None

    def add_page_message(self, method: str, params: Any) -> None:
        self.record.add_page_message(method, params)

    def add_engine_message(self, method: str, params: Any) -> None:
        record = self.record
        record.add_engine_message(method, params)
        if record.ended != self._ended:
            self._ended = record.ended
            self._timer = self._timer or self._loop.call_later(_REST, self._write_now)
        elif record.size >= self._next and self._timer is None:
            self._next = _GROWN * record.size
            self._write_now()

    def _write_now(self) -> None:
        self._timer = None
        self._write(self.record)

    def end(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._write_now()
