"""Chats as things: `/resume` and `/export`."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote

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

# What fits on a screen; the client's own list has them all.
LISTED = 20


async def resume(place: CommandPlace, called: CommandCall) -> CommandAnswer:
    rows = [row for row in await place.host.chats.list_rows() if row.id != place.chat and place.sees(row.id)]
    if not rows:
        return CommandAnswer("There is no other chat to go on with.")
    if not called.text:
        return CommandAnswer(
            "\n".join([*map(_line, range(1, LISTED + 1), rows), "", "`/resume NUMBER` goes on with one."])
        )
    row = _find(rows, called.text)
    if row is None:
        return CommandAnswer(f"There is no chat {called.text!r}. `/resume` lists those there are.")
    return CommandAnswer(f"Going on with {_title(row)}.", opens=row.id)


def _find(rows: list[ChatRow], wanted: str) -> ChatRow | None:
    if wanted.isdecimal() and 1 <= int(wanted) <= len(rows):
        return rows[int(wanted) - 1]
    return next((row for row in rows if row.id == wanted), None)


def _line(number: int, row: ChatRow) -> str:
    when = datetime.fromtimestamp(row.updated / 1000, UTC).strftime("%Y-%m-%d %H:%M")
    prompts = f"{row.prompts} prompt{'' if row.prompts == 1 else 's'}"
    return f"{number}. {_title(row)} ({when} UTC, {prompts})"


def _title(row: ChatRow) -> str:
    return f"*{row.title or 'a chat without a title'}*"


async def export(place: CommandPlace, called: CommandCall) -> CommandAnswer:
    """Raises: ToolError for a place outside of the workspace."""
    events = await place.host.chats.read_events(place.chat)
    row = await place.host.chats.read_row(place.chat)
    if row is None or not events:
        return CommandAnswer("Nothing was said in this chat yet.")
    title = row.title or "Chat"
    files = place.host.workspace.files
    wanted = " ".join(called.arguments)
    # A suffix alone is a kind of file, without a name for it.
    unnamed = wanted in {"", ".md", ".ipynb"}
    name = str(PurePath(make_file_name(title)).with_suffix(wanted or ".md")) if unnamed else wanted
    path = await asyncio.to_thread(files.resolve, name)
    if unnamed:
        path = await asyncio.to_thread(_free, path)
    elif not path.suffix:
        path = path.with_suffix(".md")
    write = _notebook if path.suffix.lower() == ".ipynb" else format_chat
    text = await asyncio.to_thread(write, title, events)
    await asyncio.to_thread(_write, path, text, files.shorten(path))
    shown = files.shorten(path)
    return CommandAnswer(f"This chat is in [{shown}]({quote(shown)}) now.")


def _notebook(title: str, events: list[Event]) -> str:
    import nbformat

    v4: Any = nbformat.v4
    make = {"markdown": v4.new_markdown_cell, "code": v4.new_code_cell}
    made = [make[kind](text) for kind, text in make_cells(title, events)]
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    book = v4.new_notebook(cells=made, metadata={"kernelspec": kernel})
    return v4.writes(book) + "\n"


def _free(path: Path) -> Path:
    """The path, with a number when it is taken."""
    number = 2
    free = path
    while free.exists():
        free, number = path.with_stem(f"{path.stem}-{number}"), number + 1
    return free


def _write(path: Path, text: str, shown: str) -> None:
    """Never over a file, also not over one that has just been made."""
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError as error:
        raise ToolError(f"{shown} is there already.", "Choose another name, or remove it first.") from error
    except OSError as error:
        raise ToolError(f"{shown} cannot be written: {error.strerror}.", "Choose another place.") from error


COMMANDS: Final = {
    "resume": NativeCommand(
        resume,
        "List earlier chats, or go on with one",
        (CommandArgument(name="chat", description="its number in the list, or its id"),),
    ),
    "export": NativeCommand(
        export,
        "Write this chat to a Markdown file, or a notebook (.ipynb)",
        (CommandArgument(name="file", description="in the workspace; must not be there yet"),),
    ),
}
