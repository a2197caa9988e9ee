"""What the cell that runs now can do: redraw, show buttons, ask by `input()`. All of the guessing is here."""

from __future__ import annotations

import importlib.util
import sys
from enum import StrEnum
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from jupyter_eca.kernel.screen import Screen


class Surroundings(StrEnum):
    """NOTEBOOK: a page that redraws and shows widgets. TERMINAL: text and `input()`. UNATTENDED: nobody answers."""

    NOTEBOOK = "notebook"
    TERMINAL = "terminal"
    UNATTENDED = "unattended"


def look(shell: Any) -> Surroundings:
    """nbclient and its kin forbid stdin (measured). Notebook pages name the cell in an execute request's metadata,
    consoles do not; where it is missing, text and `input()` work everywhere."""
    kernel = kernel_of(shell)
    if kernel is None:
        return Surroundings.TERMINAL if sys.stdin is not None and sys.stdin.isatty() else Surroundings.UNATTENDED
    request: dict[str, Any] = kernel.get_parent() or {}
    if not request.get("content", {}).get("allow_stdin", False):
        return Surroundings.UNATTENDED
    widgets = importlib.util.find_spec("ipywidgets") is not None
    return Surroundings.NOTEBOOK if widgets and "cellId" in request.get("metadata", {}) else Surroundings.TERMINAL


def screen_for(surroundings: Surroundings, shell: Any) -> Screen:
    from jupyter_eca.kernel.screen import FinalScreen, NotebookScreen, TerminalScreen  # pydantic: not for `%load_ext`

    match surroundings:
        case Surroundings.NOTEBOOK:
            return NotebookScreen(shell.display_pub)
        case Surroundings.TERMINAL:
            return TerminalScreen()
        case Surroundings.UNATTENDED:
            return FinalScreen(shell.display_pub)


def kernel_of(shell: Any) -> Any:
    """The ipykernel behind a shell, None in plain IPython."""
    return getattr(shell, "kernel", None)
