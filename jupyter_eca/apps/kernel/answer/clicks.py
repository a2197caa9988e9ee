"""Finds out whether clicks in a page reach a kernel while a cell is running. A click on a widget is sent as a comm
message, which is Jupyter's message between a page and a kernel. Whether the kernel receives such messages while a cell
awaits something depends on the version of ipykernel:

| ipykernel | receives clicks while a cell awaits |
|---|---|
| 6 | never: they wait in the queue until the cell has ended |
| 7.0 to 7.3 | only in a subshell, which JupyterLab creates for its widgets, and other front ends do not |
| from 7.4 on | always |

A subshell is a second thread of the kernel that handles messages. If a page does not know our widget, JupyterLab closes
the comm of the widget, and no click will come. This module must not know what is clicked: `questions` and
`engine/connection` use it.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from time import monotonic
from typing import Any, Final

from jupyter_eca.apps.kernel.front_end import get_kernel

# The first version of ipykernel with subshells.
_FIRST_WITH_SUBSHELLS: Final = (7, 0)
# The first version that receives comm messages while a cell awaits.
_FIRST_WITH_CLICKS_WHILE_AWAITING: Final = (7, 4)

# Seconds to wait until the page has created its subshell. JupyterLab does that for the first widget, in milliseconds.
SUBSHELL_SECONDS: Final = 3.0

# Seconds between two checks whether clicks can still arrive.
_CHECK_SECONDS: Final = 0.05


def always_receives_clicks() -> bool:
    """Return whether the kernel receives the clicks of all pages, and all other comm messages, while a cell awaits."""
    return _read_version() >= _FIRST_WITH_CLICKS_WHILE_AWAITING


def may_receive_clicks() -> bool:
    """Return whether the kernel receives clicks of at least some pages while a cell awaits."""
    return _read_version() >= _FIRST_WITH_SUBSHELLS


class ClickWatcher:
    """Watches whether clicks on a widget can still arrive. Create it when the widget is shown."""

    def __init__(self, widget: Any) -> None:
        """`widget` is a widget of ipywidgets."""
        from IPython.core.getipython import get_ipython

        self._kernel = get_kernel(get_ipython())
        self._closed = False  # whether the page has closed the comm of the widget
        self._deadline = monotonic() + SUBSHELL_SECONDS  # until then, the page may still create its subshell
        widget.comm.on_close(self._close)

    @property
    def is_lost(self) -> bool:
        """Whether no click can arrive any more."""
        return self._closed or (
            monotonic() > self._deadline and not always_receives_clicks() and not self._list_subshells()
        )

    async def wait_for_page(self, opened: asyncio.Event, seconds: float) -> bool:
        """Wait until a page has connected, which sets `opened`. Return False if no page has connected after `seconds`,
        or as soon as no page can connect any more."""
        deadline = monotonic() + seconds
        while not (opened.is_set() or self.is_lost or monotonic() > deadline):
            with suppress(TimeoutError):
                await asyncio.wait_for(opened.wait(), _CHECK_SECONDS)
        return opened.is_set()

    def _close(self, _message: object) -> None:
        """Remember that the page has closed the comm of the widget."""
        self._closed = True

    def _list_subshells(self) -> list[str]:
        """Return the ids of the kernel's subshells; [] for a kernel that has none."""
        thread = getattr(self._kernel, "shell_channel_thread", None)
        return thread.manager.list_subshell() if thread is not None else []


def _read_version() -> tuple[int, ...]:
    """Return the version of ipykernel: (7, 4)."""
    from ipykernel._version import version_info

    return tuple(int(str(part)) for part in version_info[:2])
