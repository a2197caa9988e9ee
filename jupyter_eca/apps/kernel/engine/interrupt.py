"""What Ctrl-C and the Interrupt button do while the assistant answers. It owns SIGINT for that time and knows no
turn: `answer/turn` gives it what to cancel.
"""

from __future__ import annotations

import signal
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable, Generator
    from contextlib import AbstractContextManager
    from types import FrameType


def in_code() -> AbstractContextManager[None]:
    """Raise an interrupt in the assistant's code while that code runs; handle any other interrupt as before.

    While a cell awaits, ipykernel's SIGINT handler cancels the cell. Code that blocks would never notice that.
    """
    before = signal.getsignal(signal.SIGINT)

    def handle(signum: int, frame: FrameType | None) -> None:
        if _runs_code(frame):
            raise KeyboardInterrupt
        if callable(before):
            before(signum, frame)

    return _handle_interrupts(handle)


def in_input() -> AbstractContextManager[None]:
    """Raise an interrupt where `input()` waits, whatever an interrupt means elsewhere."""
    return _handle_interrupts(signal.default_int_handler)


def in_turn(interrupted: asyncio.Event, loop: asyncio.AbstractEventLoop) -> AbstractContextManager[None]:
    """Handle interrupts of a turn in plain IPython. There an interrupt would end the run of the loop and leave the turn
    behind in it."""

    def handle(_signum: int, _frame: FrameType | None) -> None:
        loop.call_soon_threadsafe(interrupted.set)

    return _handle_interrupts(handle)


@contextmanager
def _handle_interrupts(handle: Callable[[int, FrameType | None], object]) -> Generator[None]:
    if threading.current_thread() is not threading.main_thread():
        yield  # only the main thread may handle signals
        return
    before = signal.signal(signal.SIGINT, handle)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _runs_code(frame: FrameType | None) -> bool:
    """Return whether a cell on the stack executes a statement, or is between two; a cell that awaits does not."""
    from IPython.core.interactiveshell import InteractiveShell

    shell: Any = InteractiveShell  # a line that was typed in part
    run_cell = shell.run_cell_async.__code__
    while frame is not None:
        if frame.f_code is run_cell:
            return True
        frame = frame.f_back
    return False
