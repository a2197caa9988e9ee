"""Owns `%eca panel`, which shows the chat with the assistant. In a page that shows widgets, it shows the panel. In a
terminal, it begins a conversation by `input()`. If nobody watches, it shows a sentence.

It must not know the panel's messages: `widget` is the panel itself.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from jupyter_eca.apps.kernel.engine.interrupt import handle_interrupts_in_input
from jupyter_eca.apps.kernel.front_end import FrontEndKind, find_front_end_for_panels
from jupyter_eca.errors import CellError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from jupyter_eca.apps.kernel.cell_session import CellSession

    Run = Callable[[str, str | None], Awaitable[None]]
    """Runs `%%eca` with its line and its body, or `%eca` if the body is None."""

# What the id of a chat looks like.
_CHAT_ID: Final = re.compile(r"[\w-]{8,}")

_NO_WIDGETS: Final = "This front end shows no widgets, so the chat is text here. An empty line ends it.\n"
_NOBODY_WATCHES: Final = (
    "A panel with the assistant appears when somebody runs this cell in a notebook. Nobody watches now."
)


async def show(session: CellSession, chat: str, run: Run) -> str:
    """Show a panel. `chat` is the id of the chat to continue; "" for the chat of the cells. `run` runs the questions
    that are typed in a terminal. Return a sentence to show instead of a panel; empty if none is needed. Raises:
    CellError."""
    if find_front_end_for_panels(session.shell) is not FrontEndKind.TERMINAL:
        return show_at_once(session, chat)
    _check_chat_id(chat)
    await _converse(run, chat)
    return ""


def show_at_once(session: CellSession, chat: str) -> str:
    """Show a panel from a cell that cannot await, so a conversation in a terminal is not possible. `chat` is the id of
    the chat to continue; "" for the chat of the cells. Return a sentence to show instead of a panel; empty if none is
    needed. Raises: CellError."""
    _check_chat_id(chat)
    match find_front_end_for_panels(session.shell):
        case FrontEndKind.NOTEBOOK:
            _display(chat)
            return ""
        case FrontEndKind.TERMINAL:
            raise CellError(
                "Run `%eca panel` in a cell of its own: a cell that also loads jupyter_eca cannot wait for you."
            )
        case FrontEndKind.UNATTENDED:
            return _NOBODY_WATCHES


def _check_chat_id(chat: str) -> None:
    """Raises: CellError when a text cannot be the id of a chat, and is not empty."""
    if chat and not _CHAT_ID.fullmatch(chat):
        raise CellError("Write `%eca panel`, or `%eca panel CHAT` with the id of a chat, as a saved panel names it.")


def _display(chat: str) -> None:
    """Show the panel in the cell. Raises: CellError."""
    try:
        from jupyter_eca.apps.kernel.panel.widget import Panel
    except ImportError as error:
        raise CellError(f"The panel needs anywidget: `pip install anywidget` ({error}).") from None
    except FileNotFoundError:
        raise CellError("The panel was not built: `npm run build:widget` in `labextension`.") from None
    Panel(chat).show()


async def _converse(run: Run, chat: str) -> None:
    """Answer questions that the user types for `input()`, until an empty line. Raises: CellError."""
    if chat:
        await run(f"/resume {chat}", None)
    print(_NO_WIDGETS)  # noqa: T201  # a terminal
    while question := _read_line():
        try:
            await run("", question)
        except CellError as error:
            print(error)  # noqa: T201  # a terminal


def _read_line() -> str:
    """Return the line that the user types; empty if the user wants to end the conversation."""
    try:
        with handle_interrupts_in_input():
            return input("You: ").strip()
    except (EOFError, KeyboardInterrupt):
        return ""
