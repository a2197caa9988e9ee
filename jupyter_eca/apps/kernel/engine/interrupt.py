"""Owns the handling of SIGINT, which Ctrl-C and the Interrupt button send, while the assistant answers.

It must not know turns: `answer/turn` passes the event that is set by an interrupt.
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


def handle_interrupts_in_code() -> AbstractContextManager[None]:
    """While the assistant's code runs, raise KeyboardInterrupt in it at an interrupt. At other times, the former
    handler is called.

    This is needed because ipykernel handles SIGINT in another way while a cell awaits: it cancels the cell. Code that
    blocks would never notice that.
    """
    before = signal.getsignal(signal.SIGINT)

    def handle(signum: int, frame: FrameType | None) -> None:
        """Handle SIGINT, which came while `frame` was running."""
        if _is_running_code(frame):
            raise KeyboardInterrupt
        if callable(before):
            before(signum, frame)

    return _handle_interrupts(handle)


def handle_interrupts_in_input() -> AbstractContextManager[None]:
    """While `input()` waits, raise KeyboardInterrupt in it at an interrupt."""
    return _handle_interrupts(signal.default_int_handler)


def handle_interrupts_in_turn(
    interrupted: asyncio.Event, loop: asyncio.AbstractEventLoop
) -> AbstractContextManager[None]:
    """During a turn in plain IPython, set an event at an interrupt. Without this, KeyboardInterrupt would stop the loop
    itself, and the task of the turn would never end."""

    def handle(_signum: int, _frame: FrameType | None) -> None:
        """Handle SIGINT."""
        loop.call_soon_threadsafe(interrupted.set)

    return _handle_interrupts(handle)


@contextmanager
def _handle_interrupts(handle: Callable[[int, FrameType | None], object]) -> Generator[None]:
    """Replace the handler of SIGINT for a while."""
    if threading.current_thread() is not threading.main_thread():
        yield  # only the main thread may handle signals
        return
    before = signal.signal(signal.SIGINT, handle)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _is_running_code(frame: FrameType | None) -> bool:
    """Return whether a cell is executing code and not awaiting. While it executes code, the method `run_cell_async` of
    IPython is among the callers of `frame`."""
    from IPython.core.interactiveshell import InteractiveShell

    shell: Any = InteractiveShell  # its methods have no complete types
    run_cell = shell.run_cell_async.__code__
    while frame is not None:
        if frame.f_code is run_cell:
            return True
        frame = frame.f_back
    return False
