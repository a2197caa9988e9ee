"""Whether clicks in a page reach a kernel whose cell is still running. It knows no widget; `card` and the engine's
client ask it.

| ipykernel | clicks reach a cell that awaits |
|---|---|
| 6 | never: they queue behind it |
| 7.0 to 7.3 | in a subshell, which JupyterLab makes for its widgets, and other front ends do not |
| from 7.4 on | always |

A page that knows no widgets closes what we open for them (JupyterLab does); nothing will be clicked there either.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from time import monotonic
from typing import Any, Final

from jupyter_eca.apps.kernel.surroundings import kernel_of

_SUBSHELLS: Final = (7, 0)
_AWAITING: Final = (7, 4)

# Seconds that a page has to make its subshell: it does so when the first widget comes, and that takes milliseconds.
PATIENCE: Final = 3.0

_HEARTBEAT: Final = 0.05


def reach_awaiting() -> bool:
    """Return whether messages of comms reach a cell that waits, whoever sends them."""
    return _version() >= _AWAITING


def possible() -> bool:
    """Return whether clicks of any page can reach a cell that waits."""
    return _version() >= _SUBSHELLS


class Hearing:
    """Watches whether clicks on one widget arrive, from the moment it is shown."""

    def __init__(self, widget: Any) -> None:
        from IPython.core.getipython import get_ipython

        self._kernel = kernel_of(get_ipython())
        self._closed = False
        self._until = monotonic() + PATIENCE
        widget.comm.on_close(self._close)

    @property
    def is_lost(self) -> bool:
        """Return whether no click will arrive any more."""
        return self._closed or (monotonic() > self._until and not reach_awaiting() and not self._subshells())

    async def wait_for_page(self, spoken: asyncio.Event, seconds: float) -> bool:
        """Return whether a page has spoken within that time, or sooner where none can."""
        until = monotonic() + seconds
        while not (spoken.is_set() or self.is_lost or monotonic() > until):
            with suppress(TimeoutError):
                await asyncio.wait_for(spoken.wait(), _HEARTBEAT)
        return spoken.is_set()

    def _close(self, _message: object) -> None:
        self._closed = True

    def _subshells(self) -> list[str]:
        thread = getattr(self._kernel, "shell_channel_thread", None)
        return thread.manager.list_subshell() if thread is not None else []


def _version() -> tuple[int, ...]:
    from ipykernel._version import version_info

    return tuple(int(str(part)) for part in version_info[:2])
