"""Finds out what the front end of the running cell can do: redraw an output, show buttons, or ask by `input()`.

A front end is the program in which the user works: JupyterLab, a console, a terminal, or a program such as nbclient
that runs a notebook. It does not tell the kernel what it can do, so the kernel must guess. All such guesses are here.
This module must not show anything: `answer/screen.py` does that.
"""

from __future__ import annotations

import importlib.util
import os
import sys
from enum import StrEnum
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from jupyter_eca.apps.kernel.answer.screen import Screen


class FrontEndKind(StrEnum):
    """What a front end can do."""

    NOTEBOOK = "notebook"
    """It is a page that redraws outputs and shows widgets."""
    TERMINAL = "terminal"
    """It has only text and `input()`."""
    UNATTENDED = "unattended"
    """Nobody is there to answer."""


def find_front_end(shell: Any) -> FrontEndKind:
    """Guess the front end of the running cell from its execute request. `shell` is IPython's object for the shell.

    nbclient and similar programs forbid stdin (measured), so nobody is there. Notebook pages write the id of the cell
    into the metadata of the request, and consoles do not. Without an id, text and `input()` are used, which work
    everywhere.
    """
    kernel = get_kernel(shell)
    if kernel is None:
        return FrontEndKind.TERMINAL if sys.stdin is not None and sys.stdin.isatty() else FrontEndKind.UNATTENDED
    request: dict[str, Any] = kernel.get_parent() or {}
    if not request.get("content", {}).get("allow_stdin", False):
        return FrontEndKind.UNATTENDED
    has_widgets = importlib.util.find_spec("anywidget") is not None
    return FrontEndKind.NOTEBOOK if has_widgets and "cellId" in request.get("metadata", {}) else FrontEndKind.TERMINAL


def find_front_end_for_panels(shell: Any) -> FrontEndKind:
    """Guess the front end of a widget that stays after its cell has ended. The result differs from `find_front_end`
    only under Voila, which runs all cells before anybody is there, and later shows their widgets to a visitor."""
    front_end = find_front_end(shell)
    return (
        FrontEndKind.NOTEBOOK if front_end is FrontEndKind.UNATTENDED and "VOILA_KERNEL_ID" in os.environ else front_end
    )


def create_screen(front_end: FrontEndKind, shell: Any) -> Screen:
    """Return the screen on which an answer is shown in this front end."""
    from jupyter_eca.apps.kernel.answer.screen import (  # This imports pydantic, so it must not happen at %load_ext.
        FinalScreen,
        NotebookScreen,
        TerminalScreen,
    )

    match front_end:
        case FrontEndKind.NOTEBOOK:
            return NotebookScreen(shell.display_pub)
        case FrontEndKind.TERMINAL:
            return TerminalScreen()
        case FrontEndKind.UNATTENDED:
            return FinalScreen(shell.display_pub)


def get_kernel(shell: Any) -> Any:
    """Return the kernel (of ipykernel) that a shell belongs to; None in plain IPython."""
    return getattr(shell, "kernel", None)
