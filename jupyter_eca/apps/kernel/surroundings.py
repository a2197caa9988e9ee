"""What the front end of the running cell can do: redraw, show buttons, ask by `input()`. All guesses about front
ends are made here and nowhere else.
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
    """NOTEBOOK: a page that redraws and shows widgets. TERMINAL: text and `input()`. UNATTENDED: nobody answers."""

    NOTEBOOK = "notebook"
    TERMINAL = "terminal"
    UNATTENDED = "unattended"


def find_front_end(shell: Any) -> FrontEndKind:
    """Guess the front end of the running cell. nbclient and similar programs forbid stdin (measured). Notebook pages
    name the cell in the metadata of an execute request, consoles do not; without it, text and `input()` work
    everywhere."""
    kernel = kernel_of(shell)
    if kernel is None:
        return FrontEndKind.TERMINAL if sys.stdin is not None and sys.stdin.isatty() else FrontEndKind.UNATTENDED
    request: dict[str, Any] = kernel.get_parent() or {}
    if not request.get("content", {}).get("allow_stdin", False):
        return FrontEndKind.UNATTENDED
    widgets = importlib.util.find_spec("anywidget") is not None
    return FrontEndKind.NOTEBOOK if widgets and "cellId" in request.get("metadata", {}) else FrontEndKind.TERMINAL


def find_front_end_for_panels(shell: Any) -> FrontEndKind:
    """Guess the front end of widgets that outlive their cell. Voila runs all cells before anybody is there, and then
    gives the page with their widgets, and the kernel, to a visitor. See `find_front_end`."""
    front_end = find_front_end(shell)
    return (
        FrontEndKind.NOTEBOOK if front_end is FrontEndKind.UNATTENDED and "VOILA_KERNEL_ID" in os.environ else front_end
    )


def screen_for(surroundings: FrontEndKind, shell: Any) -> Screen:
    from jupyter_eca.apps.kernel.answer.screen import (  # This imports pydantic, so it must not happen at %load_ext.
        FinalScreen,
        NotebookScreen,
        TerminalScreen,
    )

    match surroundings:
        case FrontEndKind.NOTEBOOK:
            return NotebookScreen(shell.display_pub)
        case FrontEndKind.TERMINAL:
            return TerminalScreen()
        case FrontEndKind.UNATTENDED:
            return FinalScreen(shell.display_pub)


def kernel_of(shell: Any) -> Any:
    """Return the ipykernel of a shell; None in plain IPython."""
    return getattr(shell, "kernel", None)
