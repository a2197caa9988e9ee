"""The commands about whole chats: `/resume`, which continues another chat, and `/export`, which writes a file.

`engine.chat.export` formats a chat.
"""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote

from jupyter_eca import redaction
from jupyter_eca.engine.chat.export import format_chat, make_cells, make_file_name
from jupyter_eca.errors import ToolError
from jupyter_eca.host.chat.ports import CommandAnswer
from jupyter_eca.host.commands.base import NativeCommand
from jupyter_eca.protocol.command import CommandArgument

if TYPE_CHECKING:
    from pathlib import Path

    from jupyter_eca.engine.text.slash_commands import CommandCall
    from jupyter_eca.host.commands.base import CommandPlace
    from jupyter_eca.host.store import ChatRow
    from jupyter_eca.protocol.event import Event

# The chats that `/resume` lists. More do not fit on a screen, and the client has a list of all chats.
MAX_LISTED = 20


async def resume(place: CommandPlace, call: CommandCall) -> CommandAnswer:
    """List the other chats, or let the client show one of them."""
    rows = [row for row in await place.host.chats.list_rows() if row.id != place.chat and place.may_see(row.id)]
    if not rows:
        return CommandAnswer("There is no other chat to go on with.")
    if not call.text:
        lines = [_format_line(number, row) for number, row in enumerate(rows[:MAX_LISTED], 1)]
        return CommandAnswer("\n".join([*lines, "", "`/resume NUMBER` goes on with one."]))
    row = _find_row(rows, call.text)
    if row is None:
        return CommandAnswer(f"There is no chat {call.text!r}. `/resume` lists those there are.")
    return CommandAnswer(f"Going on with {_format_title(row)}.", next_chat=row.id)


def _find_row(rows: list[ChatRow], name: str) -> ChatRow | None:
    """Return the chat with a number of the list or with an id. None when there is no such chat."""
    if name.isdecimal() and 1 <= int(name) <= len(rows):
        return rows[int(name) - 1]
    return next((row for row in rows if row.id == name), None)


def _format_line(number: int, row: ChatRow) -> str:
    """Return the line of a chat: `1. *Title* (2026-01-31 12:00 UTC, 3 prompts)`."""
    when = datetime.fromtimestamp(row.updated / 1000, UTC).strftime("%Y-%m-%d %H:%M")
    prompts = f"{row.prompts} prompt{'' if row.prompts == 1 else 's'}"
    return f"{number}. {_format_title(row)} ({when} UTC, {prompts})"


def _format_title(row: ChatRow) -> str:
    """Return the title of a chat in Markdown."""
    return f"*{row.title or 'a chat without a title'}*"


async def export(place: CommandPlace, call: CommandCall) -> CommandAnswer:
    """Write the chat to a file of the workspace. Raises: ToolError when the file cannot be written there."""
    events = await place.host.chats.read_events(place.chat)
    row = await place.host.chats.read_row(place.chat)
    if row is None or not events:
        return CommandAnswer("Nothing was said in this chat yet.")
    title = row.title or "Chat"
    files = place.host.workspace.files
    argument = " ".join(call.arguments)
    # A suffix alone chooses the kind of file, and leaves the name to us.
    is_unnamed = argument in {"", ".md", ".ipynb"}
    name = str(PurePath(make_file_name(title)).with_suffix(argument or ".md")) if is_unnamed else argument
    path = await asyncio.to_thread(files.resolve, name)
    if is_unnamed:
        path = await asyncio.to_thread(_find_free_path, path)
    elif not path.suffix:
        path = path.with_suffix(".md")
    format_events = _format_notebook if path.suffix.lower() == ".ipynb" else format_chat
    text = redaction.redact(await asyncio.to_thread(format_events, title, events))
    await asyncio.to_thread(_write, path, text, files.shorten(path))
    display_path = files.shorten(path)
    return CommandAnswer(f"This chat is in [{display_path}]({quote(display_path)}) now.")


def _format_notebook(title: str, events: list[Event]) -> str:
    """Return a chat as the JSON of a notebook."""
    import nbformat

    v4: Any = nbformat.v4
    make = {"markdown": v4.new_markdown_cell, "code": v4.new_code_cell}
    cells = [make[kind](text) for kind, text in make_cells(title, events)]
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    notebook = v4.new_notebook(cells=cells, metadata={"kernelspec": kernel})
    return v4.writes(notebook) + "\n"


def _find_free_path(path: Path) -> Path:
    """Return the path, with a number in its name if there is such a file: `Chat.md -> Chat-2.md`."""
    number = 2
    free = path
    while free.exists():
        free, number = path.with_stem(f"{path.stem}-{number}"), number + 1
    return free


def _write(path: Path, text: str, display_path: str) -> None:
    """Write a new file. An existing file is never overwritten, not even if it was made a moment ago. `display_path` is
    the path for messages. Raises: ToolError."""
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError as error:
        raise ToolError(f"{display_path} is there already.", "Choose another name, or remove it first.") from error
    except OSError as error:
        raise ToolError(f"{display_path} cannot be written: {error.strerror}.", "Choose another place.") from error


COMMANDS: Final = {
    "resume": NativeCommand(
        resume,
        "List earlier chats, or go on with one",
        (CommandArgument(name="chat", description="its number in the list, or its id"),),
    ),
    "export": NativeCommand(
        export,
        "Write this chat to a Markdown file, or a notebook (.ipynb)",
        (CommandArgument(name="file", description="a new file in the workspace"),),
    ),
}
