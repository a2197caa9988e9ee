"""`%eca panel` in every front end: the widget where a page shows it, a conversation by `input()` in a terminal, a
sentence where nobody watches. It knows `cell_session` only; `widget` is the panel itself.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from jupyter_eca.apps.kernel.engine.interrupt import in_input
from jupyter_eca.apps.kernel.surroundings import FrontEndKind
from jupyter_eca.apps.kernel.surroundings import find_front_end_for_panels as look
from jupyter_eca.errors import CellError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from jupyter_eca.apps.kernel.cell_session import CellSession

    Run = Callable[[str, str | None], Awaitable[None]]
    """Runs `%%eca` with its line and its body; the body is None for `%eca`."""

_CHAT: Final = re.compile(r"[\w-]{8,}")

_WITHOUT: Final = "This front end shows no widgets, so the chat is text here. An empty line ends it.\n"
_NOBODY: Final = "A panel with the assistant appears when somebody runs this cell in a notebook. Nobody watches now."


async def show(session: CellSession, chat: str, run: Run) -> str:
    """Show a panel and return the sentence to print; "" where the panel needs none. Raises: CellError."""
    if look(session.shell) is not FrontEndKind.TERMINAL:
        return show_at_once(session, chat)
    _check(chat)
    await _converse(run, chat)
    return ""


def show_at_once(session: CellSession, chat: str) -> str:
    """Show a panel from a cell that cannot wait. See `show`. Raises: CellError."""
    _check(chat)
    match look(session.shell):
        case FrontEndKind.NOTEBOOK:
            _display(chat)
            return ""
        case FrontEndKind.TERMINAL:
            raise CellError(
                "Run `%eca panel` in a cell of its own: a cell that also loads jupyter_eca cannot wait for you."
            )
        case FrontEndKind.UNATTENDED:
            return _NOBODY


def _check(chat: str) -> None:
    if chat and not _CHAT.fullmatch(chat):
        raise CellError("Write `%eca panel`, or `%eca panel CHAT` with the id of a chat, as a saved panel names it.")


def _display(chat: str) -> None:
    try:
        from jupyter_eca.apps.kernel.panel.widget import Panel
    except ImportError as error:
        raise CellError(f"The panel needs anywidget: `pip install anywidget` ({error}).") from None
    except FileNotFoundError:
        raise CellError("The panel was not built: `npm run build:widget` in `labextension`.") from None
    Panel(chat).show()


async def _converse(run: Run, chat: str) -> None:
    """Talk with the user by `input()`. Raises: CellError."""
    if chat:
        await run(f"/resume {chat}", None)
    print(_WITHOUT)  # noqa: T201  # a terminal
    while words := _read_line():
        try:
            await run("", words)
        except CellError as error:
            print(error)  # noqa: T201  # a terminal


def _read_line() -> str:
    try:
        with in_input():
            return input("You: ").strip()
    except (EOFError, KeyboardInterrupt):
        return ""
